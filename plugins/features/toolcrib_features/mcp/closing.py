"""Close the objects of a server's schema against arguments that it does not name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from toolcrib_features.mcp.mending import mended

_MAPS = frozenset({"properties", "patternProperties"})
_DEFINITIONS = frozenset({"$defs", "definitions"})
_INSIDE = frozenset({"items", "prefixItems", "additionalProperties"})
_ALTERNATIVES = frozenset({"anyOf", "oneOf"})
_HOLDERS = _MAPS | _DEFINITIONS | _INSIDE | _ALTERNATIVES | {"allOf"}
_SHARING = frozenset(
    {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies"}
)
"""What speaks of an object's properties beside `properties` itself."""


def closed(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A copy, mended, in which unknown properties are refused wherever a node alone names all.

    An object without `properties` is a map of the caller's own, and one that is put together from
    several schemas would refuse what the others name: both stay open.
    """
    try:
        whole = mended(schema)
        definitions = cache(lambda: not _composes(whole))
        result = _closed(whole, alone=True, definitions=definitions)
    except RecursionError:  # made to break its readers; it is used as it is
        return schema
    return {"type": "object", **result}


def _closed(schema: Any, *, alone: bool, definitions: Callable[[], bool]) -> Any:
    if not isinstance(schema, dict):
        return schema
    copy = {}
    for keyword, value in schema.items():
        if keyword not in _HOLDERS:
            copy[keyword] = value
            continue
        inner = alone or keyword in _MAPS or keyword in _INSIDE
        if keyword in _DEFINITIONS:
            inner = definitions()
        elif keyword in _ALTERNATIVES:
            inner = "properties" not in schema and _SHARING.isdisjoint(schema.keys() - {keyword})
        elif keyword == "allOf":
            inner = False
        copy[keyword] = _below(keyword, value, alone=inner, definitions=definitions)
    if alone and "properties" in copy and _SHARING.isdisjoint(copy) and _is_object(copy):
        copy.setdefault("additionalProperties", False)
    return copy


def _below(keyword: str, value: Any, *, alone: bool, definitions: Callable[[], bool]) -> Any:
    if keyword in _MAPS or keyword in _DEFINITIONS:
        if not isinstance(value, dict):
            return value
        return {n: _closed(v, alone=alone, definitions=definitions) for n, v in value.items()}
    if isinstance(value, list):
        return [_closed(each, alone=alone, definitions=definitions) for each in value]
    return _closed(value, alone=alone, definitions=definitions)


def _is_object(node: Mapping[str, Any]) -> bool:
    return node.get("type", "object") == "object" and "unevaluatedProperties" not in node


def _composes(schema: Any) -> bool:
    """Whether definitions may be parts of larger objects."""
    if isinstance(schema, list):
        return any(map(_composes, schema))
    if not isinstance(schema, dict):
        return False
    parts = schema.get("allOf")
    if isinstance(parts, list) and len(parts) + ("properties" in schema) > 1:
        return True
    if "$ref" in schema and "properties" in schema:
        return True
    return any(map(_composes, schema.values()))
