"""Read the keywords of one schema whose values are data: types, values, limits, words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from toolcrib.dialects.losses import Losses
from toolcrib.dialects.node import NUMBER_LIMITS, is_among

_WORDS = {
    "any": None,
    "array": "array",
    "bool": "boolean",
    "boolean": "boolean",
    "date": "string",
    "datetime": "string",
    "dict": "object",
    "double": "number",
    "enum": "string",
    "file": "string",
    "float": "number",
    "int": "integer",
    "integer": "integer",
    "list": "array",
    "long": "integer",
    "map": "object",
    "none": "null",
    "null": "null",
    "number": "number",
    "object": "object",
    "str": "string",
    "string": "string",
    "text": "string",
}
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_TEXTS = ("title", "description")
_DATA = ("default", "examples")


def said_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a schema says for readers."""
    said = {key: schema[key] for key in _TEXTS if is_text(schema.get(key))}
    said.update({key: schema[key] for key in _DATA if key in schema and is_json(schema[key])})
    if not isinstance(said.get("examples", []), list):
        said["examples"] = [said["examples"]]
    if "example" in schema and is_json(schema["example"]):
        said.setdefault("examples", [schema["example"]])
    return said


def is_json(value: Any, levels: int = 32) -> bool:
    """Whether a value can be written as JSON, and is nested no deeper than so many levels."""
    if isinstance(value, str):
        return is_text(value)
    if isinstance(value, float):
        return math.isfinite(value)
    if value is None or isinstance(value, int):
        return True
    if levels == 0:
        return False
    if isinstance(value, list | tuple):
        return all(is_json(item, levels - 1) for item in value)
    return isinstance(value, Mapping) and all(
        is_text(key) and is_json(item, levels - 1) for key, item in value.items()
    )


def is_text(value: Any) -> TypeGuard[str]:
    """Whether a value is text that can be sent, without halves of surrogate pairs."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def types_of(schema: Mapping[str, Any], at: str, losses: Losses) -> frozenset[str] | None:
    """The types that a schema allows, or None if it does not say."""
    if "type" not in schema:
        return None
    given = schema["type"]
    words = given if isinstance(given, list | tuple) else [given]
    types: set[str] = set()
    for word in words:
        known = isinstance(word, str) and word.lower() in _WORDS
        kind = _WORDS[word.lower()] if known else None
        if kind is None:
            losses.add(at, "type", f"{word!r:.60} is no type; anything is accepted")
            return None
        if kind != word:
            losses.add(at, "type", f"{word!r} is read as {kind!r}")
        types.add(kind)
    if "number" in types:
        types.discard("integer")
    return frozenset(types) or None


def enum_values(schema: Mapping[str, Any], at: str, losses: Losses) -> list[Any] | None:
    """The only values that a schema allows by `enum` and `const`, or None."""
    values: list[Any] | None = None
    if "enum" in schema:
        given = schema["enum"]
        listed = given if isinstance(given, list | tuple) else []
        fitting = [value for value in listed if is_json(value)]
        if len(fitting) < len(listed) or not listed:
            losses.add(at, "enum", f"{given!r:.60} is no list of values; it is dropped")
        else:
            values = []
            for value in fitting:
                if len(values) > _FEW or not is_among(value, values):
                    values.append(value)
    if "const" in schema:
        if not is_json(schema["const"]):
            losses.add(at, "const", "is no JSON value; it is dropped")
        elif values is None or is_among(schema["const"], values):
            values = [schema["const"]]
        else:
            losses.add(at, "const", "is not among the values of enum; it is dropped")
    return values


_FEW = 200
"""Comparing each value with each is for short lists."""


def limits_of(schema: Mapping[str, Any], at: str, losses: Losses) -> dict[str, Any]:
    """The limits of a schema that make sense, in the form of the newest draft."""
    limits: dict[str, Any] = {}
    for keyword in NUMBER_LIMITS:
        value = schema.get(keyword)
        if _is_number(value) and (keyword != "multipleOf" or value > 0):
            limits[keyword] = value
    for keyword in _COUNTS:
        value = schema.get(keyword)
        if _is_number(value) and value >= 0 and value == int(value):
            limits[keyword] = int(value)
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if schema.get(exclusive) is True and bound in limits:
            limits[exclusive] = limits.pop(bound)
    if isinstance(schema.get("uniqueItems"), bool) and schema["uniqueItems"]:
        limits["uniqueItems"] = True
    if is_text(schema.get("format")):
        limits["format"] = schema["format"]
    if is_text(schema.get("pattern")) and is_pattern(schema["pattern"]):
        limits["pattern"] = schema["pattern"]
    for keyword in (*NUMBER_LIMITS, *_COUNTS, "uniqueItems", "format", "pattern"):
        value = schema.get(keyword)
        if keyword not in limits and value is not None and not isinstance(value, bool):
            losses.add(at, keyword, f"{value!r:.60} is no value that it can have; it is dropped")
    return limits


def is_pattern(text: str) -> bool:
    """Whether text can be a regular expression of ECMA 262, as far as Python can tell."""
    text = re.sub(r"\\[pP]\{[^}]*\}", r"\\w", text)
    text = re.sub(r"\\u\{?[0-9a-fA-F]+\}?", "x", text)
    text = re.sub(r"\(\?<([A-Za-z_]\w*)>", r"(?P<\1>", text).replace("[^]", ".")
    text = re.sub(r"\\([/\-:@%&'\"=,;<>!~# cekgiK])", r"\1", text)
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _is_number(value: Any) -> TypeGuard[int | float]:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)
