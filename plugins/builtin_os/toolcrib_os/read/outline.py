"""What has to be known of a whole text before a part of it is shown."""

from __future__ import annotations

import codecs

from attrs import frozen

from toolcrib_os.read.index import BLOCK, LineIndex
from toolcrib_os.read.source import Source
from toolcrib_os.shared.text import EolStyle, style_of_counts

CHECKED_BYTES = 64 * 1024 * 1024
"""Up to this size a file is checked as a whole before any of it is shown."""


class NotText(Exception):
    """There is a null byte in the text; `line` counts from 1."""

    def __init__(self, line: int) -> None:
        super().__init__(f"null byte in line {line}")
        self.line = line


class NotUtf8(Exception):
    """Bytes that are no UTF-8; `line` counts from 1, `sample` are the bytes around."""

    def __init__(self, line: int, byte: int, sample: bytes) -> None:
        super().__init__(f"invalid byte {byte:#04x} in line {line}")
        self.line = line
        self.byte = byte
        self.sample = sample


@frozen
class Outline:
    """Lines and line ends of a text; `checked` if all of it is known to be text."""

    index: LineIndex
    style: EolStyle
    checked: bool


def outline(source: Source) -> Outline:
    """Look at a text as a whole, or only at its head if it is too long for that.

    Raises:
        NotText, NotUtf8: as far as it was looked at.
    """
    checked = source.size <= CHECKED_BYTES
    index = LineIndex()
    returns = pairs = 0
    decoder = codecs.getincrementaldecoder("utf-8")()
    last = b""
    while index.scanned < source.size:
        block = source.read(index.scanned, BLOCK)
        final = checked and index.scanned + len(block) == source.size
        _check(decoder, block, index.feeds, final)
        if b"\r" in block or last == b"\r":
            returns += block.count(b"\r")
            pairs += block.count(b"\r\n") + (last == b"\r" and block.startswith(b"\n"))
        last = block[-1:]
        index.add(block)
        if not checked:
            returns -= last == b"\r"  # what follows it is not known
            break
    return Outline(index, style_of_counts(index.feeds, returns, pairs), checked)


def _check(
    decoder: codecs.IncrementalDecoder, block: bytes, feeds_before: int, final: bool
) -> None:
    at = block.find(b"\0")
    if at >= 0:
        raise NotText(feeds_before + block.count(b"\n", 0, at) + 1)
    pending = decoder.getstate()[0]
    if block.isascii() and not pending:
        return
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError as error:
        whole = pending + block
        line = feeds_before + whole.count(b"\n", 0, error.start) + 1
        around = whole[max(0, error.start - 64) : error.start + 64]
        raise NotUtf8(line, whole[error.start], around) from None
