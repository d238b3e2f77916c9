"""Looks in a file for text that resembles another one, within bounds of time and size."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher

from attrs import frozen

from toolcrib_os.edit.matching import Document

_MAX_WINDOWS = 2_000
_MAX_SECONDS = 0.2
_MAX_WORDS = 20
_MAX_COMPARED_CHARS = 2_000
_MIN_RATIO = 0.6
_MAX_REGIONS = 3
_WORD = re.compile(r"\w{3,}")


@frozen
class Text:
    """Consecutive lines of a file, the first with the number `first`."""

    lines: list[str]
    first: int = 1

    @staticmethod
    def of(document: Document, *, near: str | None = None) -> Text:
        """All lines of a document, or the 2,000 around the rarest word of the text `near`."""
        view = document.data[document.start :].decode()
        lines = view.replace("\r\n", "\n").split("\n")
        if near is None or len(lines) <= _MAX_WINDOWS:
            return Text(lines)
        longest = sorted(set(_WORD.findall(near)), key=len, reverse=True)[:_MAX_WORDS]
        word = next((word for word in sorted(longest, key=view.count) if word in view), None)
        if word is None:
            return Text([])
        hit = view.count("\n", 0, view.find(word))
        start = max(0, hit - _MAX_WINDOWS // 2)
        return Text(lines[start : start + _MAX_WINDOWS], start + 1)

    def line(self, number: int) -> str:
        """A line by its number; empty behind the end."""
        index = number - self.first
        return self.lines[index] if index < len(self.lines) else ""


def folded_matches(text: Text, old: str, fold: Callable[[str], str]) -> list[int]:
    """Where the old text is if lines are compared by what `fold` makes of them.

    Gives the first line of each place. Blank lines around the old text do not count, and it
    may start and end inside a line.
    """
    wanted = [fold(line) for line in between_blanks(old, fold)]
    if not wanted:
        return []
    lines = [fold(line) for line in text.lines]
    count = len(wanted)
    if count == 1:
        hits = [index for index, line in enumerate(lines) if wanted[0] in line]
    else:
        hits = [
            index
            for index in range(len(lines) - count + 1)
            if lines[index].endswith(wanted[0])
            and lines[index + count - 1].startswith(wanted[-1])
            and lines[index + 1 : index + count - 1] == wanted[1:-1]
        ]
    return [text.first + index for index in hits]


def between_blanks(text: str, fold: Callable[[str], str]) -> list[str]:
    """The lines of a text without those at its start and end of which `fold` leaves nothing."""
    lines = text.replace("\r\n", "\n").split("\n")
    full = [index for index, line in enumerate(lines) if fold(line)]
    return lines[full[0] : full[-1] + 1] if full else []


def alike(text: Text, old: str) -> list[tuple[int, int, int]]:
    """Up to three places that resemble the old text most: first line, last line, percent."""
    height = len(old.rstrip("\n").split("\n"))
    deadline = time.monotonic() + _MAX_SECONDS
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(_trimmed(old))
    scored: list[tuple[float, int]] = []
    for index, window in _windows(text.lines, height):
        if time.monotonic() > deadline:
            break
        matcher.set_seq1(window)
        if matcher.real_quick_ratio() < _MIN_RATIO or matcher.quick_ratio() < _MIN_RATIO:
            continue
        ratio = matcher.ratio()
        if ratio >= _MIN_RATIO:
            scored.append((ratio, index))
    chosen: list[tuple[int, int, int]] = []
    for ratio, index in sorted(scored, key=lambda pair: (-pair[0], pair[1])):
        first = text.first + index
        if all(abs(first - other) >= height for other, _, _ in chosen):
            chosen.append((first, first + height - 1, int(ratio * 100)))
        if len(chosen) == _MAX_REGIONS:
            break
    return chosen


def _windows(lines: list[str], height: int) -> Iterator[tuple[int, str]]:
    for index in range(max(1, len(lines) - height + 1)):
        window = _trimmed("\n".join(lines[index : index + height]))
        if window:
            yield index, window


def _trimmed(text: str) -> str:
    return "\n".join(line.strip() for line in text.split("\n"))[:_MAX_COMPARED_CHARS]
