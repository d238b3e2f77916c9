"""The `!` in front of the arguments of a rule."""

from __future__ import annotations

from collections.abc import Callable


def apply_negated(rule_args: str, covers: Callable[[str], bool]) -> bool:
    """Ask `covers` about the pattern behind the leading `!`s, each of which inverts the answer.

    An empty pattern covers everything; `!(...)` is a group, not an inversion.
    """
    pattern = rule_args.lstrip("!")
    if pattern.startswith("(") and pattern != rule_args:
        pattern = f"!{pattern}"
    negated = (len(rule_args) - len(pattern)) % 2 == 1
    return (not pattern or covers(pattern)) != negated
