"""Where the lines of a text begin, known by counting line feeds block by block."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from attrs import define, field

from toolcrib_os.read.source import Source

BLOCK = 256 * 1024


@define
class LineIndex:
    """The number of line feeds up to the end of each block that was looked at so far.

    It grows as far as the questions need, and takes 8 bytes for each block of 256 KiB.
    """

    _feeds: array[int] = field(factory=lambda: array("Q"))
    scanned: int = 0
    _open_ended: bool = False

    @property
    def feeds(self) -> int:
        """Line feeds in the part that was scanned."""
        return self._feeds[-1] if self._feeds else 0

    def copy(self) -> LineIndex:
        """An index that grows on its own."""
        return LineIndex(self._feeds[:], self.scanned, self._open_ended)

    def forget_last_block(self) -> None:
        """Drop a block that was not full, since the text may have grown behind it."""
        if self.scanned % BLOCK:
            self._feeds.pop()
            self.scanned -= self.scanned % BLOCK

    def add(self, block: bytes) -> None:
        """Count the next block; only the last one of a text may be shorter than `BLOCK`."""
        self._feeds.append(self.feeds + block.count(b"\n"))
        self.scanned += len(block)
        self._open_ended = not block.endswith(b"\n")

    def advance(self, source: Source, feeds: int | None = None) -> None:
        """Scan until this many line feeds are known of, or all."""
        while self.scanned < source.size and (feeds is None or self.feeds < feeds):
            self.add(source.read(self.scanned, BLOCK))

    def total(self, source: Source) -> int | None:
        """The number of lines; None as long as not everything was scanned."""
        if self.scanned < source.size:
            return None
        return self.feeds + (1 if self._open_ended else 0)

    def count_all(self, source: Source) -> int:
        """The number of lines, scanning what was not yet."""
        self.advance(source)
        return self.feeds + (1 if self._open_ended else 0)

    def start_of(self, source: Source, line: int) -> int | None:
        """The offset of a line, counted from 1; None if there are fewer lines."""
        before = line - 1
        self.advance(source, before)
        if self.feeds < before or not source.size:
            return None
        if before == 0:
            return 0
        block = bisect_left(self._feeds, before)
        rank = before - (self._feeds[block - 1] if block else 0)
        offset = block * BLOCK + nth_feed(source.read(block * BLOCK, BLOCK), rank) + 1
        return offset if offset < source.size else None


def nth_feed(block: bytes, rank: int) -> int:
    """The place of a line feed in a block by its rank, counted from 1; it must be there."""
    low, high = 0, len(block)
    while high - low > 1:
        middle = (low + high) // 2
        inside = block.count(b"\n", low, middle)
        if rank <= inside:
            high = middle
        else:
            rank -= inside
            low = middle
    return low


def start_of_tail(source: Source, lines: int) -> tuple[int, int | None]:
    """Where the last lines begin, by reading backwards.

    Returns:
        The offset of the first of them; and the number of lines in the whole text if the search
        came to its start, else None.
    """
    position, seen = source.size, 0
    ends_open = source.size > 0 and source.read(source.size - 1, 1) != b"\n"
    wanted = lines if ends_open else lines + 1
    while position > 0:
        length = min(BLOCK, position)
        block = source.read(position - length, length)
        inside = block.count(b"\n")
        if seen + inside >= wanted:
            return position - length + nth_feed(block, inside - (wanted - seen) + 1) + 1, None
        seen += inside
        position -= length
    return 0, seen + (1 if ends_open else 0)


def end_of_lines(source: Source, start: int, lines: int) -> int:
    """The offset behind a number of lines from `start` on, or the end of the text."""
    position, seen = start, 0
    while position < source.size:
        block = source.read(position, BLOCK)
        inside = block.count(b"\n")
        if seen + inside >= lines:
            return position + nth_feed(block, lines - seen) + 1
        seen += inside
        position += len(block)
    return source.size
