"""Finds names of servers and their tools in rules, policies and profiles that nothing has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

from toolcrib import Notice, StateError, qualify_tool_name
from toolcrib_features.mcp.extras import EXTRA_NAMES
from toolcrib_features.mcp.model import ServerConfig
from toolcrib_features.mcp.names import BROUGHT, PREFIX, head_of, nearest

if TYPE_CHECKING:
    from toolcrib import Settings
    from toolcrib_features.mcp.memory import Remembered

_WILD = re.compile(r"[*?\[\]{}()!+@|\\]")
_NAME = re.compile(r"[A-Za-z0-9_-]{,64}")
_BRACES = re.compile(r"([^{}()\\]*)\{([^{}()\\]*)\}(.*)", re.DOTALL)


class Mentions:
    """What is wrong with the names of tools of servers, by what is configured and remembered.

    Args:
        configs: the servers.
        remembered: what is known of a server without asking it; raises StateError.
    """

    def __init__(
        self,
        configs: Iterable[ServerConfig],
        remembered: Callable[[ServerConfig], Remembered],
    ) -> None:
        self._configs = tuple(configs)
        self._heads = {head_of(config.name): config for config in self._configs}
        self._remembered = remembered

    def notices(self, settings: Settings) -> Iterator[Notice]:
        """One for each name that means nothing, with the place where it stands."""
        for rule in settings.permission.rules:
            yield from self._rule(rule.decision, rule.pattern, rule.source)
        for layer in settings.layers:
            for key in ("enabled", "disabled"):
                table = layer.data.get("tools")
                names = table.get(key) if isinstance(table, Mapping) else None
                for index, name in enumerate(names if isinstance(names, list) else ()):
                    for fault in self._faults_in_list(name):
                        yield layer.notice(("tools", key, index), f"{name!r} {fault}")
        for profile in settings.profiles.values():
            for rule in profile.rules:
                yield from self._rule(rule.decision, rule.pattern, rule.source)
            for key in ("tools", "disallowed_tools"):
                for name in getattr(profile, key) or ():
                    for fault in self._faults_in_list(name):
                        where = ("profiles", profile.name, key)
                        place = settings.locate_name(name, *where, scope="project")
                        place = place or settings.locate_name(name, *where, scope="user")
                        text = f"{name!r} {fault}"
                        yield Notice.at(place or profile.source, key=".".join(where), text=text)

    def _rule(self, decision: str, pattern: str, source: str) -> Iterator[Notice]:
        for fault in self.faults(pattern.partition("(")[0].rstrip()):
            text = f"the rule {decision} {pattern!r} {fault}"
            yield Notice.at(source, key="permission.rules", text=text)

    def _faults_in_list(self, name: object) -> Iterator[str]:
        """Without any server, a list is for those that may come."""
        if self._configs and isinstance(name, str):
            yield from self.faults(name)

    def faults(self, pattern: str) -> Iterator[str]:
        """What is wrong with a name, or a pattern of names; of alternatives, with each."""
        if not pattern.startswith(PREFIX):
            return
        braces = _BRACES.fullmatch(pattern)
        if braces is not None and "," in braces[2]:
            for each in braces[2].split(","):
                yield from self.faults(f"{braces[1]}{each}{braces[3]}")
            return
        fault = self._fault(pattern)
        if fault is not None:
            yield fault

    def _fault(self, pattern: str) -> str | None:
        wild = _WILD.search(pattern)
        head = pattern[: wild.start()] if wild else pattern
        server, _, tool = head.removeprefix(PREFIX).partition("__")
        if wild is None:
            if not (server and tool):  # which is a fault in itself, wherever it stands
                return None
            if not _NAME.fullmatch(pattern):
                return f"is the name of no tool: write {qualify_tool_name(server, tool)!r}"
        if _reach(head, PREFIX + BROUGHT):  # servers that features bring need no entry
            return None
        meant = [config for known, config in self._heads.items() if _reach(head, known)]
        if not meant:
            return f"names the MCP server {server!r}, which is not configured; {self._hint(server)}"
        return self._missing_tool(pattern, meant) if wild is None else None

    def _hint(self, server: str) -> str:
        near = nearest(server, self._heads)
        if near is not None:
            return f"did you mean {near.removeprefix(PREFIX).removesuffix('__')!r}?"
        names = ", ".join(repr(config.name) for config in self._configs)
        return f"configured are {names}" if names else "none is"

    def _missing_tool(self, name: str, servers: list[ServerConfig]) -> str | None:
        """That the servers listed no tool of this name, as far as all of them ever did."""
        known: set[str] = set()
        for config in servers:
            try:
                remembered = self._remembered(config)
            except StateError:
                return None
            if remembered.listed is None or not config.enabled:
                return None
            tools = {tool.name for tool in remembered.listed}
            for tool in (*tools, *remembered.quarantined, *EXTRA_NAMES, "authenticate"):
                known.add(qualify_tool_name(config.name, tool))
        if name in known:
            return None
        near = get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"names a tool that the MCP server {servers[0].name!r} did not list{hint}"


def _reach(head: str, known: str) -> bool:
    """Whether a name that begins with `head` may be one that begins with `known`."""
    return head.startswith(known) or known.startswith(head)
