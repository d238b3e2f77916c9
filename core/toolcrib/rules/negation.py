"""The `!` in front of the arguments of a rule."""

from __future__ import annotations

from collections.abc import Callable


def apply_negated(rule_args: str, covers: Callable[[str], bool]) -> bool:
    """Ask `covers` about the pattern behind the leading `!`s, each of which inverts the answer.

    An empty pattern covers everything.
    """
    pattern, negated = without_marks(rule_args)
    return (not pattern or covers(pattern)) != negated


def without_marks(rule_args: str) -> tuple[str, bool]:
    """The pattern behind the leading `!`s, and whether they invert it.

    `!(...)` is a group, not an inversion.
    """
    if not rule_args.startswith("!"):
        return rule_args, False
    pattern = rule_args.lstrip("!")
    if pattern.startswith("("):
        pattern = f"!{pattern}"
    return pattern, (len(rule_args) - len(pattern)) % 2 == 1
