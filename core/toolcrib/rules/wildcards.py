"""The two ways to match a pattern with wildcards: by its pieces, or by its parsed parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from toolcrib.rules.nodes import Nodes, Run, Scan, Text
from toolcrib.rules.parser import parse_glob


def compile_wildcards(pattern: str, *, segmented: bool) -> Callable[[str], bool] | str:
    """Give a matcher for the pattern, or its one text if no wildcard is left after parsing.

    Raises:
        RuleError: the pattern is too intricate to be matched in bounded time.
    """
    nodes = parse_glob(pattern, segmented=segmented)
    match nodes:
        case ():
            return ""
        case (Text(text=text),):
            return text
    pieces = None if segmented else _pieces(nodes)
    if pieces is not None:
        return partial(_in_order, pieces)
    return partial(_through, nodes, segmented)


def _through(nodes: Nodes, segmented: bool, subject: str) -> bool:
    reached = Scan(subject, segmented=segmented).through(nodes, 1)
    return bool(reached >> len(subject))


def _pieces(nodes: Nodes) -> tuple[str, ...] | None:
    """Give the texts between the stars, if the pattern has no other wildcard."""
    pieces = [""]
    for node in nodes:
        match node:
            case Text(text=text):
                pieces[-1] += text
            case Run():
                pieces.append("")
            case _:
                return None
    return tuple(pieces)


def _in_order(pieces: tuple[str, ...], subject: str) -> bool:
    """Tell whether the pieces follow each other, the first and the last at the ends."""
    first, *middle, last = pieces
    at, end = len(first), len(subject) - len(last)
    if at > end or not subject.startswith(first) or not subject.endswith(last):
        return False
    for piece in middle:
        found = subject.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True
