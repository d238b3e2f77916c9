"""Names that a provider accepts for properties and definitions, and what all names take."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any

_MAX_CHARS = 56


def fitting_name(name: str, pattern: re.Pattern[str] | None, taken: Container[str]) -> str:
    """The name itself where the pattern allows it, else one made of it that is not taken."""
    if name not in taken and (pattern is None or pattern.fullmatch(name)):
        return name
    base = re.sub(r"\W+", "_", name, flags=re.ASCII)[:_MAX_CHARS]
    return _free(base if re.match(r"[A-Za-z_]", base) else f"_{base}", taken)


def name_of_target(pointer: str, taken: Container[str]) -> str:
    """A name for the definition that a reference leads to."""
    last = pointer.rpartition("/")[2]
    return _free(re.sub(r"\W+", "_", last, flags=re.ASCII)[:_MAX_CHARS] or "arguments", taken)


def _free(base: str, taken: Container[str]) -> str:
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name


def chars_of_names(schema: Mapping[str, Any]) -> int:
    """How long the names of properties and definitions and the texts of enums are together."""
    total = 0
    pending: list[Any] = [schema]
    while pending:
        node = pending.pop()
        for keyword in ("properties", "$defs"):
            named = node.get(keyword, {})
            total += sum(map(len, named))
            pending.extend(named.values())
        total += sum(len(value) for value in node.get("enum", ()) if isinstance(value, str))
        pending.extend(node.get("anyOf", ()))
        if "items" in node:
            pending.append(node["items"])
    return total
