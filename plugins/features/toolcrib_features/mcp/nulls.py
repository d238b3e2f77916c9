"""Drop the nulls that models give for arguments which they might as well leave out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define

MAX_DEPTH = 64
_MAX_REFERENCES = 32
_MAX_NODES = 500
_UNKNOWN: Mapping[str, Any] = {}
"""Stands for a schema of which nothing is known, so that anything may be allowed."""
_ALTERNATIVES = ("anyOf", "oneOf")


def without_nulls(arguments: Any, schema: Any) -> Any:
    """A copy of the arguments without each null whose property is optional and allows none.

    A property that the schema does not name stays; so does one that a schema allows which cannot
    be told here, such as another document's.
    """
    return _Nulls(schema).cleaned(arguments, [schema], 0)


@define
class _Nulls:
    _document: Any

    def cleaned(self, value: Any, schemas: list[Any], depth: int) -> Any:
        if depth > MAX_DEPTH or not isinstance(value, dict | list):
            return value
        seen: set[int] = set()
        nodes = [node for schema in schemas for node in self._nodes(schema, seen)]
        if isinstance(value, list):
            return [
                self.cleaned(item, list(_of_item(nodes, index)), depth + 1)
                for index, item in enumerate(value)
            ]
        required = self._required(schemas)
        kept = {}
        for name, inner in value.items():
            said = list(_of_property(nodes, name))
            spare = inner is None and said and name not in required
            if not spare or any(self._allows_null(each, {}) for each in said):
                kept[name] = self.cleaned(inner, said, depth + 1)
        return kept

    def _nodes(self, schema: Any, seen: set[int]) -> Iterator[Mapping[str, Any]]:
        """A schema with all that speaks of the same value beside it, once each."""
        node = self._resolved(schema)
        if not isinstance(node, Mapping) or id(node) in seen or len(seen) > _MAX_NODES:
            return
        seen.add(id(node))
        yield node
        for keyword in ("allOf", *_ALTERNATIVES):
            for branch in _list(node.get(keyword)):
                yield from self._nodes(branch, seen)

    def _required(self, schemas: list[Any]) -> set[str]:
        """What has to be there in any case; a branch that wants more is not the only one."""
        names: set[str] = set()
        for schema in schemas:
            node = self._resolved(schema)
            if isinstance(node, Mapping):
                parts = [node, *map(self._resolved, _list(node.get("allOf")))]
                for part in parts:
                    if isinstance(part, Mapping):
                        names.update(n for n in _list(part.get("required")) if isinstance(n, str))
        return names

    def _allows_null(self, schema: Any, known: dict[int, bool]) -> bool:
        node = self._resolved(schema)
        if not isinstance(node, Mapping):
            return node is not False
        if id(node) not in known:
            # In a circle, what is asked about already takes nothing away from the answer.
            known[id(node)] = True
            known[id(node)] = len(known) > _MAX_NODES or self._all_allow_null(node, known)
        return known[id(node)]

    def _all_allow_null(self, node: Mapping[str, Any], known: dict[int, bool]) -> bool:
        kinds = node.get("type")
        if kinds is not None and "null" not in (kinds if isinstance(kinds, list) else [kinds]):
            return False
        if "enum" in node and None not in _list(node["enum"]):
            return False
        if "const" in node and node["const"] is not None:
            return False
        if not all(self._allows_null(each, known) for each in _list(node.get("allOf"))):
            return False
        return all(
            any(self._allows_null(each, known) for each in _list(node[keyword]))
            for keyword in _ALTERNATIVES
            if _list(node.get(keyword))
        )

    def _resolved(self, schema: Any) -> Any:
        """What a chain of local references leads to."""
        for _ in range(_MAX_REFERENCES):
            reference = schema.get("$ref") if isinstance(schema, Mapping) else None
            if not isinstance(reference, str):
                return schema
            schema = self._target(reference)
        return _UNKNOWN

    def _target(self, reference: str) -> Any:
        if reference == "#":
            return self._document
        if not reference.startswith("#/"):
            return _UNKNOWN
        found = self._document
        for step in reference[2:].split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and step in found:
                found = found[step]
            elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            else:
                return _UNKNOWN
        return found


def _of_property(nodes: list[Mapping[str, Any]], name: str) -> Iterator[Any]:
    for node in nodes:
        properties = node.get("properties")
        if isinstance(properties, Mapping) and name in properties:
            yield properties[name]
        elif isinstance(node.get("additionalProperties"), Mapping):
            yield node["additionalProperties"]


def _of_item(nodes: list[Mapping[str, Any]], index: int) -> Iterator[Any]:
    for node in nodes:
        items = node.get("items")
        first = _list(node.get("prefixItems")) or _list(items)
        if index < len(first):
            yield first[index]
        elif isinstance(items, Mapping):
            yield items


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
