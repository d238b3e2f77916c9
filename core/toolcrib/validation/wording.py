"""Word the errors of a rejected call for the model: what is wrong, what was given, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jsonschema_rs

from toolcrib.validation.shown import join_names, shorten, show
from toolcrib.validation.violation import Violation, joined

_MAX_MESSAGES = 20
_MAX_OPTIONS = 30
_MAX_DESCRIPTION_CHARS = 120


def word_errors(errors: Iterable[jsonschema_rs.ValidationError], schema: Any, data: Any) -> str:
    """Return one text for all errors, the first 20 of them in full."""
    messages = _messages([Violation(error, schema, data) for error in errors])
    text = "; ".join(messages[:_MAX_MESSAGES])
    more = len(messages) - _MAX_MESSAGES
    return f"{text}; and {more} more" if more > 0 else text


def _messages(violations: Iterable[Violation]) -> list[str]:
    """One message each, but one for all that is missing in the same object."""
    missing: dict[tuple[str | int, ...], dict[str, None]] = {}
    others = []
    for violation in violations:
        if violation.keyword == "required" and violation.error.schema_path[-1] == "required":
            missing.setdefault(violation.path, {})[violation.kind.property] = None
        else:
            others.append(_WORDINGS.get(violation.keyword, _word_other)(violation))
    first = [_word_missing(path, list(names)) for path, names in missing.items()]
    return list(dict.fromkeys(first + others))


def _word_other(violation: Violation) -> str:
    rule = f"{violation.keyword!r}: {show(violation.rule)}"
    return f"{violation.place} must satisfy {rule}, got {violation.given}"


# Objects


def _word_missing(path: tuple[str | int, ...], names: list[str]) -> str:
    noun = "property" if len(names) == 1 else "properties"
    return f"{_inside(path)}missing required {noun} {join_names(names)}"


def _word_dependent(violation: Violation) -> str:
    name = violation.kind.property
    rules = violation.rule if isinstance(violation.rule, dict) else {}
    needing = [other for other, needed in rules.items() if _needs(needed, name)]
    present = [other for other in needing if other in violation.value]
    why = f", which {join_names(present)} needs" if present else ""
    return f"{_inside(violation.path)}missing property {name!r}{why}"


def _needs(needed: Any, name: str) -> bool:
    return isinstance(needed, list) and name in needed


def _word_unknown(violation: Violation) -> str:
    unknown: list[str] = violation.kind.unexpected
    expected = list(violation.node.get("properties", ()))
    noun, verb = ("property", "is") if len(unknown) == 1 else ("properties", "are")
    text = f"additional {noun} {join_names(unknown)} {verb} not allowed"
    guesses = [
        guess
        for name in unknown[:_MAX_MESSAGES]
        for guess in difflib.get_close_matches(name, expected, 1)
    ]
    if guesses:
        text += f"; did you mean {join_names(dict.fromkeys(guesses))}?"
    known = f"expected: {join_names(expected)}" if expected else "none are expected"
    return f"{_inside(violation.path)}{text} ({known})"


def _word_property_name(violation: Violation) -> str:
    inner = violation.kind.error
    rule = f"{inner.kind.name!r}: {show(violation.rule)}"
    return f"{_inside(violation.path)}the property name {show(inner.instance)} must satisfy {rule}"


# Values


def _word_type(violation: Violation) -> str:
    return f"{violation.place} must be {' or '.join(violation.kind.types)}, got {violation.given}"


def _word_enum(violation: Violation) -> str:
    options: list[Any] = violation.kind.options
    listed = ", ".join(show(option) for option in options[:_MAX_OPTIONS])
    more = len(options) - _MAX_OPTIONS
    if more > 0:
        listed += f" or {more} more"
    return f"{violation.place} must be one of {listed}, got {violation.given}"


def _word_const(violation: Violation) -> str:
    expected = show(violation.kind.expected_value)
    return f"{violation.place} must be {expected}, got {violation.given}"


def _word_range(violation: Violation) -> str:
    """All bounds, and the description: it says the unit, which a wrong number often mistakes."""
    node = violation.node
    bounds = " and ".join(f"{words} {limit}" for words, limit in _bounds(node))
    text = f"{violation.place} must be {bounds}, got {violation.given}"
    if description := node.get("description"):
        text += f" ({violation.place}: {shorten(str(description), _MAX_DESCRIPTION_CHARS)})"
    return text


_BOUNDS = (
    ("minimum", "at least", "exclusiveMinimum", "above"),
    ("maximum", "at most", "exclusiveMaximum", "below"),
)


def _bounds(node: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for keyword, words, exclusive, exclusive_words in _BOUNDS:
        limit, beyond = node.get(keyword), node.get(exclusive)
        if isinstance(beyond, bool):  # in draft 4 it says how the other is meant
            limit, beyond = (None, limit) if beyond else (limit, None)
        if limit is not None:
            yield words, limit
        if beyond is not None:
            yield exclusive_words, beyond


def _word_multiple(violation: Violation) -> str:
    factor = violation.kind.multiple_of
    return f"{violation.place} must be a multiple of {factor}, got {violation.given}"


def _sized(words: str, singular: str, plural: str) -> Callable[[Violation], str]:
    def word(violation: Violation) -> str:
        limit: int = violation.kind.limit
        size = f"{words} {limit} {singular if limit == 1 else plural}"
        actual = len(violation.value)
        return f"{violation.place} must have {size}, got {actual}: {violation.given}"

    return word


def _word_pattern(violation: Violation) -> str:
    pattern = shorten(violation.kind.pattern, 200)
    return f"{violation.place} must match the pattern {pattern!r}, got {violation.given}"


def _word_format(violation: Violation) -> str:
    name = violation.kind.format
    return f"{violation.place} must be text of the format {name!r}, got {violation.given}"


def _word_unique(violation: Violation) -> str:
    return f"{violation.place} must not have the same item twice, got {violation.given}"


def _word_never(violation: Violation) -> str:
    return f"{violation.place} must not be given"


# Alternatives


def _word_alternatives(violation: Violation) -> str:
    branches = [
        [Violation(error, violation.schema, violation.data) for error in branch]
        for branch in violation.kind.context
    ]
    fitting = [number for number, branch in enumerate(branches, 1) if not branch]
    if fitting:
        numbers = ", ".join(map(str, fitting))
        return f"{violation.place} must fit exactly one alternative, but fits numbers {numbers}"
    types = dict.fromkeys(_wanted_types(branches, violation.path))
    if all(_is_other_type(branch, violation.path) for branch in branches):
        return f"{violation.place} must be {' or '.join(types)}, got {violation.given}"
    number, nearest = min(
        enumerate(branches, 1), key=lambda numbered: _distance(numbered[1], violation.path)
    )
    return (
        f"{violation.place} must fit one of {len(branches)} alternatives; "
        f"the nearest is number {number}: {'; '.join(_messages(nearest))}"
    )


def _wanted_types(branches: Iterable[list[Violation]], path: Any) -> Iterator[str]:
    for branch in branches:
        for violation in branch:
            if violation.keyword == "type" and violation.path == path:
                yield from violation.kind.types


def _is_other_type(branch: list[Violation], path: Any) -> bool:
    return any(violation.keyword == "type" and violation.path == path for violation in branch)


def _distance(branch: list[Violation], path: Any) -> tuple[bool, int, int]:
    """Another type is furthest; then a tag (`kind: const`) that says another alternative."""
    tags = sum(violation.keyword in ("const", "enum") for violation in branch)
    return _is_other_type(branch, path), tags, len(branch)


def _inside(path: tuple[str | int, ...]) -> str:
    return f"{joined(path)}: " if path else ""


_WORDINGS: dict[str, Callable[[Violation], str]] = {
    "additionalProperties": _word_unknown,
    "anyOf": _word_alternatives,
    "const": _word_const,
    "enum": _word_enum,
    "exclusiveMaximum": _word_range,
    "exclusiveMinimum": _word_range,
    "falseSchema": _word_never,
    "format": _word_format,
    "maxItems": _sized("at most", "item", "items"),
    "maxLength": _sized("at most", "character", "characters"),
    "maxProperties": _sized("at most", "property", "properties"),
    "maximum": _word_range,
    "minItems": _sized("at least", "item", "items"),
    "minLength": _sized("at least", "character", "characters"),
    "minProperties": _sized("at least", "property", "properties"),
    "minimum": _word_range,
    "multipleOf": _word_multiple,
    "oneOf": _word_alternatives,
    "pattern": _word_pattern,
    "propertyNames": _word_property_name,
    "required": _word_dependent,
    "type": _word_type,
    "unevaluatedProperties": _word_unknown,
    "uniqueItems": _word_unique,
}
