"""Which tools a policy leaves active, and which of its patterns can never match."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from attrs import field, frozen

from toolcrib.mcp.naming import MAX_CHARS, PREFIX
from toolcrib.rules import match_tool_name

MCP_PREFIX = PREFIX

_WILDCARDS = frozenset("*?[]{}()!|")


def _names(patterns: Iterable[str]) -> tuple[str, ...]:
    return tuple(patterns)


def _optional_names(patterns: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if patterns is None else tuple(patterns)


@frozen
class ToolPolicy:
    """One layer of allowed and denied tools.

    A tool is named in full; only the names of MCP tools may be given by a glob pattern.

    Attributes:
        tools: what is allowed; None allows everything, an empty tuple nothing.
        disallowed_tools: what is denied, whether it is allowed or not.
    """

    tools: tuple[str, ...] | None = field(default=None, converter=_optional_names)
    disallowed_tools: tuple[str, ...] = field(default=(), converter=_names)


def is_tool_active(policy: ToolPolicy, name: str, source: str) -> bool:
    """Tell whether one layer of policy leaves a tool active.

    Args:
        policy: the layer.
        name: of the tool; case counts.
        source: where the tool comes from; patterns work for `mcp` alone.
    """
    return lists_tool(policy, name, source) and not disallows_tool(policy, name, source)


def lists_tool(policy: ToolPolicy, name: str, source: str) -> bool:
    """Whether a tool is among those that the layer allows."""
    return policy.tools is None or _names_tool(policy.tools, name, source)


def disallows_tool(policy: ToolPolicy, name: str, source: str) -> bool:
    """Whether the layer denies a tool by name or pattern."""
    return bool(policy.disallowed_tools) and _names_tool(policy.disallowed_tools, name, source)


def _names_tool(patterns: tuple[str, ...], name: str, source: str) -> bool:
    if source != "mcp":
        return name in patterns
    return any(
        pattern.startswith(MCP_PREFIX) and match_tool_name(pattern, name) for pattern in patterns
    )


InactiveKind = Literal["wildcard-not-mcp", "incomplete-mcp-name", "unknown-tool"]

_REASONS: dict[InactiveKind, str] = {
    "wildcard-not-mcp": (
        f"wildcards work only in patterns that begin with {MCP_PREFIX!r}: write the names of other "
        "tools in full"
    ),
    "incomplete-mcp-name": (
        f"the name of an MCP tool is '{MCP_PREFIX}<server>__<tool>': add the tool, or '__*' for "
        "all tools of the server"
    ),
    "unknown-tool": "no tool has this name; case counts",
}


@frozen
class InactivePattern:
    """A pattern of a policy that can match no tool."""

    pattern: str
    kind: InactiveKind

    @property
    def reason(self) -> str:
        """Why the pattern matches nothing, and what to write instead."""
        return _REASONS[self.kind]


def find_inactive_tool_patterns(
    patterns: Iterable[str], known_names: Collection[str] | None
) -> list[InactivePattern]:
    """List the patterns that can match no tool, in the order given.

    Args:
        patterns: of allow and deny lists.
        known_names: of all tools that are not from MCP servers; None judges the form alone.
    """
    found = ((pattern, _fault(pattern, known_names)) for pattern in patterns)
    return [InactivePattern(pattern, kind) for pattern, kind in found if kind is not None]


def _fault(pattern: str, known_names: Collection[str] | None) -> InactiveKind | None:
    wild = not _WILDCARDS.isdisjoint(pattern)
    if pattern.startswith(MCP_PREFIX):
        server, _, tool = pattern.removeprefix(MCP_PREFIX).partition("__")
        cut = len(pattern) == MAX_CHARS  # of a long name the server may be all that is left
        return None if wild or cut or (server and tool) else "incomplete-mcp-name"
    if wild:
        return "wildcard-not-mcp"
    if known_names is not None and pattern not in known_names:
        return "unknown-tool"
    return None


def suggest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Give up to three known names that `name` may have been meant for, the closest first."""
    from difflib import get_close_matches

    by_folded = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), by_folded, n=3, cutoff=0.6)
    return tuple(by_folded[folded] for folded in close)
