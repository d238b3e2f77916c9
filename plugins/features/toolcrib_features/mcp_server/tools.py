"""The tools of a session as MCP clients list them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import mcp_types as mcp

from toolcrib import ToolInfo

PAGE = 1000
"""So many tools are listed at once."""

_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\W]+")

_READS = mcp.ToolAnnotations(read_only_hint=True, open_world_hint=False)
_WRITES = mcp.ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
_RUNS = mcp.ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True)
_BY_DOMAIN = {"read": _READS, "search": _READS, "write": _WRITES, "edit": _WRITES, "shell": _RUNS}
"""What is certain of builtin tools, whose domain says what each of their calls may touch."""


_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")

Said = Callable[[str], Mapping[str, Any]]
"""What is said of the tool with a name: `title`, `readOnlyHint` and the like."""


def listing(
    tools: Sequence[ToolInfo], cursor: str | None, said: Said = lambda name: {}
) -> mcp.ListToolsResult:
    """A page of tools in name order, beginning behind the cursor of the page before.

    Raises:
        ValueError: the cursor is none of ours.
    """
    after = "" if cursor is None else _decoded(cursor)
    rest = [tool for tool in tools if tool.name > after]
    page = rest[:PAGE]
    more = _encoded(page[-1].name) if len(rest) > PAGE else None
    return mcp.ListToolsResult(tools=[described(t, said(t.name)) for t in page], next_cursor=more)


def described(tool: ToolInfo, said: Mapping[str, Any] = MappingProxyType({})) -> mcp.Tool:
    """One tool; what is not known of it is left out."""
    return mcp.Tool(
        name=tool.name,
        title=title if isinstance(title := said.get("title"), str) else title_of(tool.name),
        description=tool.description,
        input_schema={"type": "object", **tool.parameters},
        annotations=_annotations(tool, said),
    )


def _annotations(tool: ToolInfo, said: Mapping[str, Any]) -> mcp.ToolAnnotations | None:
    if tool.source == "builtin":
        return _BY_DOMAIN.get(tool.domain)
    hints = {name: said[name] for name in _HINTS if isinstance(said.get(name), bool)}
    return mcp.ToolAnnotations.model_validate(hints) if hints else None


def title_of(name: str) -> str:
    """A name as people would write it: `TaskOutput` is "Task output"."""
    server, parted, tool = name.removeprefix("mcp__").partition("__")
    if name.startswith("mcp__") and parted:
        return f"{title_of(tool)} ({server})"
    words = [word for word in _WORD_BEGINS.split(name) if word]
    plain = [word if word.isupper() and len(word) > 1 else word.lower() for word in words]
    text = " ".join(plain) or name
    return text[0].upper() + text[1:]


def _encoded(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _decoded(cursor: str) -> str:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError, ValueError):
        raise ValueError(f"{cursor[:80]!r} is no cursor of this server") from None
