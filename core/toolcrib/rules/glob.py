"""Glob patterns, compiled once and matched in time bounded by pattern and subject."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from attrs import frozen

from toolcrib.errors import RuleError

_PLAIN = re.compile(r"(?:[^\\*?\[\]{}()!+@|]++|\\.)*+", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@frozen
class Glob:
    """A compiled pattern that covers whole subjects.

    Attributes:
        matches: tells whether the pattern covers a subject.
        literal: the one text that matches, if the pattern has no wildcard.
    """

    matches: Callable[[str], bool]
    literal: str | None = None


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
        return _literal(_ESCAPED.sub(r"\1", pattern))
    # Late, for a start without rules, or with plain ones, has no use for the parser.
    from toolcrib.rules.wildcards import compile_wildcards

    compiled = compile_wildcards(pattern, segmented=segmented)
    if isinstance(compiled, str):
        return _literal(compiled)
    return Glob(_behind_prefix(_prefix(pattern, segmented=segmented), compiled))


def _prefix(pattern: str, *, segmented: bool) -> str:
    """The text that every subject starts with; `**` may stand for no segment at all."""
    plain = _PLAIN.match(pattern)
    text = _ESCAPED.sub(r"\1", plain[0]) if plain else ""
    return text.rstrip("/") if segmented else text


def _behind_prefix(prefix: str, matches: Callable[[str], bool]) -> Callable[[str], bool]:
    """Look closer only at subjects with the right start: most rules are about something else."""
    if not prefix:
        return matches
    return lambda subject: subject.startswith(prefix) and matches(subject)


def compile_or_none(pattern: str, *, segmented: bool) -> Glob | None:
    """Compile a pattern; give None for one that is too intricate."""
    try:
        return compile_glob(pattern, segmented=segmented)
    except RuleError:
        return None


def _literal(text: str) -> Glob:
    return Glob(text.__eq__, text)
