"""Word the errors of a rejected call for the model: what is wrong, what was given, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jsonschema_rs

from toolcrib.validation.shown import is_secret, join_names, shorten, show

Error = jsonschema_rs.ValidationError

_MAX_MESSAGES = 20
_MAX_DESCRIPTION_CHARS = 120


def word_errors(errors: Iterable[Error], schema: Any) -> str:
    """Return one text for all errors, the first 20 of them in full."""
    messages = list(dict.fromkeys(_messages(errors, schema)))
    text = "; ".join(messages[:_MAX_MESSAGES])
    more = len(messages) - _MAX_MESSAGES
    return f"{text}; and {more} more" if more > 0 else text


def _messages(errors: Iterable[Error], schema: Any) -> Iterable[str]:
    missing: dict[tuple[str | int, ...], list[str]] = {}
    others = []
    for error in errors:
        if error.kind.name == "required" and error.schema_path[-1] == "required":
            missing.setdefault(tuple(error.instance_path), []).append(error.kind.property)  # type: ignore[attr-defined]
        else:
            others.append(_word(error, schema))
    for path, names in missing.items():
        noun = "property" if len(names) == 1 else "properties"
        yield f"{_inside(path)}missing required {noun} {join_names(names)}"
    yield from others


def _word(error: Error, schema: Any) -> str:
    wording = _WORDINGS.get(error.kind.name)
    if wording is not None:
        return wording(error, schema)
    if _is_hidden(error):
        return f"{_place(error)} does not satisfy {error.kind.name!r}"
    return f"{_place(error)}: {shorten(error.message, 300)}"


# Objects


def _word_dependent(error: Error, schema: Any) -> str:
    name = error.kind.property  # type: ignore[attr-defined]
    rules = _schema_at(schema, error.schema_path)
    given = error.instance if isinstance(error.instance, Mapping) else {}
    needing = [
        other
        for other, needed in (rules.items() if isinstance(rules, Mapping) else ())
        if other in given and isinstance(needed, list) and name in needed
    ]
    why = f", which {join_names(needing)} needs" if needing else ""
    return f"{_inside(error.instance_path)}missing property {name!r}{why}"


def _word_unknown(error: Error, schema: Any) -> str:
    unknown: list[str] = error.kind.unexpected  # type: ignore[attr-defined]
    node = _schema_at(schema, error.schema_path[:-1])
    properties = node.get("properties") if isinstance(node, Mapping) else None
    expected = list(properties) if isinstance(properties, Mapping) else []
    noun, verb = ("property", "is") if len(unknown) == 1 else ("properties", "are")
    text = (
        f"{_inside(error.instance_path)}additional {noun} {join_names(unknown)} {verb} not allowed"
    )
    guesses = [
        f"{guess[0]!r}"
        for name in unknown
        if (guess := difflib.get_close_matches(name, expected, 1, cutoff=0.6))
    ]
    if guesses:
        text += f"; did you mean {', '.join(dict.fromkeys(guesses))}?"
    if expected:
        return f"{text} (expected: {join_names(expected)})"
    return text if properties is None else f"{text} (no properties are expected)"


def _word_property_names(error: Error, schema: Any) -> str:
    inner = error.kind.error  # type: ignore[attr-defined]
    return f"{_inside(error.instance_path)}property name {inner.instance!r} is not allowed"


# Values


def _word_type(error: Error, schema: Any) -> str:
    types: list[str] = error.kind.types  # type: ignore[attr-defined]
    return f"{_place(error)} must be {' or '.join(types)}, got {_given(error)}"


def _word_enum(error: Error, schema: Any) -> str:
    options: list[Any] = error.kind.options  # type: ignore[attr-defined]
    listed = ", ".join(show(option) for option in options[:30])
    more = f" (and {len(options) - 30} more)" if len(options) > 30 else ""
    return f"{_place(error)} must be one of {listed}{more}, got {_given(error)}"


def _word_const(error: Error, schema: Any) -> str:
    expected = error.kind.expected_value  # type: ignore[attr-defined]
    return f"{_place(error)} must be {show(expected)}, got {_given(error)}"


def _word_range(error: Error, schema: Any) -> str:
    """All bounds, and the description: it says the unit, which a wrong number often mistakes."""
    node = _schema_at(schema, error.schema_path[:-1])
    node = node if isinstance(node, Mapping) else {}
    bounds = " and ".join(f"{words} {node[key]}" for key, words in _BOUNDS.items() if key in node)
    text = f"{_place(error)} must be {bounds}, got {_given(error)}"
    description = node.get("description")
    if isinstance(description, str) and description:
        return f"{text} ({_place(error)}: {shorten(description, _MAX_DESCRIPTION_CHARS)})"
    return text


_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}


def _word_multiple(error: Error, schema: Any) -> str:
    factor = error.kind.multiple_of  # type: ignore[attr-defined]
    return f"{_place(error)} must be a multiple of {factor}, got {_given(error)}"


def _sized(words: str, singular: str, plural: str) -> Callable[[Error, Any], str]:
    def word(error: Error, schema: Any) -> str:
        limit: int = error.kind.limit  # type: ignore[attr-defined]
        noun = singular if limit == 1 else plural
        size = len(error.instance)  # type: ignore[arg-type]
        return f"{_place(error)} must have {words} {limit} {noun}, got {size}: {_given(error)}"

    return word


def _word_pattern(error: Error, schema: Any) -> str:
    pattern: str = error.kind.pattern  # type: ignore[attr-defined]
    return f"{_place(error)} must match the pattern {shorten(pattern, 200)!r}, got {_given(error)}"


def _word_format(error: Error, schema: Any) -> str:
    name: str = error.kind.format  # type: ignore[attr-defined]
    return f"{_place(error)} must be text of the format {name!r}, got {_given(error)}"


def _word_unique(error: Error, schema: Any) -> str:
    return f"{_place(error)} must not have the same item twice, got {_given(error)}"


def _word_false(error: Error, schema: Any) -> str:
    return f"{_place(error)} must not be given"


# Alternatives


def _word_alternatives(error: Error, schema: Any) -> str:
    branches: list[list[Error]] = error.kind.context  # type: ignore[attr-defined]
    fitting = [number for number, branch in enumerate(branches, 1) if not branch]
    if fitting:
        numbers = join_names(fitting)
        return f"{_place(error)} must fit exactly one alternative, not number {numbers}"
    depth = len(error.instance_path)
    mismatches = [branch[0] for branch in branches if _is_other_type(branch, depth)]
    if len(mismatches) == len(branches):
        types = dict.fromkeys(
            name
            for mismatch in mismatches
            for name in mismatch.kind.types  # type: ignore[attr-defined]
        )
        return f"{_place(error)} must be {' or '.join(types)}, got {_given(error)}"
    number, nearest = min(
        enumerate(branches, 1), key=lambda numbered: _distance(numbered[1], depth)
    )
    problems = "; ".join(dict.fromkeys(_messages(nearest, schema)))
    return (
        f"{_place(error)} must fit one of {len(branches)} alternatives; "
        f"the nearest is number {number}: {problems}"
    )


def _is_other_type(branch: list[Error], depth: int) -> bool:
    return any(error.kind.name == "type" and len(error.instance_path) == depth for error in branch)


def _distance(branch: list[Error], depth: int) -> tuple[bool, int, int]:
    """Another type is furthest; then a tag (`kind: const`) that says another alternative."""
    tags = sum(error.kind.name in ("const", "enum") for error in branch)
    return _is_other_type(branch, depth), tags, len(branch)


# Parts of messages


def _place(error: Error) -> str:
    return _joined(error.instance_path) or "the arguments"


def _inside(path: Iterable[str | int]) -> str:
    joined = _joined(path)
    return f"{joined}: " if joined else ""


def _joined(path: Iterable[str | int]) -> str:
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def _given(error: Error) -> str:
    return "a secret value" if _is_hidden(error) else show(error.instance)


def _is_hidden(error: Error) -> bool:
    return any(isinstance(step, str) and is_secret(step) for step in error.instance_path)


def _schema_at(schema: Any, path: Iterable[str | int]) -> Any:
    node = schema
    for step in path:
        try:
            node = node[step]
        except (LookupError, TypeError):
            return None
    return node


_WORDINGS: dict[str, Callable[[Error, Any], str]] = {
    "additionalProperties": _word_unknown,
    "anyOf": _word_alternatives,
    "const": _word_const,
    "enum": _word_enum,
    "exclusiveMaximum": _word_range,
    "exclusiveMinimum": _word_range,
    "falseSchema": _word_false,
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
    "propertyNames": _word_property_names,
    "required": _word_dependent,
    "type": _word_type,
    "unevaluatedProperties": _word_unknown,
    "uniqueItems": _word_unique,
}
