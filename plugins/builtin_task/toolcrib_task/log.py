"""The output of one task: kept once, in a bounded file, and read in pieces by seeking."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path

from attrs import define, field

from toolcrib import TaskOutput, TerminalText

LOG_NAME = "output.log"
EXIT_NAME = "exit"
RING_BYTES = 1 << 20
"""How much is held in memory: before there is a file, or of the end when the file is full."""
_ENDED_RING_BYTES = 1 << 16
_SEQUENCE_BYTES = 70
_BEGUN_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]{0,64})?[ -/]{0,4}\Z")


@define(eq=False)
class OutputLog:
    """What a task has written, in raw bytes.

    It is parked in memory until `save` is called or a mebibyte has come together, and goes to a
    file in `folder` from then on. The file never grows beyond `limit_bytes`; `on_limit` is called
    once when a saved one would. When the disk refuses it, the last mebibyte stays in memory.

    Attributes:
        total_bytes: all that was ever written.
        kept_bytes: how much of it is in the file, or parked.
        problem: why not everything is in the file.
        on_news: called after every piece.
        handed_out: whether the task writes the file by itself, which it can if it may.
    """

    folder: Path
    limit_bytes: int
    on_limit: Callable[[], None]
    on_news: Callable[[], None]
    problem: str | None = None
    binary: bool = False
    may_be_handed_out: bool = False
    handed_out: bool = False
    _total: int = 0
    _kept: int = 0
    _parked: deque[bytes] = field(factory=deque, repr=False)
    _ring: deque[bytes] | None = field(default=None, repr=False)
    _ring_bytes: int = 0
    _file: int | None = None
    _saved: bool = False
    _full: bool = False
    _ended: bool = False

    @property
    def task_id(self) -> str:
        return self.folder.name

    @property
    def path(self) -> str | None:
        """The file; None when there is none."""
        return str(self.folder / LOG_NAME) if self._on_disk else None

    @property
    def exit_file(self) -> str:
        """Where a task that outlives the session leaves its exit code."""
        return str(self.folder / EXIT_NAME)

    @property
    def total_bytes(self) -> int:
        self._look()
        return self._total

    @property
    def kept_bytes(self) -> int:
        self._look()
        return self._kept

    def save(self) -> None:
        """Keep everything in the file, what was parked first."""
        self._saved = True
        if not self._on_disk:
            self._open()
        if self._full:
            self._reach_limit()

    def hand_out(self) -> int | None:
        """The open file, for the task to write to; None when it may not, or there is none."""
        if self.may_be_handed_out and self._file is not None:
            self.handed_out = True
            return self._file
        return None

    def found(self, total_bytes: int) -> None:
        """Take what an earlier session has left in the folder."""
        self._saved = self.handed_out = True
        self._total = total_bytes
        self._look()
        self._total = max(total_bytes, self._total)

    def write(self, data: bytes) -> None:
        """Take the next piece; what comes after the end counts for nothing."""
        if self._ended:
            return
        self._total += len(data)
        if not self.binary and b"\0" in data:
            self.binary = True
        if self._ring is not None:
            self._to_ring(data)
        elif self._file is not None:
            self._to_file(data)
        elif not self._full:
            self._parked.append(data)
            self._kept += len(data)
            if self._kept > RING_BYTES:
                self._open()
        self.on_news()

    def outgrown(self) -> bool:
        """Whether a file that the task writes by itself has passed the limit; it is cut then."""
        self._look()
        if not self._full and self._total > self.limit_bytes:
            self._full = True
            self.problem = self._beyond_limit
        if self._full:
            self._cut()
        return self._full

    def close(self) -> None:
        """Nothing is written any more; it can still be read."""
        self._ended = True
        self._look()
        if self.handed_out and self._full:
            self._cut()
        if self._ring:
            rest = b"".join(self._ring)[-_ENDED_RING_BYTES:]
            self._ring, self._ring_bytes = deque([rest]), len(rest)
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def discard(self) -> None:
        """Forget it, with its file."""
        had_file = self._on_disk
        self.close()
        self._parked.clear()
        if had_file:
            try:
                (self.folder / LOG_NAME).unlink(missing_ok=True)
                self.folder.rmdir()
            except OSError:
                self.problem = self.problem or "its file cannot be removed"

    def read(self, *, since: int | None, max_bytes: int) -> TaskOutput:
        """The last bytes, or the first ones from an offset on, cut between characters."""
        total, kept = self.total_bytes, self.kept_bytes
        ring_start = total - self._ring_bytes
        if since is None:
            start = max(0, (total if self._ring else kept) - max_bytes)
        else:
            start = min(max(since, 0), total)
        if self._ring and kept <= start < ring_start:
            start = ring_start
        data = self._bytes_at(start, max_bytes, kept, ring_start)
        skipped = _continuation_bytes(data) if start not in (0, since) else 0
        data = data[skipped:]
        if start + skipped + len(data) < total or since is not None:
            whole = data[: len(data) - _begun(data)]
            # A running task is about to finish what it has begun; whoever follows it waits.
            data = whole or (data if self._ended or len(data) >= max_bytes else b"")
        text = TerminalText()
        return TaskOutput(
            text=text.feed(data) + text.finish(),
            start=start + skipped,
            end=start + skipped + len(data),
            total_bytes=total,
            kept_bytes=kept,
            path=self.path,
            problem=self.problem,
            binary=self.binary or b"\0" in data,
        )

    @property
    def _on_disk(self) -> bool:
        return self._file is not None or (self._saved and (self.folder / LOG_NAME).exists())

    def _bytes_at(self, start: int, size: int, kept: int, ring_start: int) -> bytes:
        data = b""
        if start < kept:
            data = self._kept_bytes_at(start, min(size, kept - start))
        follows = start + len(data)
        if self._ring and ring_start <= follows and len(data) < size:
            data += b"".join(self._ring)[follows - ring_start :][: size - len(data)]
        return data

    def _kept_bytes_at(self, start: int, size: int) -> bytes:
        if self._parked:
            return b"".join(self._parked)[start : start + size]
        try:
            with open(self.folder / LOG_NAME, "rb", opener=the_file_itself) as file:
                file.seek(start)
                return file.read(size)
        except OSError as error:
            self.problem = f"its file cannot be read: {error.strerror}"
            return b""

    def _open(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(self.folder / LOG_NAME, flags, 0o600)
        except OSError as error:
            self._refused(error, b"")
        parked, self._parked = self._parked, deque()
        self._kept = 0
        for piece in parked:
            if self._ring is not None:
                self._to_ring(piece)
            else:
                self._to_file(piece)

    def _to_file(self, data: bytes) -> None:
        assert self._file is not None
        room = self.limit_bytes - self._kept
        taken = left = memoryview(data)[:room]
        while left:
            try:
                written = os.write(self._file, left)
            except OSError as error:
                self._refused(error, data[len(taken) - len(left) :])
                return
            self._kept += written
            left = left[written:]
        if len(data) > room and not self._full:
            self._full = True
            if self._saved:
                self._reach_limit()

    def _reach_limit(self) -> None:
        self.problem = self._beyond_limit
        self.on_limit()

    @property
    def _beyond_limit(self) -> str:
        return f"it wrote more than the {self.limit_bytes} bytes that are kept"

    def _cut(self) -> None:
        """Take from a file what others have written to it beyond the limit."""
        try:
            with open(self.folder / LOG_NAME, "r+b", opener=the_file_itself) as file:
                beyond = os.fstat(file.fileno()).st_size - self.limit_bytes
                if beyond > 0:
                    self._total = max(self._total, self.limit_bytes + beyond)
                    file.truncate(self.limit_bytes)
            self._kept = min(self.limit_bytes, self.limit_bytes + beyond)
        except OSError as error:
            self.problem = f"its file cannot be cut: {error.strerror}"

    def _refused(self, error: OSError, data: bytes) -> None:
        """The disk takes no more: keep the end in memory."""
        self.problem = f"only part of it could be saved: {error.strerror or error}"
        self._ring = deque()
        self._to_ring(data)

    def _to_ring(self, data: bytes) -> None:
        assert self._ring is not None
        self._ring.append(data[-RING_BYTES:])
        self._ring_bytes += len(self._ring[-1])
        while self._ring_bytes - len(self._ring[0]) >= RING_BYTES:
            self._ring_bytes -= len(self._ring.popleft())

    def _look(self) -> None:
        """How far a file has grown that the task writes by itself."""
        if self.handed_out and not self._full:
            try:
                size = os.lstat(self.folder / LOG_NAME).st_size
            except OSError:
                size = 0
            self._total, self._kept = max(self._total, size), size


def the_file_itself(path: str, flags: int) -> int:
    """Opens a log, and nothing that a task has put in its place: no link, no pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _continuation_bytes(data: bytes) -> int:
    """How many bytes at the beginning belong to a UTF-8 character that was cut off."""
    for count, byte in enumerate(data[:4]):
        if byte & 0xC0 != 0x80:
            return count
    return 0


def _begun(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character or of an escape sequence."""
    sequence = _BEGUN_SEQUENCE.search(data, max(0, len(data) - _SEQUENCE_BYTES))
    return len(data) - sequence.start() if sequence else _begun_character(data)


def _begun_character(data: bytes) -> int:
    """How many bytes at the end are the beginning of a UTF-8 character."""
    for count in range(1, min(4, len(data)) + 1):
        byte = data[-count]
        if byte & 0xC0 == 0x80:
            continue
        needed = 2 if byte >> 5 == 6 else 3 if byte >> 4 == 14 else 4 if byte >> 3 == 30 else 1
        return count if needed > count else 0
    return 0
