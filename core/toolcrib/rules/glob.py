"""Glob patterns, parsed once and matched in time bounded by the lengths of pattern and subject."""

from __future__ import annotations

import re
from functools import lru_cache

from attrs import frozen

from toolcrib.errors import RuleError
from toolcrib.rules.nodes import Nodes, Run, Scan, Text
from toolcrib.rules.parser import parse_glob

_PLAIN = re.compile(r"(?:[^\\*?\[\]{}()!+@|]++|\\.)*+", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@frozen
class Glob:
    """A compiled pattern that covers whole subjects.

    Attributes:
        literal: the one text that matches, if the pattern has no wildcard.
        nodes: the parts of the pattern.
        segmented: whether wildcards stop at a slash.
        pieces: the texts between the stars, if the pattern has no other wildcard.
    """

    literal: str | None
    nodes: Nodes = ()
    segmented: bool = False
    pieces: tuple[str, ...] | None = None

    def matches(self, subject: str) -> bool:
        """Tell whether the pattern covers the whole subject."""
        if self.literal is not None:
            return subject == self.literal
        if self.pieces is not None:
            return _in_order(self.pieces, subject)
        scan = Scan(subject, segmented=self.segmented)
        return bool(scan.through(self.nodes, 1) >> len(subject))


@lru_cache(maxsize=1024)
def compile_glob(pattern: str, *, segmented: bool) -> Glob:
    """Compile a pattern.

    Args:
        pattern: with `*`, `?`, `[...]`, `{a,b}`, `{1..9}`, `(a|b)`, `@(...)`, `?(...)`, `*(...)`,
            `+(...)` and `!(...)`; a backslash takes the meaning of the character behind it. What
            is not closed stands for itself.
        segmented: the subjects are paths: wildcards stop at a slash, `**` as a segment does not.

    Raises:
        RuleError: the pattern is too intricate to be matched in bounded time.
    """
    if _PLAIN.fullmatch(pattern):
        return Glob(_ESCAPED.sub(r"\1", pattern))
    nodes = parse_glob(pattern, segmented=segmented)
    match nodes:
        case ():
            return Glob("")
        case (Text(text=text),):
            return Glob(text)
    return Glob(None, nodes, segmented, None if segmented else _pieces(nodes))


def compile_or_none(pattern: str, *, segmented: bool) -> Glob | None:
    """Compile a pattern; give None for one that is too intricate."""
    try:
        return compile_glob(pattern, segmented=segmented)
    except RuleError:
        return None


def _pieces(nodes: Nodes) -> tuple[str, ...] | None:
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
