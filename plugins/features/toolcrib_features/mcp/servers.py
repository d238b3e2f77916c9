"""The MCP servers of one agent: they come and go, and their tools with them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from attrs import asdict, evolve

from toolcrib import (
    McpServerStatus,
    MissingTool,
    Notice,
    PluginProblem,
    Session,
    StateError,
    ToolContribution,
    ToolTable,
    WithheldTool,
    qualify_tool_name,
    server_prefix,
)
from toolcrib_features.mcp.choice import chosen
from toolcrib_features.mcp.layers import read_servers
from toolcrib_features.mcp.member import Collision, Member
from toolcrib_features.mcp.memory import Remembered, ServerMemory
from toolcrib_features.mcp.missing import why_missing
from toolcrib_features.mcp.model import (
    Listing,
    ServerConfig,
    ServerError,
    ToolDefinition,
)
from toolcrib_features.mcp.names import command_line, head_of
from toolcrib_features.mcp.oauth.logins import Logins, uses_logins

if TYPE_CHECKING:
    from toolcrib_features.mcp.connection import Connection
    from toolcrib_features.mcp.server import Server

PLUGIN = "feature-mcp"
FEATURE = "mcp"
GONE = "mcp.disconnected"
"""Why the tools of a server go that is removed, disabled or cannot be used."""


class McpServers:
    """Keeps the table of tools in line with the servers, and the servers with the configuration.

    Tools that a server listed in an earlier session are there from the start. Servers connect in
    the background when the session is entered; a call waits for its own server alone.
    """

    def __init__(self, session: Session, table: ToolTable) -> None:
        self._session = session
        self._table = table
        self._members: dict[str, Member] = {}
        self._removed: set[str] = set()
        self._notices: tuple[Notice, ...] = ()
        self._started = False
        self._closed = False
        self._logins = Logins(session.state_folder)
        self._closing: set[asyncio.Task[None]] = set()
        self._sweep: asyncio.Task[None] | None = None
        table.add_source(self)
        session.on_start(self.start)

    @property
    def members(self) -> tuple[Member, ...]:
        """Every configured server, in the order in which names are given away."""
        return tuple(self._members.values())

    def follow(self) -> None:
        """Take over what the configuration says now: servers that are new, changed or gone."""
        if self._closed:
            return
        found = read_servers(self._session)
        self._session.watch(*found.files)
        wanted = {c.name: c for c in found.configs} if self._session.uses_plugin(PLUGIN) else {}
        for name in [n for n in self._members if n not in wanted]:
            self._remove(name)
        members = {}
        for name, config in wanted.items():
            member = self._members.get(name)
            if find_spec("mcp") is None and config.problem is None:
                config = evolve(config, problem="a package is missing: install toolcrib[mcp]")
            if member is None or member.config != config:
                before = member
                member = Member(config, ServerMemory(self._session.state_folder, config))
                if before is not None:
                    self._end(before)
                    # What is in the table is still theirs, until it is chosen anew.
                    member.offered, member.withheld = before.offered, before.withheld
                    member.told = before.told
            member.config = config  # it may stand in another line now
            self._remember(member)
            members[name] = member
        self._members = members
        self._removed -= members.keys()
        self._notices = found.notices
        self._offer("configuration")
        if self._started:
            self._connect_all()

    def start(self) -> None:
        """Connect to those that are not connected yet, in the background."""
        self._started = True
        self._connect_all()

    def _connect_all(self) -> None:
        for member in self.members:
            self._session.watch(member.memory.file)
            if member.usable:
                if uses_logins(member.config):
                    self._session.watch(self._logins.file(member.config))
                self._server(member).start()
            self._tell(member)

    @property
    def unsettled(self) -> bool:
        return not self._closed and any(member.expecting for member in self.members)

    def expects(self, name: str) -> bool:
        return any(True for _ in self._expected(name))

    async def arrived(self, name: str) -> None:
        await self._all_listed([*self._expected(name)])

    async def settled(self) -> None:
        await self._all_listed([member for member in self.members if member.expecting])

    def missing(self, name: str) -> MissingTool | None:
        """Why there is no tool of this name, if one of a server would have it."""
        return why_missing(name, self.members, self._removed)

    async def aclose(self) -> None:
        """End every server and everything that it started."""
        self._closed = True
        for member in self.members:
            self._end(member)
        ending = self._closing | ({self._sweep} if self._sweep is not None else set())
        if ending:
            await asyncio.gather(*ending, return_exceptions=True)
        await self._logins.aclose()

    def _server(self, member: Member) -> Server:
        """The life of a server; made late, since listing the tools needs none of it."""
        if member.server is None:
            from toolcrib_features.mcp.server import Server

            member.server = Server(
                member.config,
                connect=lambda: self._connect(member.config),
                listed=lambda listing: self._listed(member, listing),
                changed=lambda: self._changed(member),
            )
        return member.server

    async def _connect(self, config: ServerConfig) -> Connection:
        if config.transport == "stdio":
            await self._orphans_ended()
        # Half a second of imports, which the first calls of a session must not wait for.
        await asyncio.to_thread(_load, remote=config.transport != "stdio")
        from toolcrib_features.mcp.client_side import ClientSide
        from toolcrib_features.mcp.connection import connect

        def wanted(tool: str) -> bool:
            return self._session.allows_tool(qualify_tool_name(config.name, tool), "mcp")

        return await connect(
            config,
            ClientSide(self._session, config.name, roots=config.roots),
            environ=self._session.environment,
            cwd=self._session.workspace.root,
            auth=self._logins.auth_for(config),
            wanted=wanted,
        )

    async def _orphans_ended(self) -> None:
        """Wait until servers of programs that were killed are gone, of which some run only once."""
        if self._sweep is None:
            from toolcrib import end_orphans

            self._sweep = asyncio.create_task(asyncio.to_thread(end_orphans))
        await asyncio.shield(self._sweep)

    def _remember(self, member: Member) -> None:
        before = member.known
        try:
            member.known, member.damaged = member.memory.read(), None
        except StateError as error:
            member.known, member.damaged = Remembered(), str(error)
            return
        if member.known.listed is None and member.latest is not None:
            # The file was removed, or could never be written; the server does not list again.
            self._record(member, member.latest, before)

    def _listed(self, member: Member, listing: Listing) -> None:
        """A server has said which tools it has."""
        if self._members.get(member.config.name) is not member:
            return
        first = member.latest is None
        member.latest = listing
        if member.damaged is None:
            self._record(member, listing, member.known)
        self._offer("mcp.connected" if first else "mcp.updated")

    def _record(self, member: Member, listing: Listing, known: Remembered) -> None:
        try:
            member.known, member.forgetful = member.memory.record(listing), None
        except StateError as error:
            # What was accepted is known all the same, as long as this session lives.
            member.known = known.with_listing(listing)
            member.forgetful = (
                f"what its tools are is not remembered, so nobody notices when they change between "
                f"sessions: {error}"
            )

    def _changed(self, member: Member) -> None:
        """A server is in another state."""
        if member.state in ("needs-auth", "failed"):
            self._offer(f"mcp.{member.state}")  # others may have waited for it to claim its names
        self._tell(member)

    def _tell(self, member: Member) -> None:
        """Let those who follow know what has become of a server."""
        status = McpServerStatus(
            name=member.config.name,
            transport=member.config.transport,
            status=member.state,
            tool_count=len(member.offered),
            error=member.error,
        )
        if status != member.told and self._session.observed:
            member.told = status
            self._session.emit(status)

    def _remove(self, name: str) -> None:
        member = self._members.pop(name)
        self._end(member)
        self._removed.add(name)
        self._table.replace(_owner(name), (), plugin=PLUGIN, reason=GONE)
        member.removed, member.offered = True, ()
        self._tell(member)

    def _end(self, member: Member) -> None:
        if member.server is not None:
            closing = asyncio.get_running_loop().create_task(member.server.aclose())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def _offer(self, reason: str) -> None:
        """Give the names away and offer each server's tools, as far as something has changed.

        A name stays with who has it. Of those that want a free one the first counts, in the order
        of the servers and of their lists; who may still want it first is waited for.
        """
        holders = {
            tool.name: member for member in self.members for tool in member.offered if member.usable
        }
        undecided: list[str] = []
        for member in self.members:
            before = member.offered, member.withheld
            prefix = server_prefix(member.config.name)
            if any(prefix.startswith(one) or one.startswith(prefix) for one in undecided):
                continue  # `a` with `_b` and `a_` with `b` want the same name
            if member.unsettled:
                undecided.append(prefix)
            member.offered, member.withheld = self._choose(member, holders)
            if (member.offered, member.withheld) != before:
                self._table.replace(
                    _owner(member.config.name),
                    member.offered,
                    plugin=PLUGIN,
                    reason=reason if member.usable else GONE,
                    withheld=member.withheld,
                )
        self._note()

    def _choose(
        self, member: Member, holders: dict[str, Member]
    ) -> tuple[tuple[ToolContribution, ...], tuple[WithheldTool, ...]]:
        """The tools of a server that are offered, and those that are not, with the reasons."""
        for name in [name for name, holder in holders.items() if holder is member]:
            del holders[name]
        if not member.usable or member.damaged is not None:
            return (), ()
        if member.state == "needs-auth":
            return (self._authenticate(member),), ()
        server = member.config.name
        taken: dict[str, str] = {}
        collisions: list[Collision] = []
        offered: list[ToolContribution] = []
        withheld = [
            _withheld(
                server,
                name,
                f"the MCP server {server!r} lists it so that it cannot be used: {reason}",
                "have the server mended",
            )
            for name, reason in member.known.quarantined.items()
        ]
        changed = member.known.changed if member.config.pinned else {}
        for tool in member.known.listed or ():
            name = qualify_tool_name(server, tool.name)
            if not chosen(member.config, tool.name):
                remedy = f"change enabled_tools or disabled_tools ({member.config.source})"
                reason = f"the configuration of the MCP server {server!r} leaves it out"
                withheld.append(_withheld(server, tool.name, reason, remedy))
            elif name in taken or name in holders:
                own = name in taken
                collisions.append(
                    Collision(
                        name=name,
                        tool=tool.name,
                        server=server,
                        kind="same_server" if own else "other_server",
                        collides_with=taken[name] if own else holders[name].config.name,
                    )
                )
            elif tool.name in changed:
                taken[name] = tool.name
                withheld.append(_withheld(server, tool.name, *_changed_since(server, tool.name)))
            else:
                taken[name] = tool.name
                offered.append(self._contribution(member, tool, name))
        self._collided(member, tuple(collisions))
        offered += [extra for extra in self._extras(member) if extra.name not in holders | taken]
        for name in (*taken, *(tool.name for tool in offered)):
            holders[name] = member
        return tuple(offered), tuple(withheld)

    def _authenticate(self, member: Member) -> ToolContribution:
        """The tool that has the user log in; it stands in for those of the server."""
        made = member.made.get(("authenticate", ""))
        if made is None:
            from toolcrib_features.mcp.oauth.authenticate import authenticate_contribution

            server = self._server(member)
            made = authenticate_contribution(member.config, self._logins, server.reconnect)
            member.made["authenticate", ""] = made
        return made

    def _contribution(self, member: Member, tool: ToolDefinition, name: str) -> ToolContribution:
        made = member.made.get((name, tool.hash))
        if made is None:
            from toolcrib_features.mcp.server_tool import McpTool

            made = ToolContribution(
                name=name,
                factory=McpTool(
                    name,
                    tool,
                    member.config,
                    lambda: self._server(member),
                    changed=lambda: member.defines_otherwise(tool),
                ),
                domain="mcp",
                source="mcp",
                feature=FEATURE,
                disclosure="deferred" if member.config.deferred else "inline",
            )
            member.made[name, tool.hash] = made
        return made

    def _extras(self, member: Member) -> tuple[ToolContribution, ...]:
        """The tools for what a server has beside its own: resources and prompts."""
        offers = member.known.offers
        if offers and offers != member.extras_for:
            from toolcrib_features.mcp.extras import extras

            made = extras(member.config, offers, lambda: self._server(member), taken=())
            member.extras, member.extras_for = tuple(made), offers
        return member.extras if offers else ()

    def _collided(self, member: Member, collisions: tuple[Collision, ...]) -> None:
        """Note what is not registered for its name, and tell those who follow once."""
        if collisions and collisions != member.collisions and self._session.observed:
            text = f"of the server {member.config.name!r}: {'; '.join(map(str, collisions))}"
            self._session.emit(
                PluginProblem(
                    plugin=PLUGIN,
                    stage="mcp.tool_name_collision",
                    message=text,
                    details={
                        "server": member.config.name,
                        "collisions": [asdict(one) for one in collisions],
                    },
                )
            )
        member.collisions = collisions

    def _note(self) -> None:
        """Let the user know what is wrong with the configuration of servers, and with names."""
        notices = list(self._notices)
        for member in self.members:
            config = member.config
            texts = [config.problem, member.damaged, member.forgetful, *map(str, member.collisions)]
            notices += [Notice.at(config.source, key=config.name, text=t) for t in texts if t]
        self._session.note(PLUGIN, notices)

    def _expected(self, name: str) -> Iterator[Member]:
        for member in () if self._closed else self.members:
            if member.expecting and _could_be_of(name, member.config.name):
                yield member

    async def _all_listed(self, members: list[Member]) -> None:
        async with asyncio.TaskGroup() as group:
            for member in members:
                group.create_task(self._listed_all(member))

    async def _listed_all(self, member: Member) -> None:
        server = self._server(member)
        with contextlib.suppress(ServerError):
            await server.ready()
        await server.listed_again()


def _load(*, remote: bool) -> None:
    """Import what a connection needs."""
    import_module("toolcrib_features.mcp.client_side")
    import_module("toolcrib_features.mcp.connection")
    if remote:
        import_module("toolcrib_features.mcp.oauth.auth")
        import_module("toolcrib_features.mcp.remote")


def _owner(server: str) -> str:
    return f"mcp:{server}"


def _could_be_of(name: str, server: str) -> bool:
    return name.startswith(head_of(server))


def _withheld(server: str, tool: str, reason: str, remedy: str) -> WithheldTool:
    return WithheldTool(name=qualify_tool_name(server, tool), reason=reason, remedy=remedy)


def _changed_since(server: str, tool: str) -> tuple[str, str]:
    return (
        f"the MCP server {server!r} describes it otherwise than when it was accepted",
        f"look at the difference and accept it: {command_line('accept', server, tool)}",
    )
