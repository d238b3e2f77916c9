"""Lines taken from a text, in either direction, until a budget of characters is used up."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from attrs import define

from toolcrib_os.read.outline import NotText, NotUtf8
from toolcrib_os.read.source import Source
from toolcrib_os.shared.text import EolStyle, displayed_line

CHUNK = 64 * 1024
MAX_UTF8_BYTES = 4


@define  # made by the thousand, and a frozen class takes twice as long
class Line:
    """A line, or as much of it as fills any budget.

    `raw` is the text without its line feed, `end` the offset behind it; `whole` if `raw` goes up
    to the line feed or the end of the text. `size` counts the characters of the line as rendered.
    """

    number: int
    raw: str
    shown: str
    end: int
    whole: bool = True

    @property
    def size(self) -> int:
        return len(str(self.number)) + 1 + len(self.shown)


def take_forward(
    source: Source, start: int, *, number: int, count: int | None, budget: int, style: EolStyle
) -> tuple[list[Line], bool]:
    """Take lines from an offset on: at least one if there is any, `count` at most.

    Returns:
        The lines, and whether the budget kept others out.

    Raises:
        NotText, NotUtf8: one of the lines is no text.
    """
    lines: list[Line] = []
    used = 0
    for raw, end, whole in _forward(source, start, budget * MAX_UTF8_BYTES):
        line = _line(number + len(lines), raw, end, style, whole=whole)
        used += line.size + 1
        if lines and used > budget:
            return lines, True
        lines.append(line)
        if len(lines) == count or not whole:
            break
    return lines, False


def take_backward(
    source: Source, start: int, end: int, *, number: int, budget: int, style: EolStyle
) -> list[Line]:
    """Take the last lines of `[start, end)`, as many as fit the budget; the last has `number`.

    Raises:
        NotText, NotUtf8: one of the lines is no text.
    """
    lines: list[Line] = []
    used = 0
    for raw in _backward(source, start, end, budget * MAX_UTF8_BYTES):
        line = _line(number - len(lines), raw, end, style)
        used += line.size + 1
        if used > budget:
            break
        lines.append(line)
    return lines[::-1]


def _line(number: int, data: bytes, end: int, style: EolStyle, *, whole: bool = True) -> Line:
    if b"\0" in data:
        raise NotText(number)
    try:
        raw, _ = codecs.utf_8_decode(data, "strict", whole)
    except UnicodeDecodeError as error:
        around = data[max(0, error.start - 64) : error.start + 64]
        raise NotUtf8(number, data[error.start], around) from None
    return Line(number, raw, displayed_line(raw, style), end, whole)


def _forward(source: Source, start: int, longest: int) -> Iterator[tuple[bytes, int, bool]]:
    """Lines from an offset on, with their ends; one that is too long is cut and the last."""
    position = start
    pending = b""
    end = start
    while position < source.size:
        chunk = source.read(position, CHUNK)
        position += len(chunk)
        *complete, pending = (pending + chunk).split(b"\n")
        for raw in complete:
            end += len(raw) + 1
            yield raw, end, True
        if len(pending) > longest:
            yield pending, position, False
            return
    if pending:
        yield pending, position, True


def _backward(source: Source, start: int, end: int, longest: int) -> Iterator[bytes]:
    """Lines of a range from its end on, up to one that is too long."""
    position = end
    pending = b""
    while position > start:
        length = min(CHUNK, position - start)
        position -= length
        chunk = source.read(position, length)
        if position + length == end:
            chunk = chunk.removesuffix(b"\n")
        pending, *complete = (chunk + pending).split(b"\n")
        yield from reversed(complete)
        if len(pending) > longest:
            return
    if start < end:
        yield pending
