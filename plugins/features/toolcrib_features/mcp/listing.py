"""What a server lists, with what cannot be used of it set apart."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from attrs import evolve

from toolcrib import ArgumentValidator
from toolcrib_features.mcp.model import Listing, ServerError, ToolDefinition
from toolcrib_features.mcp.plain import line

MAX_PAGES = 50
MAX_ITEMS = 5_000
MAX_NAME = 256
MAX_REASON = 500
MAX_DEFINITION_BYTES = 1 << 20


async def read_pages(
    ask: Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]], key: str
) -> list[Any]:
    """The items of all pages that `ask` gives; some of them, when a server finds no end.

    Raises:
        ServerError: a page has no list of them.
    """
    items: list[Any] = []
    cursors: set[str] = set()
    params: dict[str, Any] = {}
    for _ in range(MAX_PAGES):
        page = await ask(params)
        found = page.get(key)
        if not isinstance(found, list):
            raise ServerError(f"what it lists has the wrong shape: there is no list {key!r}")
        items += found
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or cursor in ("", *cursors) or len(items) >= MAX_ITEMS:
            break
        cursors.add(cursor)
        params = {"cursor": cursor}
    return items[:MAX_ITEMS]


def make_listing(items: Iterable[Any]) -> Listing:
    """The tools, in the order of the server; one that cannot be used costs only itself."""
    tools: dict[str, ToolDefinition] = {}
    quarantined: dict[str, str] = {}
    for number, item in enumerate(items, 1):
        said = item.get("name") if isinstance(item, dict) else None
        name = said if isinstance(said, str) else ""
        reason = _fault(item, name)
        if reason is None and name in tools:
            name, reason = f"{name} (again)", "a tool of the same name is listed before it"
        if reason is not None:
            quarantined[line(name, MAX_NAME) or f"tool {number}"] = reason
        else:
            tools[name] = ToolDefinition(name=name, data=item)
    return Listing(tools=tuple(tools.values()), quarantined=quarantined)


def schema_problems(tools: Iterable[ToolDefinition]) -> dict[str, str]:
    """Why nothing can be checked by the schema of a tool, by the names of those tools."""
    found = ((tool.name, ArgumentValidator(tool.parameters)) for tool in tools)
    return {name: line(each.schema_error, MAX_REASON) for name, each in found if each.schema_error}


def without(listing: Listing, problems: Mapping[str, str]) -> Listing:
    """The listing, with the tools that have a problem set apart."""
    if not problems:
        return listing
    kept = tuple(tool for tool in listing.tools if tool.name not in problems)
    return evolve(listing, tools=kept, quarantined={**listing.quarantined, **problems})


def _fault(item: Any, name: str) -> str | None:
    if not isinstance(item, dict):
        return "it is no object"
    if not name.strip():
        return "it has no name"
    if len(name) > MAX_NAME or not name.isprintable():
        return f"its name is longer than {MAX_NAME} characters or not printable"
    schema = item.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return "its input schema is not that of an object"
    execution = item.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        return "it runs as a task of the protocol only, and such tasks are not supported"
    try:
        size = len(json.dumps(item))
    except (ValueError, RecursionError):
        return "its definition is no JSON"
    if size > MAX_DEFINITION_BYTES:
        return f"its definition takes {size} bytes, more than {MAX_DEFINITION_BYTES}"
    return None
