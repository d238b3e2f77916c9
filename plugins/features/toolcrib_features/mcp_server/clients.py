"""The clients of a server and their sessions, which share the loaded plugins."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
from time import monotonic
from typing import Any

import mcp_types as mcp
from attrs import frozen
from mcp.server.connection import Connection
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib import Crib, Session, ToolcribError, open_session
from toolcrib_features.mcp_server.client import PATIENCE_S, Client, Context, interact

SESSION_META = "toolcrib/session"
"""What a client of the stateless protocol names its conversation by, in `_meta` of a request."""
_KEY = "toolcrib"
_SWEEP_S = 10.0
_log = logging.getLogger(__name__)


@frozen(kw_only=True)
class SessionOptions:
    """What each client's session is opened with; as `toolcrib.open_session` has it."""

    workspace: str = "."
    profile: str | None = None
    mode: Any = None
    runtime: str | None = None
    autoload: bool = True

    def open(self, crib: Crib | None = None) -> Session:
        """Open a session; without `crib` it loads the plugins, and others may share its own."""
        return open_session(
            self.workspace,
            profile=self.profile,
            mode=self.mode,
            runtime=self.runtime,
            autoload=self.autoload,
            # Nobody would know of tasks that go on after the clients have gone.
            overrides={"task": {"keep_alive_on_exit": False}},
            interact=interact,
            crib=crib,
        )


class Clients:
    """Finds the client of a request.

    Each connection of the handshake protocol is a client. Requests of the stateless protocol that
    name the same program, and the same conversation if they name one, come from the same client;
    with `only_one` (standard streams) all requests do.

    Args:
        keeper: an open session, which holds the plugins that all share; it is that of the client
            where there is only one, and belongs to nobody else.
        options: how the sessions of clients are opened.
        idle_s: seconds without a request after which a client counts as gone.
        limit: so many clients at the same time.
    """

    def __init__(
        self,
        keeper: Session,
        options: SessionOptions,
        *,
        only_one: bool,
        idle_s: float = 1800.0,
        limit: int = 64,
    ) -> None:
        self._keeper = keeper
        self._options = options
        self._only_one = only_one
        self._served = False
        self._idle_s = idle_s
        self._limit = limit
        self._named: dict[str, Client] = {}
        self._all: set[Client] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.Task[None] | None = None
        self._ended = False

    def of(self, ctx: Context) -> Client:
        """The client that sent a request; a new one gets its session here.

        Raises:
            MCPError: there are too many, or no session can be opened.
        """
        # The SDK has no public way from a request to its connection yet.
        connection: Connection = ctx.session._connection
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if self._only_one or modern:
            key = "" if self._only_one else _identity(ctx)
            client = self._named.get(key) or self._open()
            self._named[key] = client
        else:
            client = connection.state.get(_KEY) or self._open()
            if _KEY not in connection.state:
                connection.state[_KEY] = client
                connection.exit_stack.callback(self._leave, client)
        if not modern:
            client.connection = connection
        client.used_at = monotonic()
        return client

    def cancel(self) -> None:
        """Cancel the calls of all, and take no new clients: the end is near."""
        self._ended = True
        for client in self._all:
            client.cancel()

    async def answered(self, *, timeout_s: float) -> None:
        """Wait until no call runs any more."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                for client in list(self._all):
                    await client.answered()

    async def aclose(self) -> None:
        """Close the sessions of all, and what they share."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        for client in list(self._all):
            self._leave(client)
        if self._closing:
            await asyncio.wait(self._closing)
        if not self._only_one or not self._served:
            await self._keeper.aclose()

    def _open(self) -> Client:
        if self._ended:
            raise MCPError(mcp.INTERNAL_ERROR, "the server is ending")
        if len(self._all) >= self._limit and not self._make_room():
            raise MCPError(
                mcp.INTERNAL_ERROR, f"there are {self._limit} clients already; try again later"
            )
        try:
            session = self._keeper if self._only_one else self._options.open(crib=self._keeper.crib)
        except (ToolcribError, OSError) as error:
            _log.error("no session for a client: %s", error)
            raise MCPError(mcp.INTERNAL_ERROR, f"no session can be opened: {error}") from None
        client = Client(session, patience_s=min(PATIENCE_S, self._idle_s))
        self._served = True
        self._all.add(client)
        if self._sweeping is None and not self._only_one:
            self._sweeping = asyncio.create_task(self._sweep())
        return client

    def _make_room(self) -> bool:
        """Let the client of the stateless protocol go that has done nothing for the longest."""
        idle = [client for client in self._named.values() if client.idle]
        if not idle:
            return False
        self._leave(min(idle, key=lambda client: client.used_at))
        return True

    async def _sweep(self) -> None:
        """Let clients go that never say goodbye."""
        while True:
            await asyncio.sleep(min(_SWEEP_S, self._idle_s / 2))
            limit = monotonic() - self._idle_s
            for client in list(self._named.values()):
                if client.idle and client.used_at < limit:
                    self._leave(client)

    def _leave(self, client: Client) -> None:
        if client not in self._all:
            return
        self._all.discard(client)
        for key in [key for key, named in self._named.items() if named is client]:
            del self._named[key]
        task = asyncio.create_task(_close(client))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def _close(client: Client) -> None:
    try:
        await client.aclose()
    except Exception:
        _log.exception("a session did not close well")


def _identity(ctx: Context) -> str:
    """What tells clients of the stateless protocol apart."""
    info = ctx.session.client_params.client_info if ctx.session.client_params else None
    named = (ctx.meta or {}).get(SESSION_META)
    session = named if isinstance(named, str) else None
    known = [info.name, info.version, session] if info else [None, None, session]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()
