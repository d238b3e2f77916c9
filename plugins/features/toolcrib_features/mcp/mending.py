"""Mend what programs write into a schema although no draft of JSON Schema has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CONTAINERS = frozenset({dict, list})
_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_PARTS = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "allOf",
        "anyOf",
        "contains",
        "else",
        "if",
        "items",
        "not",
        "oneOf",
        "prefixItems",
        "propertyNames",
        "then",
    }
)
_MAY_BE_NULL = frozenset({"const", "default"})
_Bounds = Mapping[str, str]
_BOUNDS: _Bounds = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


def mended(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A copy of a schema that says what its writer meant.

    PHP writes an empty map as a list, Go and others write what is not set as null, and OpenAPI 3.0
    has the exclusive bounds of draft 4, which later drafts write as numbers.
    """
    is_draft_4 = "draft-04/" in str(schema.get("$schema"))
    copy: Mapping[str, Any] = _mended(dict(schema), {} if is_draft_4 else _BOUNDS)
    return copy


def _mended(schema: Any, bounds: _Bounds) -> Any:
    if not isinstance(schema, dict):
        return {} if schema == [] else schema
    copy = {}
    for keyword, value in schema.items():
        if value is None and keyword not in _MAY_BE_NULL:
            continue
        copy[keyword] = _below(keyword, value, bounds) if value.__class__ in _CONTAINERS else value
    for exclusive in bounds.keys() & copy.keys():
        if isinstance(copy[exclusive], bool) and copy.pop(exclusive) and bounds[exclusive] in copy:
            copy[exclusive] = copy.pop(bounds[exclusive])
    return copy


def _below(keyword: str, value: Any, bounds: _Bounds) -> Any:
    if keyword in _MAPS:
        if isinstance(value, dict):
            return {name: _mended(each, bounds) for name, each in value.items()}
        return {} if value == [] else value
    if keyword not in _PARTS:
        return value
    if isinstance(value, list):
        return [_mended(each, bounds) for each in value]
    return _mended(value, bounds)
