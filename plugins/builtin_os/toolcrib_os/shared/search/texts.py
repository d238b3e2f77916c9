"""Sentences that Glob and Grep share."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN_WARNINGS = 3


def plural(count: int, noun: str) -> str:
    """`1 file`, `2 files`, `2 matches`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun}{'es' if noun.endswith('tch') else 's'}"


def warning_lines(warnings: Sequence[str]) -> list[str]:
    """What could not be read, the first few by name."""
    lines = [f"Warning: {warning}" for warning in warnings[:_SHOWN_WARNINGS]]
    if len(warnings) > _SHOWN_WARNINGS:
        lines.append(f"Warning: {len(warnings) - _SHOWN_WARNINGS} more could not be read.")
    return lines


def past_the_end(offset: int, total: int, noun: str) -> str:
    """The answer to a page that begins behind the last entry."""
    return (
        f"No matches from offset {offset} on: there are {plural(total, noun)} in all, so the last "
        "page begins before that."
    )
