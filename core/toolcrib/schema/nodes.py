"""Close the object nodes of a JSON Schema against properties that it does not name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# These put questions to the data; closing what they ask about would change the answer.
_QUESTION_KEYWORDS = frozenset({"if", "not"})
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


def iter_nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every object in a schema that is a schema itself, once each, the outermost first."""
    pending = [schema]
    seen: set[int] = set()  # made in Python, a schema can hold itself
    while pending:
        node = pending.pop()
        if not isinstance(node, Mapping) or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        for keyword, value in node.items():
            if isinstance(value, list) and keyword in _SCHEMA_LIST_KEYWORDS:
                pending.extend(value)
            elif isinstance(value, Mapping) and keyword in _SCHEMA_MAP_KEYWORDS:
                pending.extend(value.values())
            elif keyword in _SCHEMA_KEYWORDS or keyword in _QUESTION_KEYWORDS:
                pending.append(value)
