"""The life of one configured server: connected, lost, connected again."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve

from toolcrib_features.mcp.model import (
    DefinitionChanged,
    Listing,
    RequestRefused,
    RequestTimedOut,
    ServerConfig,
    ServerError,
    ServerNeedsLogin,
    ServerUnreachable,
    State,
)
from toolcrib_features.mcp.settings import STARTUP_TIMEOUT_S, TOOL_TIMEOUT_S

if TYPE_CHECKING:
    from toolcrib_features.mcp.connection import Connection, OnProgress
    from toolcrib_features.mcp.session import Answer

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
MAX_TRIES = 10
"""How often a connection is tried again in the background before only calls do so."""
STABLE_SECONDS = 60.0
"""A connection that lasted so long starts the pauses from the beginning."""
QUIET_SECONDS = 0.2
"""How long after a change of its tools the server is asked for them, if no other follows."""
CHURN_SECONDS = 1.0
"""A change so soon after the tools were listed doubles that time."""
LONGEST_STORM_S = 5.0
"""How long one change after the other may put that off."""
PROBE_SECONDS = 5.0
CEILING_FACTOR = 10
LONGEST_CALL_S = 3600.0
_CLOSE_SECONDS = 10.0


class Server:
    """One server, its connection, and whoever wants to use it.

    Args:
        config: which server.
        connect: opens a connection; raises ServerError.
        listed: is given the tools each time that the server has listed them.
        changed: is called after each change of the state.
        first_pause_s: seconds before the first try in the background; they double each time.
        probe_s: seconds in which a server has to show that it is alive, when a call has failed.

    Attributes:
        error: why the last attempt failed, or the connection was lost.
        connection: the present one, if there is any.
        tries: how many attempts in a row have failed.
    """

    def __init__(
        self,
        config: ServerConfig,
        *,
        connect: Callable[[], Awaitable[Connection]],
        listed: Callable[[Listing], None],
        changed: Callable[[], None],
        first_pause_s: float = FIRST_PAUSE_S,
        probe_s: float = PROBE_SECONDS,
    ) -> None:
        self.config = config
        self.error: str | None = config.problem
        self.connection: Connection | None = None
        self.tries = 0
        self._connect = connect
        self._listed = listed
        self._changed = changed
        self._first_pause_s = first_pause_s
        self._probe_s = probe_s
        self._state: State = "failed" if config.problem is not None else "starting"
        self._closed = False
        self._attempt: asyncio.Task[Connection] | None = None
        self._retry: asyncio.Task[None] | None = None
        self._next_try: float | None = None
        self._refresh: asyncio.Task[None] | None = None
        self._last_change = 0.0
        self._quiet_s = QUIET_SECONDS
        self._listing_since: float | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[Any]] = set()

    @property
    def state(self) -> State:
        return "removed" if self._closed else self.last_state

    @property
    def last_state(self) -> State:
        """The state; of one that was closed, that in which it was."""
        return self._state if self.config.enabled else "disabled"

    @property
    def next_try_s(self) -> float | None:
        """Seconds until it is tried again in the background; None when it is not."""
        if self._next_try is None:
            return None
        return max(0.0, self._next_try - asyncio.get_running_loop().time())

    def start(self) -> None:
        """Connect in the background."""
        if self._usable and self.connection is None:
            self._join_attempt()

    async def ready(self) -> Connection:
        """The connection; waits for the attempt in flight, or makes one.

        Raises:
            ServerError: there is none.
        """
        if not self._usable:
            raise ServerError(self.error or f"it is {self.state}")
        if self.connection is not None and not self.connection.closed.is_set():
            return self.connection
        attempt = self._join_attempt()
        # Who stops waiting does not stop the attempt: others may wait for it too.
        await asyncio.wait({attempt})
        if attempt.cancelled():
            raise ServerError("it was closed")
        return attempt.result()

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        repeatable: bool,
        changed: Callable[[], bool] = lambda: False,
        on_status: Callable[[str], None] = lambda text: None,
        on_progress: OnProgress | None = None,
    ) -> Answer:
        """Call a tool, over a new connection when the present one is lost.

        Args:
            name: the tool, by the server's name.
            arguments: its input.
            repeatable: a second call does no harm when the first may have had its effect.
            changed: tells whether the server has defined the tool otherwise by now; it is asked
                when there is a connection, which has listed the tools.
            on_status: is told in words what is waited for.
            on_progress: is told of the progress of the call.

        Raises:
            DefinitionChanged: it has, and nothing was sent.
            ServerUnreachable: the connection is lost; unless it is `unsent`, the call may have had
                its effect.
            ServerError: see `Connection.call`.
        """
        silence_s = self.config.tool_timeout_s or TOOL_TIMEOUT_S

        async def once(connection: Connection) -> Answer:
            if changed():
                raise DefinitionChanged(name)
            return await connection.call(
                name,
                arguments,
                silence_s=silence_s,
                ceiling_s=max(silence_s, min(CEILING_FACTOR * silence_s, LONGEST_CALL_S)),
                on_progress=on_progress,
            )

        connection = await self._ready_for(on_status)
        tries = 0
        while True:
            try:
                answer = await once(connection)
            except ServerNeedsLogin as error:
                if not error.in_part:
                    self._lose(connection, error)
                raise
            except RequestTimedOut:
                self._spawn(self._check(connection))
                raise
            except ServerUnreachable as error:
                tries += 1
                alive = await self._is_alive(connection)
                if not alive:
                    self._lose(connection, error)
                if not (repeatable or error.unsent):
                    self.start()
                    raise _outcome_unknown(name, error) from error
                if tries > 2:
                    raise
                if not alive or tries == 2:
                    on_status("the connection is lost; connecting again")
                    connection = await self._replacement(connection, error)
                    tries = 2
            else:
                self.tries = 0
                return answer

    async def reconnect(self) -> None:
        """Connect anew; who is calling at this moment may lose the call.

        Raises:
            ServerError: it failed.
        """
        if self._attempt is None and self.connection is not None:
            self._drop(self.connection)
        await self.ready()

    async def refresh(self) -> None:
        """Have the server list its tools again.

        Raises:
            ServerError: it does not.
        """
        connection = await self.ready()
        listing = await _listing(connection)
        if connection is self.connection:
            self._listed(listing)

    @property
    def lists_again(self) -> bool:
        """Whether its tools have changed and it has yet to be asked for them."""
        return self._refresh is not None

    async def listed_again(self) -> None:
        """Wait until it has been asked, with or without success."""
        if self._refresh is not None:
            await asyncio.wait({self._refresh})

    async def aclose(self) -> None:
        """End it with everything that it started."""
        self._closed = True
        connection, self.connection = self.connection, None
        self._stop_retrying()
        if connection is not None:
            self._close(connection)
        if self._attempt is not None:
            self._closing.add(self._attempt)
            self._attempt.cancel()
        for task in self._tasks:
            task.cancel()
        ending = self._tasks | self._closing
        if ending:
            await asyncio.wait(ending, timeout=_CLOSE_SECONDS)

    @property
    def _usable(self) -> bool:
        return not self._closed and self.config.enabled and self.config.problem is None

    def _join_attempt(self) -> asyncio.Task[Connection]:
        if self._attempt is None:
            self._stop_retrying()
            self._attempt = asyncio.create_task(self._try())
            self._attempt.add_done_callback(self._attempted)
            self._become("starting", self.error)
        return self._attempt

    async def _try(self) -> Connection:
        if self._closing:  # there are servers of which only one may run
            await asyncio.wait(self._closing, timeout=_CLOSE_SECONDS)
        limit = self.config.startup_timeout_s or STARTUP_TIMEOUT_S
        end = asyncio.get_running_loop().time() + limit
        connection = await self._connect()
        told = asyncio.Event()  # what it lists may be others before the answer is here
        connection.on_tools_changed = told.set
        try:
            async with asyncio.timeout_at(end):
                listing = await _listing(connection)
        except TimeoutError:
            hints = connection.hints()
            await connection.aclose()
            raise ServerUnreachable(
                f"it did not list its tools within {limit:g} s{hints}"
            ) from None
        except BaseException:
            await connection.aclose()
            raise
        if self._closed:  # it comes too late
            await connection.aclose()
            raise ServerError("it was closed")
        self.connection = connection
        connection.on_tools_changed = lambda: self._tools_changed(connection)
        self._listed(listing)
        if told.is_set():
            self._tools_changed(connection)
        self._become("connected", None)
        self._spawn(self._watch(connection))
        return connection

    def _attempted(self, attempt: asyncio.Task[Connection]) -> None:
        self._attempt = None
        if attempt.cancelled() or self._closed:
            return
        error = attempt.exception()
        if error is None:
            return
        self.tries += 1
        if isinstance(error, ServerNeedsLogin):
            self._become("needs-auth", str(error))
            return
        self._become("failed", str(error) or type(error).__name__)
        if isinstance(error, ServerUnreachable | RequestTimedOut):
            self._try_later()

    async def _watch(self, connection: Connection) -> None:
        """Wait for the end of a connection that was not asked for."""
        since = asyncio.get_running_loop().time()
        await connection.closed.wait()
        lasted = asyncio.get_running_loop().time() - since >= STABLE_SECONDS
        self.tries = 0 if lasted else self.tries + 1
        self._lose(connection, ServerUnreachable(connection.why_closed))

    def _lose(self, connection: Connection, error: ServerError) -> None:
        if connection is not self.connection or self._closed:
            return
        self._drop(connection)
        if isinstance(error, ServerNeedsLogin):
            self._become("needs-auth", str(error))
            return
        self._become("failed", str(error))
        self._try_later()

    def _drop(self, connection: Connection) -> None:
        if connection is self.connection:
            self.connection = None
        self._close(connection)

    def _close(self, connection: Connection) -> None:
        closing = asyncio.create_task(connection.aclose())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _try_later(self) -> None:
        if self.tries >= MAX_TRIES or self._retry is not None or self._attempt is not None:
            return
        pause = min(self._first_pause_s * 2 ** max(0, self.tries - 1), LONGEST_PAUSE_S)
        pause *= random.uniform(0.8, 1.2)  # servers that failed together do not come back together
        self._next_try = asyncio.get_running_loop().time() + pause
        self._retry = self._spawn(self._try_after(pause))

    async def _try_after(self, pause_s: float) -> None:
        await asyncio.sleep(pause_s)
        self._retry = self._next_try = None
        self._join_attempt()

    def _stop_retrying(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        self._retry = self._next_try = None

    async def _ready_for(self, on_status: Callable[[str], None]) -> Connection:
        if self.connection is None:
            on_status("connecting")
        try:
            return await self.ready()
        except (ServerUnreachable, RequestTimedOut, RequestRefused) as error:
            raise ServerUnreachable(str(error), unsent=True) from error

    async def _is_alive(self, connection: Connection) -> bool:
        if connection.closed.is_set() or connection is not self.connection:
            return False
        try:
            await connection.ping(self._probe_s)
        except ServerError:
            return False
        return True

    async def _check(self, connection: Connection) -> None:
        """After a call without an answer: whether the server is there at all."""
        if connection is self.connection and not await self._is_alive(connection):
            self._lose(connection, ServerUnreachable("it does not answer any more"))

    async def _replacement(self, lost: Connection, why: ServerUnreachable) -> Connection:
        """A connection in place of a lost one, which others may have made already."""
        self._lose(lost, why)
        try:
            return await self.ready()
        except ServerError as error:
            text = f"{why}; connecting again failed: {error}"
            if why.unsent:
                raise ServerUnreachable(text, unsent=True) from error
            raise type(error)(text) if _is_plain(error) else ServerError(text) from error

    def _tools_changed(self, connection: Connection) -> None:
        if connection is not self.connection:
            return
        now = asyncio.get_running_loop().time()
        if self._listing_since is not None:  # the first change since then
            churns = now - self._listing_since < CHURN_SECONDS
            self._quiet_s = min(2 * self._quiet_s, LONGEST_STORM_S) if churns else QUIET_SECONDS
            self._listing_since = None
        self._last_change = now
        if self._refresh is None:
            self._refresh = self._spawn(self._list_when_quiet(connection))
            self._refresh.add_done_callback(self._refreshed)

    async def _list_when_quiet(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        seen = None
        while seen != self._last_change and connection is self.connection:
            latest = loop.time() + LONGEST_STORM_S
            while (now := loop.time()) < min(self._last_change + self._quiet_s, latest):
                await asyncio.sleep(min(self._last_change + self._quiet_s, latest) - now)
            seen, self._listing_since = self._last_change, loop.time()
            with contextlib.suppress(ServerError):  # it keeps those that it had
                await self.refresh()

    def _refreshed(self, task: asyncio.Task[None]) -> None:
        self._refresh = None

    def _become(self, state: State, error: str | None) -> None:
        if (state, error) != (self._state, self.error) and not self._closed:
            self._state, self.error = state, error
            self._changed()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _listing(connection: Connection) -> Listing:
    listing = await connection.list_tools()
    return evolve(listing, offers=await connection.offers())


def _outcome_unknown(name: str, error: ServerError) -> ServerUnreachable:
    return ServerUnreachable(
        f"the connection was lost while {name!r} was called: {error}. The outcome is unknown: the "
        "call may have had its effect. Check that before you call it again."
    )


def _is_plain(error: ServerError) -> bool:
    return type(error) in (ServerUnreachable, ServerNeedsLogin, ServerError)
