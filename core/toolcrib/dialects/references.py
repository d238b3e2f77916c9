"""Where the references of a schema lead inside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from toolcrib.schema.nodes import iter_nodes

_MISSING = object()


class References:
    """The places of one schema that references can name: `#`, `#/a/b`, an anchor or an `$id`."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema

    def pointer(self, reference: Any) -> str | None:
        """The JSON pointer that a reference means, or None if it leads out of the schema."""
        if not isinstance(reference, str):
            return None
        base, _, fragment = reference.partition("#")
        own = self._schema.get("$id", self._schema.get("id"))
        if base and base.rstrip("#") != str(own).rstrip("#"):
            return self._named.get(base) if not fragment else None
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._named.get(f"#{fragment}")
        return fragment if isinstance(self.at(fragment), Mapping | bool) else None

    def at(self, pointer: str) -> Any:
        """What stands at a pointer."""
        value: Any = self._schema
        for step in pointer.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, Mapping):
                value = value.get(step, _MISSING)
            elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            else:
                return _MISSING
        return value

    @cached_property
    def _named(self) -> dict[str, str]:
        names: dict[int, str] = {}
        for node in iter_nodes(self._schema):
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(node.get(keyword), str):
                    names[id(node)] = f"#{node[keyword]}"
            own = node.get("$id", node.get("id"))
            if node is not self._schema and isinstance(own, str):
                names[id(node)] = own
        return {names[key]: place for key, place in _places(self._schema) if key in names}


def _places(schema: Any) -> list[tuple[int, str]]:
    """The identity and the pointer of everything in a schema, however deep."""
    found: list[tuple[int, str]] = []
    seen: set[int] = set()
    pending: list[tuple[Any, str]] = [(schema, "")]
    while pending:
        value, at = pending.pop()
        if not isinstance(value, Mapping | list) or id(value) in seen:
            continue
        seen.add(id(value))
        found.append((id(value), at))
        steps = value.items() if isinstance(value, Mapping) else enumerate(value)
        for step, below in steps:
            name = str(step).replace("~", "~0").replace("/", "~1")
            pending.append((below, f"{at}/{name}"))
    return found
