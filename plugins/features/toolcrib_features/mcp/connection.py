"""A connection to one server, which a task of its own opens, keeps and closes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

from toolcrib import Launch
from toolcrib_features.mcp.choice import chosen
from toolcrib_features.mcp.faults import as_server_error
from toolcrib_features.mcp.listing import make_listing, read_pages, schema_problems, without
from toolcrib_features.mcp.model import (
    Listing,
    RequestRefused,
    RequestTimedOut,
    ServerConfig,
    ServerError,
    ServerUnreachable,
)
from toolcrib_features.mcp.patience import Patience
from toolcrib_features.mcp.plain import line, plain
from toolcrib_features.mcp.rounds import ask_in_rounds
from toolcrib_features.mcp.session import Answer, Session
from toolcrib_features.mcp.settings import STARTUP_TIMEOUT_S
from toolcrib_features.mcp.stdio import MakeLaunch, StdioServer

if TYPE_CHECKING:
    import httpx2

    from toolcrib_features.mcp.client_side import ClientSide
    from toolcrib_features.mcp.remote import RemoteServer

PROBE_SECONDS = 3.0
"""How long a server may take to refuse the question of the present protocol."""
LEAVE_SECONDS = 2.0
"""How long saying goodbye may take."""
REQUEST_SECONDS = 60.0
"""The limit of requests that are no calls of tools."""
OFFERS_SECONDS = 2.0
"""How long a server may take to show whether it has any resources or prompts."""
MAX_INSTRUCTIONS = 10_000
_AGAIN_SECONDS = 5.0
_OFFERS = {
    "prompts": (("prompts/list", "prompts"),),
    "resources": (
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ),
}

OnProgress = Callable[[float, float | None, str | None], None]
"""Is given how far a call is, out of how much, and what it says."""
_owners: set[asyncio.Task[None]] = set()


async def connect(
    config: ServerConfig,
    side: ClientSide | None = None,
    *,
    environ: Mapping[str, str],
    cwd: str,
    auth: httpx2.Auth | None = None,
    launch: MakeLaunch = Launch,
    probe_s: float = PROBE_SECONDS,
    wanted: Callable[[str], bool] = lambda tool: True,
) -> Connection:
    """Connect to a server, within its limit for starting.

    Args:
        config: which server.
        side: answers what the server asks of us.
        environ: the environment of a server that is started here, without its own settings.
        cwd: the folder that one is started in, unless its settings say otherwise.
        auth: the login to a server that is reached over the network.
        launch: how a program is started.
        probe_s: how long the server may take to refuse the question of the present protocol.
        wanted: tells which tools, by the server's names, are worth a look at their schemas.

    Raises:
        ServerUnreachable: it cannot be reached now.
        ServerNeedsLogin: it wants the user to log in.
        ServerError: something else is wrong.
    """

    def server() -> StdioServer | RemoteServer:
        if config.transport == "stdio":
            return StdioServer(config, environ, cwd, launch)
        from toolcrib_features.mcp.remote import RemoteServer

        return RemoteServer(config, auth, environ)

    limit = config.startup_timeout_s or STARTUP_TIMEOUT_S
    probe_s = min(probe_s, limit / 3)
    connection = Connection(config, server(), side, probe_s, wanted)
    try:
        async with asyncio.timeout(limit):
            try:
                await connection._opened_or_failed()
            except ServerUnreachable:
                if config.transport != "stdio" or not connection.ended_at_probe:
                    raise
                # There are servers that end at a question which they do not know.
                connection = Connection(config, server(), side, None, wanted)
                await connection._opened_or_failed()
    except TimeoutError:
        hints = connection.hints()
        await connection.aclose()
        raise ServerUnreachable(f"it did not answer within {limit:g} s{hints}") from None
    except BaseException:
        await connection.aclose()
        raise
    return connection


class Connection:
    """A server that can be asked; any task may do so.

    Attributes:
        closed: set when there is no connection any more and nothing is left of the server.
        why_closed: what ended it; empty as long as it is open.
        on_tools_changed: is called each time that the server says that its tools are others.
    """

    def __init__(
        self,
        config: ServerConfig,
        server: StdioServer | RemoteServer,
        side: ClientSide | None,
        probe_s: float | None,
        wanted: Callable[[str], bool],
    ) -> None:
        self._config = config
        self._wanted = wanted
        self._server = server
        self._side = side
        self._probe_s = probe_s
        self._session: Session | None = None
        self._opened = asyncio.Event()
        self._over = asyncio.Event()
        self._scope = anyio.CancelScope()
        self._failure: ServerError | None = None
        self._requests: set[asyncio.Task[Answer]] = set()
        self.closed = asyncio.Event()
        self.why_closed = ""
        self.on_tools_changed: Callable[[], None] | None = None
        owner = asyncio.create_task(self._own())
        _owners.add(owner)
        owner.add_done_callback(self._ended)

    @property
    def side(self) -> ClientSide | None:
        """What answers the server's own requests."""
        return self._side

    @property
    def server_name(self) -> str:
        info = self._session.server_info if self._session else None
        return line(info.name, 200) if info else ""

    @property
    def server_version(self) -> str:
        info = self._session.server_info if self._session else None
        return line(info.version, 100) if info else ""

    @property
    def protocol_version(self) -> str:
        return (self._session.protocol_version if self._session else None) or ""

    @property
    def instructions(self) -> str:
        return plain(self._session.instructions if self._session else "", MAX_INSTRUCTIONS)

    @property
    def noise(self) -> int:
        """How many lines of its standard output were no JSON-RPC."""
        return self._server.noise

    @property
    def pid(self) -> int | None:
        """The process id of a server that was started here."""
        return getattr(self._server, "pid", None)

    @property
    def ended_at_probe(self) -> bool:
        """Whether it was lost over the question whether the server knows the present protocol."""
        return self._session is not None and self._session.ended_at_probe

    def has(self, capability: str) -> bool:
        """Whether the server announces `tools`, `resources`, `prompts`, `logging`..."""
        offered = self._session.server_capabilities if self._session else None
        return getattr(offered, capability, None) is not None

    def hints(self) -> str:
        """What the server wrote that may explain why it does not work."""
        return self._server.hints()

    async def list_tools(self) -> Listing:
        """All its tools."""
        try:
            listing = make_listing(await self._all("tools/list", "tools"))
        except RequestRefused as error:
            if error.code == types.METHOD_NOT_FOUND and not self.has("tools"):
                return Listing(tools=())
            raise
        wanted = [tool for tool in listing.tools if self._wants(tool.name)]
        listing = without(listing, await asyncio.to_thread(schema_problems, wanted))
        if self._session is None or not self._session.is_modern:
            return listing
        problems = {}
        for tool in listing.tools:
            reason = find_invalid_x_mcp_header(tool.input_schema)
            if reason is not None:
                problems[tool.name] = f"its schema asks for a bad header: {line(reason, 200)}"
            else:
                self._session.mirror_headers(tool.name, x_mcp_header_map(tool.input_schema))
        return without(listing, problems)

    def _wants(self, tool: str) -> bool:
        """Whether it may be offered now; of many that are loaded later, few ever are."""
        return not self._config.deferred and chosen(self._config, tool) and self._wanted(tool)

    async def offers(self) -> tuple[str, ...]:
        """What it has beside tools: `prompts`, `resources`.

        Many servers announce what they have none of, so they are asked for a first page. One that
        does not answer at once is believed.
        """
        return tuple([offer for offer in _OFFERS if self.has(offer) and await self._has_any(offer)])

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        silence_s: float,
        ceiling_s: float,
        on_progress: OnProgress | None = None,
    ) -> Answer:
        """Call a tool; gives the result as the server sent it.

        Args:
            name: the tool, by the server's name.
            arguments: its input.
            silence_s: seconds without an answer, or a sign of progress, after which it failed.
            ceiling_s: seconds after which it failed in any case.
            on_progress: is told of its progress.

        Raises:
            ServerUnreachable: the connection is lost; `unsent` tells whether the call was made.
            RequestTimedOut: it took too long; the server was told to stop.
            RequestRefused: the server answered with an error of the protocol.
            ServerError: the answer makes no sense.
        """
        with self._side.serving_a_call() if self._side else contextlib.nullcontext():
            answer = await self._ask_in_rounds(
                "tools/call",
                {"name": name, "arguments": dict(arguments)},
                silence_s=silence_s,
                ceiling_s=ceiling_s,
                on_progress=on_progress,
            )
        if not isinstance(answer.get("content", []), list) or not (
            {"content", "structuredContent", "isError"} & answer.keys()
        ):
            raise ServerError("its answer to the call has the wrong shape: it has no content")
        return answer

    async def list_resources(self) -> list[Any]:
        return await self._all("resources/list", "resources")

    async def list_resource_templates(self) -> list[Any]:
        return await self._all("resources/templates/list", "resourceTemplates")

    async def read_resource(self, uri: str) -> Answer:
        return await self._ask_in_rounds("resources/read", {"uri": uri})

    async def list_prompts(self) -> list[Any]:
        return await self._all("prompts/list", "prompts")

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> Answer:
        params = {"name": name, "arguments": dict(arguments)}
        return await self._ask_in_rounds("prompts/get", params)

    async def ping(self, timeout_s: float) -> None:
        """Raises ServerError when the server gives no sign of life in time."""
        modern = self._session is not None and self._session.is_modern
        method = "server/discover" if modern else "ping"
        with contextlib.suppress(RequestRefused):
            await self._ask(method, {}, silence_s=timeout_s)

    async def aclose(self) -> None:
        """Close it, and end a server that was started here with all that it started."""
        self.leave()
        await self.closed.wait()

    def leave(self) -> None:
        """Begin to close it."""
        self.why_closed = self.why_closed or "it was closed"
        self._over.set()
        self._scope.deadline = min(self._scope.deadline, anyio.current_time() + LEAVE_SECONDS)
        if not self._opened.is_set():
            self._scope.cancel()

    async def _own(self) -> None:
        try:
            with self._scope:
                async with (
                    self._server.streams() as streams,
                    self._session_over(streams) as session,
                ):
                    await session.negotiate(probe=self._probe_s is not None)
                    self._opened.set()
                    async with anyio.create_task_group() as tasks:
                        if session.is_modern and self._announces_changes():
                            tasks.start_soon(self._listen, session)
                        if isinstance(self._server, StdioServer):
                            tasks.start_soon(self._watch_exit, self._server)
                        await self._over.wait()
                        tasks.cancel_scope.cancel()
        except Exception as error:
            failure = self._translated(error)
            if isinstance(failure, ServerUnreachable) and isinstance(self._server, StdioServer):
                # By now it is known what became of the process.
                failure = ServerUnreachable(self._server.why_ended(), unsent=failure.unsent)
            self._failure = failure

    def _ended(self, owner: asyncio.Task[None]) -> None:
        """Not the task's own last words: one that is cancelled at once never says a thing."""
        _owners.discard(owner)
        self._over.set()
        if not self.why_closed:
            self.why_closed = str(self._failure or self._server.why_ended())
        self.closed.set()

    def _session_over(self, streams: Any) -> Session:
        self._session = Session(
            streams,
            self._side,
            probe_s=self._probe_s or 0,
            on_message=self._on_message,
            on_end=self._over.set,
        )
        self._server.on_lost = self._over.set
        return self._session

    async def _opened_or_failed(self) -> None:
        waiting = {asyncio.ensure_future(e.wait()) for e in (self._opened, self.closed)}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        if self.closed.is_set():
            raise self._failure or ServerUnreachable(self.why_closed)

    def _announces_changes(self) -> bool:
        assert self._session is not None
        offered = self._session.server_capabilities
        return bool(offered and offered.tools and offered.tools.list_changed)

    def _on_message(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._tools_changed()

    def _tools_changed(self) -> None:
        if self.on_tools_changed is not None:
            self.on_tools_changed()

    async def _listen(self, session: Session) -> None:
        """Have the server of the present protocol tell when its tools change."""
        while True:
            with contextlib.suppress(SubscriptionLost):
                try:
                    async with listen(session, tools_list_changed=True) as changes:
                        # `_on_message` is given what comes; here only the end matters.
                        async for _ in changes:
                            pass
                except MCPError:
                    return  # it does not offer this after all
            await anyio.sleep(_AGAIN_SECONDS)
            self._tools_changed()  # nobody knows what was missed

    async def _watch_exit(self, server: StdioServer) -> None:
        """Notice the end of a server whose output is held open by something that it started."""
        await server.exited()
        with contextlib.suppress(ServerError):
            await self.ping(_AGAIN_SECONDS)
            return  # it lives on in another process
        self._over.set()

    async def _all(self, method: str, key: str) -> list[Any]:
        return await read_pages(partial(self._ask, method), key)

    async def _has_any(self, offer: str) -> bool:
        for method, key in _OFFERS[offer]:
            try:
                if (await self._ask(method, {}, silence_s=OFFERS_SECONDS)).get(key):
                    return True
            except RequestTimedOut:
                return True
            except RequestRefused:
                continue
        return False

    async def _ask_in_rounds(self, method: str, params: Mapping[str, Any], **limits: Any) -> Answer:
        async def ask(params: Mapping[str, Any]) -> Answer:
            return await self._ask(method, params, **limits)

        if self._session is None:
            return await ask(params)
        try:
            return await ask_in_rounds(ask, params, self._session)
        except ServerError:
            raise
        except Exception as error:
            raise self._translated(error) from error

    async def _ask(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        silence_s: float = REQUEST_SECONDS,
        ceiling_s: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Answer:
        if self._session is None or self._over.is_set():
            await self._end_known()
            raise ServerUnreachable(self.why_closed or "the connection is closing", unsent=True)
        patience = Patience(
            silence_s, silence_s if ceiling_s is None else ceiling_s, self._waits_for_a_person
        )

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            patience.sign_of_life()
            if on_progress is not None and not request.done():
                on_progress(progress, total, None if message is None else line(message, 500))

        request = self._start(self._session.ask(method, params, on_progress=progressed))
        try:
            await patience.wait(request, "the call" if method == "tools/call" else method)
        finally:
            request.cancel()
        return await self._answer(request)

    def _waits_for_a_person(self) -> bool:
        return self._side is not None and self._side.asking

    def _start(self, ask: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        """A task of its own: when it is cancelled, it tells the server so in its own time."""
        request = asyncio.create_task(ask)
        self._requests.add(request)
        request.add_done_callback(self._forget)
        return request

    def _forget(self, request: asyncio.Task[Answer]) -> None:
        self._requests.discard(request)
        if not request.cancelled():
            request.exception()  # so that nobody complains about it

    async def _answer(self, request: asyncio.Task[Answer]) -> Answer:
        try:
            return request.result()
        except asyncio.CancelledError:
            raise ServerUnreachable("the connection was closed") from None
        except Exception as error:
            failure = self._translated(error)
        if isinstance(failure, ServerUnreachable) and self._over.is_set():
            await self._end_known()
            failure = ServerUnreachable(self.why_closed or str(failure), unsent=failure.unsent)
        raise failure

    def _translated(self, error: Exception) -> ServerError:
        is_over = self._session is not None and self._session.is_over
        return as_server_error(error, self._server, is_over=is_over)

    async def _end_known(self) -> None:
        """Wait a moment for what ended the connection."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await self.closed.wait()
