"""Holds of the lines that a search prints those that the wanted page can show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from attrs import define, field, frozen

_LINE = re.compile(rb"(\d+)([:-])(.*)", re.DOTALL)
_GAP = b"--"
_GAPS = re.compile(rb"^--\r?$", re.MULTILINE)
MAX_HELD_BYTES = 32_000_000
"""Of the text of all lines held. The saved output of one call is shorter."""


@frozen
class Line:
    """A line found; `number` counts from 1, `gap` is whether lines are left out before it."""

    name: str
    number: int
    is_match: bool
    text: str
    gap: bool


@define
class _Block:
    """The lines of one file: how many there are, and the first of them."""

    total: int = 0
    held: list[bytes] = field(factory=list)
    held_lines: int = 0


@define
class Blocks:
    """The first lines in the order of the paths, and how many there are of all.

    Lines come file by file, in any order of the files. Of the held ones `capacity` are kept,
    counting the separators that stand for gaps too.
    """

    capacity: int
    allows: Callable[[str], bool]
    gaps: bool
    slack: int = 10_000
    """How many lines more than twice `capacity` are held before some are let go."""
    total: int = 0
    files: int = 0
    binary: list[str] = field(factory=list)
    _blocks: dict[str, _Block] = field(factory=dict)
    _held_lines: int = 0
    _held_bytes: int = 0
    _last: str | None = None
    _current: str | None = None
    _block: _Block | None = None

    def take(self, name: str, lines: bytes) -> None:
        """Take whole lines of a file; those of one file come one after the other."""
        if name != self._current:
            self._current = name
            self._block = self._open(name)
        if self._block is None:
            return
        lines = self._without_notice(name, lines)
        count = lines.count(b"\n")
        if self.gaps:
            count -= sum(1 for _ in _GAPS.finditer(lines))
        self.total += count
        self._block.total += count
        if self._last is None or name <= self._last:
            self._hold(self._block, lines)

    def page(self, offset: int, limit: int) -> Iterator[Line]:
        """The lines of a page, in the order of paths and numbers."""
        position = 0
        for name in sorted(self._blocks):
            if position >= offset + limit:
                return
            block = self._blocks[name]
            if position + block.total > offset:
                for index, line in enumerate(_lines(name, block.held), position):
                    if offset <= index < offset + limit:
                        yield line
            position += block.total

    def _open(self, name: str) -> _Block | None:
        if not self.allows(name):
            return None
        self.files += 1
        return self._blocks.setdefault(name, _Block())

    def _without_notice(self, name: str, lines: bytes) -> bytes:
        """Cut off the remark at the end of a file that turns out to be binary."""
        start = lines.rfind(b"\n", 0, -1) + 1
        if lines[start : start + 1].isdigit() or lines.startswith(_GAP, start):
            return lines
        self.binary.append(name)
        return lines[:start]

    def _hold(self, block: _Block, lines: bytes) -> None:
        spare = self.capacity - block.held_lines
        if spare <= 0:
            return
        count = lines.count(b"\n")
        if count > spare:
            count = spare
            lines = b"\n".join(lines.split(b"\n", spare)[:spare]) + b"\n"
        block.held.append(lines)
        block.held_lines += count
        self._held_lines += count
        self._held_bytes += len(lines)
        if (
            self._held_lines > 2 * self.capacity + self.slack
            or self._held_bytes > 2 * MAX_HELD_BYTES
        ):
            self._let_go()

    def _let_go(self) -> None:
        """Let go of the text of files that lie behind the page."""
        lines = size = 0
        for name in sorted(self._blocks):
            block = self._blocks[name]
            if lines >= self.capacity or size > MAX_HELD_BYTES:
                block.held.clear()
                continue
            lines += block.held_lines
            size += sum(map(len, block.held))
            if lines >= self.capacity or size > MAX_HELD_BYTES:
                self._last = name
        self._held_lines, self._held_bytes = lines, size


def _lines(name: str, pieces: list[bytes]) -> Iterator[Line]:
    gap = False
    for piece in pieces:
        for raw in piece.removesuffix(b"\n").split(b"\n"):
            found = _LINE.match(raw)
            if found is None:
                gap = True
                continue
            text = found[3].removesuffix(b"\r").decode("utf-8", "replace")
            yield Line(name, int(found[1]), found[2] == b":", text, gap)
            gap = False
