"""What a file held before it is written to, as far as it may be read."""

from __future__ import annotations

import os

from attrs import frozen

from toolcrib_os.shared.atomic import FileTooBigError, read_whole
from toolcrib_os.shared.changes import utf_16_of
from toolcrib_os.shared.encoding import SAMPLE_BYTES
from toolcrib_os.shared.opening import open_regular

_TAIL_BYTES = 2


@frozen
class Ending:
    """Where an append starts: the encoding, and how the last line ends."""

    utf_16: bool
    last: bytes

    @property
    def open_line(self) -> bool:
        """Whether the last line has no line ending."""
        return bool(self.last) and not self.last.endswith(b"\n")

    @property
    def crlf(self) -> bool:
        return self.last == b"\r\n"


def earlier_content(path: str) -> bytes | None:
    """The content of a file; None if it is too big or may only be written."""
    try:
        return read_whole(path)[0]
    except (FileTooBigError, PermissionError):
        return None


def earlier_ending(path: str) -> Ending | None:
    """The end of a file; None if it may only be written."""
    try:
        file, _ = open_regular(path)
    except PermissionError:
        return None
    try:
        size = os.fstat(file).st_size
        head = os.pread(file, SAMPLE_BYTES, 0)
        return Ending(
            utf_16=utf_16_of(head) is not None,
            last=os.pread(file, _TAIL_BYTES, max(0, size - _TAIL_BYTES)),
        )
    finally:
        os.close(file)
