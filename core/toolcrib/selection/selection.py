"""Which tools a conversation has loaded, and the messages that load and announce them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol

from toolcrib.contract.messages import ContextMessage
from toolcrib.decisions import Decision
from toolcrib.policy import MCP_PREFIX, suggest
from toolcrib.registry import SELECT_TOOLS, RegisteredTool, ToolRegistry
from toolcrib.selection import texts
from toolcrib.selection.told import Record, Told

MAX_FOUND = 10


class Described(Protocol):
    """What a model is told of a tool."""

    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...


class ToolSelection:
    """The deferred tools of one agent, as far as its conversation has come with them.

    It is a source of context messages. A message whose origin has the `kind` `loadable-tools`
    says which tools can be loaded, or no longer can, since the last one; one of the kind
    `dynamic_tool_schema` has the definitions of those that were asked for.

    Args:
        registry: the agent's active tools.
        describe: gives the description of a tool, or None when it proves to be broken.
        define: gives also its schema, or None likewise.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        describe: Callable[[RegisteredTool], str | None],
        define: Callable[[RegisteredTool], Described | None],
    ) -> None:
        self._registry = registry
        self._describe = describe
        self._define = define
        self._told = Told()
        self._queue: set[str] = set()
        self._hashes: dict[str, tuple[RegisteredTool, str]] = {}
        self._announced_in: str | None = None
        self._number = 0
        self._prefix = os.urandom(4).hex()
        self.turn_id: str | None = None
        """The turn that messages are taken for; it is told of new tools once, at its start."""

    @property
    def open(self) -> bool:
        """Whether tools are loaded on demand; if not, the deferred ones are listed like others."""
        return SELECT_TOOLS in self._registry

    def loadable(self) -> list[str]:
        """The names of all deferred tools that are active, loaded or not."""
        return [entry.name for entry in self._registry if entry.disclosure == "deferred"]

    def is_loaded(self, name: str) -> bool:
        """Whether the conversation has the definition of a tool, or is about to get it."""
        return name in self._queue or name in self._told.loaded

    def is_announced(self, name: str) -> bool:
        """Whether the model was told that there is the tool."""
        return name in self._told.known

    def lacks(self, entry: RegisteredTool) -> bool:
        """Whether a tool has to be loaded before it can be called."""
        return entry.disclosure == "deferred" and self.open and not self.is_loaded(entry.name)

    def load_first(self, name: str) -> str:
        """What to tell a model that calls a tool which it has no definition of."""
        return texts.load_first(name)

    def load_by_call(self, name: str) -> str:
        """Load a tool that was called without a definition, and rightly; what to say of it."""
        self.load([name])
        return texts.loaded_by_call(name)

    def explain_missing(self, decision: Decision) -> str | None:
        """What to tell a model that calls a tool which it has loaded and which is not active.

        None when it has not loaded it, or nothing is known but that it is not there.
        """
        name = decision.name
        if not (self.open and self.is_loaded(name)):
            return None
        if decision.filter != "unknown":
            return texts.inactive(name, str(decision.reason), str(decision.remedy))
        return texts.vanished(name, of_server=name.startswith(MCP_PREFIX))

    def load(self, names: Iterable[str]) -> None:
        """Put the definitions of tools into the conversation, before its next request."""
        self._queue.update(name for name in names if not self.is_loaded(name))

    def search(self, query: str) -> list[str]:
        """The deferred tools, at most ten, that fit keywords best, best first."""
        from toolcrib.selection.search import search

        return search(query, self._described(), limit=MAX_FOUND)

    def near(self, name: str) -> tuple[str, ...]:
        """Up to three tools that a wrong name may have been meant for, the closest first."""
        known = self.loadable()
        if own := [each for each in known if each.endswith(f"__{name}")]:
            return tuple(own[:3])  # the server is left out
        server = name[: name.rfind("__") + 2]
        same = [each for each in known if server and each.startswith(server)]
        return suggest(name, same or known)  # to compare a thousand names takes its time

    def forget(self, kept: Iterable[Mapping[str, Any]]) -> None:
        """The conversation has lost all messages but those with the origins `kept`."""
        self._told.reset(record for origin in kept if (record := Record.of(origin)) is not None)
        self._queue.clear()
        self._announced_in = None

    def take_messages(self) -> list[ContextMessage]:
        """What has changed of the tools that can be loaded, and definitions that were asked for."""
        if not self.open:
            return []
        return [*self._announcement(), *self._definitions()]

    def return_messages(self, ids: frozenset[str]) -> None:
        """Take messages back; what was loaded by them is loaded again by the next one."""
        for record in self._told.take_back(ids):
            self.load(record.schemas)
            if not record.schemas:
                self._announced_in = None

    def _announcement(self) -> Iterable[ContextMessage]:
        if self.turn_id is not None and self.turn_id == self._announced_in:
            return
        self._announced_in = self.turn_id
        known = self._told.known
        added = self._described(but=known)
        # One that is listed with the others by now is not gone.
        removed = sorted(name for name in known if name not in self._registry)
        if added or removed:
            names = tuple(name for name, _ in added)
            record = Record(id=self._new_id(), added=names, removed=tuple(removed))
            yield self._delivered(record, text=texts.announcement(added, removed))

    def _described(self, but: Collection[str] = ()) -> list[tuple[str, str]]:
        """The names and descriptions of deferred tools."""
        return [
            (entry.name, about)
            for entry in self._registry
            if entry.disclosure == "deferred"
            and entry.name not in but
            and (about := self._describe(entry)) is not None
        ]

    def _definitions(self) -> Iterable[ContextMessage]:
        tools: list[dict[str, Any]] = []
        hashes: dict[str, str] = {}
        settled: set[str] = set()
        for name in sorted(self._queue | self._told.loaded.keys()):
            entry = self._registry.get(name)
            if entry is None or entry.disclosure != "deferred":
                continue
            told = self._told.loaded.get(name)
            settled.add(name)
            if self._hashes.get(name) == (entry, told):
                continue
            about = self._define(entry)
            if about is None:
                continue
            tool = {
                "name": name,
                "description": about.description,
                "parameters": about.parameters,
            }
            self._hashes[name] = entry, (own := _hash(tool))
            if own != told:
                tools.append(tool)
                hashes[name] = own
        self._queue -= settled
        if tools:
            yield self._delivered(Record(id=self._new_id(), schemas=hashes), tools=tools)

    def _delivered(
        self, record: Record, *, text: str = "", tools: Iterable[Mapping[str, Any]] = ()
    ) -> ContextMessage:
        self._told.add(record)
        return ContextMessage(
            id=record.id,
            role="system" if record.schemas else "user",
            text=text,
            tools=tuple(tools),
            origin=record.origin,
            wakes=False,
        )

    def _new_id(self) -> str:
        self._number += 1
        return f"tools:{self._prefix}:{self._number}"


def _hash(tool: Mapping[str, Any]) -> str:
    text = json.dumps(tool, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
