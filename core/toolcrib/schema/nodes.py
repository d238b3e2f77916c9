"""Close the object nodes of a JSON Schema against properties that it does not name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# `not` and `if` are left out on purpose: they are questions, and closing changes the answer.
_SCHEMA_KEYWORDS = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "else",
        "items",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_SCHEMA_LIST_KEYWORDS = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_SCHEMA_MAP_KEYWORDS = frozenset(
    {
        "$defs",
        "definitions",
        "dependencies",
        "dependentSchemas",
        "patternProperties",
        "properties",
    }
)


def close_object_nodes(schema: Any) -> Any:
    """Return a copy in which each node of type object without `additionalProperties` has false.

    Data in the schema (`default`, `enum`, `const`, `examples`) is no schema and stays as it is.
    """
    if not isinstance(schema, Mapping):
        return schema
    closed = {keyword: _close_below(keyword, value) for keyword, value in schema.items()}
    if closed.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


def _close_below(keyword: str, value: Any) -> Any:
    if isinstance(value, list) and keyword in _SCHEMA_LIST_KEYWORDS:
        return [close_object_nodes(item) for item in value]
    if isinstance(value, Mapping) and keyword in _SCHEMA_MAP_KEYWORDS:
        return {name: close_object_nodes(item) for name, item in value.items()}
    if keyword in _SCHEMA_KEYWORDS:
        return close_object_nodes(value)
    return value
