"""What is remembered of a server between sessions: its tools, and which definitions are accepted.

The tools are there before the server is, and a tool that it changes behind the user's back is
noticed. Files: `<state>/mcp/servers/<name>-<identity>.json`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from toolcrib import StateError, change_private_file, read_private_file
from toolcrib_features.mcp.model import Listing, ServerConfig, ToolDefinition

LIMIT_BYTES = 64 << 20
Definitions = Mapping[str, ToolDefinition]


@frozen(kw_only=True)
class Remembered:
    """What is known of a server.

    Attributes:
        listed: its tools as it listed them last; None when it never did.
        quarantined: those of them that cannot be used, with the reasons.
        accepted: the definitions by tool that the user has agreed to: by adding the server for
            those that were there at the first listing, or by `toolcrib mcp accept`.
        offers: what else it has: `resources`, `prompts`.
    """

    listed: tuple[ToolDefinition, ...] | None = None
    quarantined: Mapping[str, str] = field(factory=dict)
    accepted: Definitions = field(factory=dict)
    offers: tuple[str, ...] = ()

    @property
    def changed(self) -> dict[str, tuple[ToolDefinition, ToolDefinition]]:
        """The tools that are not what was accepted: the accepted definitions and the new ones."""
        pairs = ((self.accepted.get(now.name), now) for now in self.listed or ())
        return {now.name: (then, now) for then, now in pairs if then and then.hash != now.hash}

    def with_listing(self, listing: Listing) -> Remembered:
        """With a new listing; what is in it for the first time counts as accepted."""
        new = {tool.name: tool for tool in listing.tools if tool.name not in self.accepted}
        accepted = {**self.accepted, **new}
        return Remembered(
            # One that only differs in the order of its keys stays as it was, byte for byte.
            listed=tuple(
                accepted[tool.name] if accepted[tool.name].hash == tool.hash else tool
                for tool in listing.tools
            ),
            quarantined=dict(listing.quarantined),
            accepted=accepted,
            offers=listing.offers,
        )

    def with_accepted(self, tools: Iterable[ToolDefinition]) -> Remembered:
        """With these definitions accepted."""
        return evolve(self, accepted={**self.accepted, **{tool.name: tool for tool in tools}})


class ServerMemory:
    """The file of one server; another server of the same name has another file."""

    def __init__(self, state_folder: Path, config: ServerConfig) -> None:
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", config.name)[:40]
        folder = state_folder / "mcp" / "servers"
        self.file = folder / f"{name}-{config.identity[:12]}.json"
        self._server = config.name

    def read(self) -> Remembered:
        """What is remembered; nothing when there is no folder in which it could be.

        Raises:
            StateError: the file is there, and cannot be used.
        """
        try:
            data = read_private_file(self.file, limit_bytes=LIMIT_BYTES)
        except StateError:
            if os.path.lexists(self.file):
                raise
            data = None
        return self._parsed(data)

    def record(self, listing: Listing) -> Remembered:
        """Remember a listing. Raises StateError when that is not possible."""
        return self._change(lambda known: known.with_listing(listing))

    def accept(self, tools: Iterable[ToolDefinition]) -> Remembered:
        """Accept definitions as they were shown. Raises StateError when that is not possible."""
        tools = tuple(tools)
        return self._change(lambda known: known.with_accepted(tools))

    def _change(self, change: Callable[[Remembered], Remembered]) -> Remembered:
        after = Remembered()

        def edit(before: bytes | None) -> bytes:
            nonlocal after
            after = change(self._parsed(before))
            return self._written(after)

        change_private_file(self.file, edit, limit_bytes=LIMIT_BYTES)
        return after

    def _parsed(self, data: bytes | None) -> Remembered:
        if data is None:
            return Remembered()
        try:
            stored = json.loads(data)
            listed = stored["listed"]
            return Remembered(
                listed=None if listed is None else tuple(map(_definition, listed)),
                quarantined=dict(stored["quarantined"]),
                accepted={d.name: d for d in map(_definition, stored["accepted"])},
                offers=tuple(stored["offers"]),
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StateError(
                f"{str(self.file)!r} is damaged ({type(error).__name__}: {error}). Without it "
                "nobody can tell whether the server's tools are still those that were accepted; "
                "remove the file to accept them as they are"
            ) from None

    def _written(self, known: Remembered) -> bytes:
        stored = {
            "server": self._server,
            "offers": list(known.offers),
            "quarantined": dict(known.quarantined),
            "listed": None if known.listed is None else [dict(d.data) for d in known.listed],
            "accepted": [dict(d.data) for d in known.accepted.values()],
        }
        # Without an indent, which costs minutes and a multiple of the bytes for deep schemas.
        return json.dumps(stored, separators=(",", ":")).encode("ascii")


def _definition(data: Mapping[str, Any]) -> ToolDefinition:
    return ToolDefinition(name=data["name"], data=data)
