"""Looks for a regular expression in the output of a task, in time bounded by its length."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from attrs import define

from toolcrib import Tasks

PIECE_BYTES = 32_768
OVERLAP_CHARS = 4_096
"""How much of a line without an end is looked at again with what follows."""
_PROGRAM_BYTES = 1 << 20
_CHARACTER_BYTES = 4

LineMatcher = Callable[[str], bool]


class PatternError(ValueError):
    """A pattern that is no regular expression, or one that cannot be used; the text tells why."""


def line_matcher(pattern: str) -> LineMatcher:
    """Give what tells whether a line holds a match; raises PatternError.

    The engine is the one that validates arguments: its time grows with the line and not, as with
    `re`, with the ways in which a pattern can be tried, during which nothing else could run.
    """
    import jsonschema_rs

    # Later drafts than 7 leave it to the engine what a regular expression is, `(?i)` for one.
    options = jsonschema_rs.RegexOptions(size_limit=_PROGRAM_BYTES)
    try:
        validator = jsonschema_rs.Draft202012Validator(
            {"pattern": pattern}, pattern_options=options
        )
    except ValueError:
        raise PatternError(f"Invalid pattern {pattern!r}: {_problem(pattern)}") from None
    return validator.is_valid


def _problem(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        return f"{error}. Put a backslash before special characters that stand for themselves."
    return (
        "the engine knows no look-around, no backreferences and no very large repetitions. Use a "
        "simpler pattern, such as the words that the line holds."
    )


@define
class OutputSearch:
    """Follows the output of one task; `found` is the first line with a match."""

    task_id: str
    _matches: LineMatcher
    found: str | None = None
    _offset: int = 0
    _begun: str = ""

    async def look(self, tasks: Tasks) -> None:
        """Look through what was written since the last time."""
        while self.found is None:
            piece = tasks.output(self.task_id, since=self._offset, max_bytes=PIECE_BYTES)
            if piece is None:
                return
            begun = self._begun if piece.start - self._offset < _CHARACTER_BYTES else ""
            *lines, last = (begun + piece.text).split("\n")
            # A character that is half written is left for the next time too.
            caught_up = (
                piece.total_bytes - piece.end < _CHARACTER_BYTES or piece.end <= self._offset
            )
            if caught_up or len(last) > OVERLAP_CHARS:
                lines.append(last)
            self.found = next(filter(self._matches, lines), None)
            if caught_up:
                # What follows may finish the line, or an escape sequence: see them as a whole then.
                return
            self._offset, self._begun = piece.end, last[-OVERLAP_CHARS:]
            await asyncio.sleep(0)
