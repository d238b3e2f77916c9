"""Choose the draft of JSON Schema that a schema is written in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from toolcrib.schema.nodes import iter_nodes

Draft = Literal["4", "6", "7", "2019-09", "2020-12"]

_DECLARED: dict[str, Draft] = {
    "draft-04/": "4",
    "draft-06/": "6",
    "draft-07/": "7",
    "draft/2019-09/": "2019-09",
    "draft/2020-12/": "2020-12",
}
_NEW_IN_2020_12 = frozenset({"$dynamicAnchor", "$dynamicRef", "prefixItems"})
_NEW_IN_2019_09 = frozenset(
    {
        "$anchor",
        "$defs",
        "$recursiveAnchor",
        "$recursiveRef",
        "dependentRequired",
        "dependentSchemas",
        "maxContains",
        "minContains",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)


def draft_of(schema: Any) -> Draft:
    """Return the draft that `$schema` declares, else the oldest that has all keywords used.

    A schema that gives no hint is taken for draft 7, which is what tools are written in.
    """
    if isinstance(schema, Mapping) and "$schema" in schema:
        declared = str(schema["$schema"])
        for mark, draft in _DECLARED.items():
            if mark in declared:
                return draft
    keywords: set[str] = set()
    for node in iter_nodes(schema):
        keywords.update(node)
    if keywords & _NEW_IN_2020_12:
        return "2020-12"
    return "2019-09" if keywords & _NEW_IN_2019_09 else "7"
