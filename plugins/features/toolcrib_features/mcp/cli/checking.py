"""Tries a server: connects, lists its tools, and leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Literal

from attrs import evolve, field, frozen

from toolcrib import Session, StateError
from toolcrib_features.mcp.choice import chosen
from toolcrib_features.mcp.memory import Remembered, ServerMemory
from toolcrib_features.mcp.model import (
    ServerConfig,
    ServerError,
    ServerNeedsLogin,
    State,
    ToolDefinition,
)
from toolcrib_features.mcp.oauth.logins import Logins
from toolcrib_features.mcp.settings import STARTUP_TIMEOUT_S

CheckState = State | Literal["configured"]
"""`configured`: nobody has tried it."""


@frozen(kw_only=True)
class Check:
    """How a server was found.

    Attributes:
        error: why it could not be used.
        title: the name and version that it gives itself.
        protocol: the version of the protocol that was agreed on.
        noise: lines on its standard output that were no messages.
        known: its tools, and those that were accepted.
    """

    config: ServerConfig
    state: CheckState
    error: str | None = None
    title: str = ""
    protocol: str = ""
    noise: int = 0
    known: Remembered = field(factory=Remembered)

    @property
    def tools(self) -> list[ToolDefinition]:
        """Those that sessions have, unless they are among the changed ones."""
        return [tool for tool in self.known.listed or () if chosen(self.config, tool.name)]

    @property
    def left_out(self) -> list[str]:
        """The tools that its configuration leaves out."""
        listed = self.known.listed or ()
        return [tool.name for tool in listed if not chosen(self.config, tool.name)]

    @property
    def changed(self) -> list[str]:
        """The tools that are disabled until the user accepts what they have become."""
        return sorted(self.known.changed) if self.config.pinned else []


async def check_all(
    session: Session, configs: Iterable[ServerConfig], done: Callable[[Check], None]
) -> list[Check]:
    """Check servers at the same time; `done` is given each as it is found."""

    async def one(config: ServerConfig) -> Check:
        found = await check(session, config)
        done(found)
        return found

    return await asyncio.gather(*map(one, configs))


async def check(session: Session, config: ServerConfig) -> Check:
    """Connect to a server as a session would, and remember which tools it has."""
    memory = ServerMemory(session.state_folder, config)
    if not config.enabled:
        return Check(config=config, state="disabled")
    problem = config.problem
    if problem is None and find_spec("mcp") is None:
        problem = "a package is missing: install toolcrib[mcp]"
    if problem is not None:
        return Check(config=config, state="failed", error=problem)
    try:
        return await _connected(session, config, memory)
    except ServerNeedsLogin as error:
        return Check(config=config, state="needs-auth", error=str(error))
    except (ServerError, StateError) as error:
        return Check(config=config, state="failed", error=str(error))


async def _connected(session: Session, config: ServerConfig, memory: ServerMemory) -> Check:
    from toolcrib_features.mcp.client_side import ClientSide
    from toolcrib_features.mcp.connection import connect

    logins = Logins(session.state_folder)
    try:
        connection = await connect(
            config,
            ClientSide(session, config.name, roots=config.roots),
            environ=session.environment,
            cwd=session.workspace.root,
            auth=logins.auth_for(config),
        )
        try:
            limit_s = config.startup_timeout_s or STARTUP_TIMEOUT_S
            try:
                async with asyncio.timeout(limit_s):
                    listing = await connection.list_tools()
                    listing = evolve(listing, offers=await connection.offers())
            except TimeoutError:
                text = f"it did not list its tools within {limit_s:g} s{connection.hints()}"
                raise ServerError(text) from None
            return Check(
                config=config,
                state="connected",
                title=f"{connection.server_name} {connection.server_version}".strip(),
                protocol=connection.protocol_version,
                noise=connection.noise,
                known=memory.record(listing),
            )
        finally:
            await connection.aclose()
    finally:
        await logins.aclose()
