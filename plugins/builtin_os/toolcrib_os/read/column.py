"""Places inside a long line, counted in the characters that are shown of it."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from toolcrib_os.read.source import Source
from toolcrib_os.shared.text import EolStyle

CHUNK = 256 * 1024


class NoSuchColumn(Exception):
    """The line has fewer characters, or the column lies inside an escape; `length` if known."""

    def __init__(self, length: int | None) -> None:
        super().__init__("no such column")
        self.length = length


def seek_column(source: Source, start: int, column: int, style: EolStyle) -> int:
    """The offset of a column of the line at `start`; the column behind the last one counts.

    Raises:
        NoSuchColumn: the line is shorter, or a `\\r` is shown at that place, in two characters.
    """
    offset, left = start, column
    for text in _texts(source, start, style):
        shown = shown_length(text)
        if shown >= left:
            head = cut_shown(text, left)
            if shown_length(head) != left:
                raise NoSuchColumn(None)
            return offset + len(head.encode())
        left -= shown
        offset += len(text.encode())
    if left:
        raise NoSuchColumn(column - left)
    return offset


def line_length(source: Source, start: int, style: EolStyle) -> int:
    """The number of characters that the whole line at `start` is shown with."""
    return sum(map(shown_length, _texts(source, start, style)))


def shown_length(text: str) -> int:
    """The length of a text in which carriage returns are shown as two characters."""
    return len(text) + text.count("\r")


def cut_shown(text: str, width: int) -> str:
    """The longest beginning of a raw text that is shown with at most `width` characters."""
    width = max(0, width)
    head = text[:width]
    while (excess := shown_length(head) - width) > 0:
        # Each character that goes takes one or two of the excess with it.
        head = head[: len(head) - max(1, excess // 2)]
    return head


def _texts(source: Source, start: int, style: EolStyle) -> Iterator[str]:
    """The raw line at an offset, piece by piece, without what ends it."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    position = start
    held = ""
    while position < source.size:
        chunk = source.read(position, CHUNK)
        position += len(chunk)
        feed = chunk.find(b"\n")
        text = held + decoder.decode(chunk if feed < 0 else chunk[:feed])
        if feed >= 0:
            yield text.removesuffix("\r") if style == "crlf" else text
            return
        held = "\r" if text.endswith("\r") else ""
        yield text.removesuffix("\r")
    yield held
