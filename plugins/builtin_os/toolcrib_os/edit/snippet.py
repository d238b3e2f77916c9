"""Shows a few lines of a file with their numbers."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable

from toolcrib_os.shared.text import EolStyle, displayed_line

MAX_LINES = 20
_MAX_CHARS = 240
_CONTEXT = 2


def around(data: bytes, ranges: list[tuple[int, int]], style: EolStyle) -> str:
    """The lines in and around the ascending ranges (first and last line, from 1), 20 at most."""
    wanted: list[int] = []
    for first, last in ranges:
        start = max(first - _CONTEXT, wanted[-1] + 1 if wanted else 1)
        wanted.extend(range(start, min(last + _CONTEXT, start + MAX_LINES) + 1))
        if len(wanted) >= MAX_LINES:
            break
    return numbered(data, wanted[:MAX_LINES], style)


def numbered(data: bytes, wanted: Iterable[int], style: EolStyle) -> str:
    """The lines with these ascending numbers, as Read shows them; gaps become `...`."""
    shown: list[str] = []
    position, line, previous = 0, 1, 0
    for number in wanted:
        while line < number and position >= 0:
            position = data.find(b"\n", position) + 1 or -1
            line += 1
        if position < 0 or position >= len(data):
            break
        end = data.find(b"\n", position)
        raw = data[position : end if end >= 0 else len(data)]
        if shown and previous != number - 1:
            shown.append("...")
        if number == 1:
            raw = raw.removeprefix(BOM_UTF8)
        shown.append(f"{number}\t{_shown(raw, style)}")
        previous = number
    return "\n".join(shown)


def _shown(raw: bytes, style: EolStyle) -> str:
    text = displayed_line(raw.decode(), style)
    if len(text) <= _MAX_CHARS:
        return text
    return f"{text[:_MAX_CHARS]}... [{len(text) - _MAX_CHARS} more characters]"
