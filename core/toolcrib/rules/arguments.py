"""Rules about the arguments of tools without a subject of their own: `tool(name=pattern)`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from toolcrib.errors import RuleError
from toolcrib.rules.negation import without_marks
from toolcrib.rules.rule import is_every_call
from toolcrib.rules.text import match_glob_rule

_NAMED = re.compile(r"([^=*?\[\]{}()!|\\]+)=(.*)", re.DOTALL)
_WILD = frozenset("*?[{(!+@")
_UPWARDS = re.compile(r"(?:^|[/\\])\.\.(?:[/\\]|$)")


def names_argument(rule_args: str) -> bool:
    """Whether the arguments of a rule are `name=pattern`, with a `!` in front or without."""
    return _NAMED.fullmatch(without_marks(rule_args)[0]) is not None


def arguments_matcher(arguments: Mapping[str, object], properties: object) -> Callable[[str], bool]:
    """Give the `matches_rule` of a call that is judged by one of its arguments at a time.

    A rule says `name=pattern`; the argument is a text, a whole number or a truth value, the latter
    two as JSON writes them. A call without the argument is not covered, unless the schema has a
    default for it that is.

    Args:
        arguments: of the call.
        properties: what the tool's schema has under this name.

    The matcher raises RuleError when it cannot tell: the rule is of another form, the tool has no
    such argument, or its value is something that no pattern can be held against. An allow rule
    then allows nothing, and any other one counts.
    """
    known = properties if isinstance(properties, Mapping) else {}

    def matches(rule_args: str) -> bool:
        if is_every_call(rule_args):
            return True
        pattern, negated = without_marks(rule_args)
        named = _NAMED.fullmatch(pattern)
        if named is None:
            raise RuleError(f"{rule_args!r} is not of the form 'argument=pattern'")
        name, glob = named[1], named[2]
        value = arguments.get(name)
        if value is None:
            value = _default(name, known)
        if value is None and not negated:
            return False
        return _covers(glob, _as_text(name, value)) != negated

    return matches


def _default(name: str, known: Mapping[str, object]) -> object:
    if name not in known:
        raise RuleError(f"the tool has no argument {name!r}")
    schema = known[name]
    return schema.get("default") if isinstance(schema, Mapping) else None


def _as_text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return json.dumps(value)
    raise RuleError(f"its argument {name!r} is neither a text nor a whole number here")


def _covers(glob: str, text: str) -> bool:
    if not glob or is_every_call(glob):
        return bool(glob) or not text
    if not _WILD.isdisjoint(glob) and _UPWARDS.search(text):
        raise RuleError("a path with '..' in it leads elsewhere than its text says")
    return match_glob_rule(glob, text)
