"""Mend what programs write into a schema although no draft of JSON Schema has it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

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
_Bounds = tuple[tuple[str, str], ...]
_BOUNDS: _Bounds = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))


def mended(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A copy of a schema that says what its writer meant.

    PHP writes an empty map as a list, Go and others write what is not set as null, and OpenAPI 3.0
    has the exclusive bounds of draft 4, which later drafts write as numbers.
    """
    is_draft_4 = "draft-04/" in str(schema.get("$schema"))
    copy: Mapping[str, Any] = _mended(schema, () if is_draft_4 else _BOUNDS)
    return copy


def _mended(schema: Any, bounds: _Bounds) -> Any:
    if not isinstance(schema, Mapping):
        return {} if schema == [] else schema
    copy = {key: v for key, v in schema.items() if v is not None or key in _MAY_BE_NULL}
    for bound, exclusive in bounds:
        if isinstance(copy.get(exclusive), bool) and copy.pop(exclusive) and bound in copy:
            copy[exclusive] = copy.pop(bound)
    return {keyword: _below(keyword, value, bounds) for keyword, value in copy.items()}


def _below(keyword: str, value: Any, bounds: _Bounds) -> Any:
    inner = partial(_mended, bounds=bounds)
    if keyword in _MAPS:
        if isinstance(value, Mapping):
            return {name: inner(each) for name, each in value.items()}
        return {} if value == [] else value
    if keyword not in _PARTS:
        return value
    return list(map(inner, value)) if isinstance(value, list) else inner(value)
