"""Which lines of a file an agent has seen."""

from __future__ import annotations

import re

Ranges = tuple[tuple[int, int], ...]
"""Ascending, apart from each other; first and last line, counted from 1."""

_NUMBER = re.compile(r"(\d+)\t")
_CHUNK = 1024 * 1024


def shown_range(output: object) -> tuple[int, int] | None:
    """The first and last line in the output of Read; None for a file without lines."""
    if not isinstance(output, str) or (first := _NUMBER.match(output)) is None:
        return None
    start = int(first[1])
    return start, start + output.count("\n")


def joined(ranges: Ranges, more: tuple[int, int]) -> Ranges:
    """The ranges with one more."""
    result: list[tuple[int, int]] = []
    for first, last in sorted((*ranges, more)):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(last, result[-1][1]))
        else:
            result.append((first, last))
    return tuple(result)


def unseen(ranges: Ranges, total: int) -> int:
    """How many of the lines from 1 to `total` lie in no range."""
    seen = sum(min(last, total) - first + 1 for first, last in ranges if first <= total)
    return total - seen


def total_lines(path: str) -> int:
    """The number of lines of a file; 0 when they cannot be told, as in UTF-16."""
    count, last = 0, b""
    try:
        with open(path, "rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                if not last and b"\0" in chunk[:512]:
                    return 0
                count += chunk.count(b"\n")
                last = chunk[-1:]
    except OSError:
        return 0
    return count + (1 if last and last != b"\n" else 0)
