"""One client of the server: its session, its calls, and what it is told."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Coroutine, Iterator, Mapping
from itertools import count
from time import monotonic
from typing import Any

import mcp_types as mcp
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib import Session, ToolListUpdated, ToolProgress, cancelled_answer
from toolcrib_features.mcp_server.asking import Answer, Elicit, Request, answer
from toolcrib_features.mcp_server.call import Call, running_call
from toolcrib_features.mcp_server.presence import when_answered
from toolcrib_features.mcp_server.results import converted, failed
from toolcrib_features.mcp_server.tools import listing

Context = ServerRequestContext[Any, Any]

PARKED_S = 600.0
"""How long a call waits for a client to bring the answers of its user."""
MAX_CALLS = 256
"""Calls of one client that run or wait at the same time."""
PATIENCE_S = 30.0
"""How long a call goes on whose response was cut off: not every client wants it to end then."""
_LOOK_EVERY_S = 1.0
"""How often changes of the configuration are looked for."""
_DEBOUNCE_S = 0.1
_SETTLE_S = 3.0


async def interact(request: Request) -> Answer:
    """Answer a request of a session by the user of the client whose call it belongs to."""
    call = running_call()
    if call is None:
        return cancelled_answer(request, "it belongs to no call of an MCP client that still waits")
    return await answer(request, call.elicit)


class Client:
    """A client with a session of its own; calls run side by side as far as they do not conflict.

    `patience_s` is how long a call goes on whose answer can reach nobody any more.
    """

    def __init__(self, session: Session, *, patience_s: float = PATIENCE_S) -> None:
        self.session = session
        self._patience_s = patience_s
        self.used_at = monotonic()
        self.connection: Connection | None = None
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus, max_subscriptions=16)
        self._listening = 0
        self._listed = False
        self._calls: dict[str, Call] = {}
        self._parked: dict[str, Call] = {}
        self._numbers = count(1)
        self._ids: set[str | None] = set()
        self._work: set[asyncio.Task[None]] = set()
        self._announcing: asyncio.TimerHandle | None = None
        self._unsubscribe = session.subscribe(self._observe)
        session.start()
        self._spawn(self._watch_configuration())

    @property
    def idle(self) -> bool:
        """Whether nothing of it runs or waits."""
        return not self._calls and not self._listening

    async def list_tools(self, cursor: str | None) -> mcp.ListToolsResult:
        """A page of the active tools.

        The first time it waits a moment for those of servers that are being started: many clients
        list the tools once.
        """
        self._follow_configuration()
        if not self._listed:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SETTLE_S):
                    await self.session.settle_tools()
            self._listed = True
        try:
            return listing(self.session.tools(), cursor, self._said_of)
        except ValueError as error:
            raise MCPError(mcp.INVALID_PARAMS, str(error)) from None

    def _said_of(self, name: str) -> Mapping[str, Any]:
        """What a server that is trusted says of its tool, which comes from there to our client."""
        tool = self.session.main.registry.get(name)
        said = getattr(tool.tool, "annotations", {}) if tool and tool.source == "mcp" else {}
        return said if isinstance(said, Mapping) else {}

    async def listen(
        self, ctx: Context, params: mcp.SubscriptionsListenRequestParams
    ) -> mcp.SubscriptionsListenResult:
        """Tell of changes of the tools until the client hangs up."""
        self._listening += 1
        try:
            return await self._listen(ctx, params)
        finally:
            self._listening -= 1
            self.used_at = monotonic()

    async def call(
        self, ctx: Context, params: mcp.CallToolRequestParams
    ) -> mcp.CallToolResult | mcp.InputRequiredResult:
        """Run a call, or go on with one that has asked its user, until it ends or asks."""
        with self._own_id(ctx):
            if params.request_state is None and not params.input_responses:
                call = self._begin(ctx, params)
            else:
                call = self._resume(params)
            try:
                await self._follow(call, ctx)
            except asyncio.CancelledError:
                call.cancel()
                raise
            finally:
                self.used_at = monotonic()
        if questions := call.questions():
            return self._park(call, questions)
        done = call.completion()
        if done is None:
            return failed(f"{call.name} was cancelled: nobody waited for it any more.")
        news = [message.text for message in self.session.context_messages()]
        return converted(done, news)

    def cancel(self) -> None:
        """Cancel every call, and end what listens."""
        self.session.cancel()
        self._listen.close()

    async def answered(self) -> None:
        """Wait until no call runs any more."""
        for call in list(self._calls.values()):
            await call.ended()

    async def aclose(self) -> None:
        """Cancel what runs, stop its background tasks and close the session."""
        self._unsubscribe()
        self.cancel()
        if self._announcing is not None:
            self._announcing.cancel()
        for task in list(self._work):
            task.cancel()
        await self.answered()
        await self.session.aclose()

    def _begin(self, ctx: Context, params: mcp.CallToolRequestParams) -> Call:
        if len(self._calls) >= MAX_CALLS:
            raise MCPError(
                mcp.INTERNAL_ERROR,
                f"{MAX_CALLS} calls of this client run or wait for answers; nothing was run now",
            )
        arguments = params.arguments or {}
        call = Call(f"mcp_{next(self._numbers)}", params.name, arguments)
        call.elicit = _elicit(ctx, call)
        request = {"id": call.id, "name": call.name, "arguments": arguments}
        # A turn of its own, so that what ends one call ends no other.
        call.begin(self.session.execute([request], turn_id=call.id))
        self._calls[call.id] = call
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            # In the stateless protocol a call is cancelled with its request, or waits for another.
            when_answered(ctx.request, lambda: self._give_up_later(call))
        self._spawn(self._forget(call))
        return call

    @contextlib.contextmanager
    def _own_id(self, ctx: Context) -> Iterator[None]:
        """Keep the id of a request from others, where its connection has ids of its own.

        A second call with the same id would be given the answer of the first.
        """
        stateless = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS and ctx.request is not None
        own = None if stateless else str(ctx.request_id)
        if own in self._ids:
            raise MCPError(
                mcp.INVALID_REQUEST,
                f"a call that has not ended yet has the id {own!r:.80}; nothing was run now",
            )
        if own is not None:
            self._ids.add(own)
        try:
            yield
        finally:
            self._ids.discard(own)

    async def _follow(self, call: Call, ctx: Context) -> None:
        reporting = None
        if ctx.meta is not None and ctx.meta.get("progress_token") is not None:
            reporting = asyncio.create_task(call.progress.report(ctx.session.report_progress))
        try:
            await call.stir()
        finally:
            if reporting is not None:
                reporting.cancel()
        if reporting is not None:
            await call.progress.flush(ctx.session.report_progress)

    def _park(
        self, call: Call, questions: dict[str, mcp.ElicitRequestFormParams]
    ) -> mcp.InputRequiredResult:
        """Keep a call until the client sends its request again with the answers.

        What names the call cannot be guessed and counts once, so that no repeated request can
        make it run again.
        """
        state = secrets.token_urlsafe(24)
        self._parked[state] = call
        asyncio.get_running_loop().call_later(PARKED_S, self._expire, state)
        requests: mcp.InputRequests = {
            key: mcp.ElicitRequest(params=form) for key, form in questions.items()
        }
        return mcp.InputRequiredResult(input_requests=requests, request_state=state)

    def _resume(self, params: mcp.CallToolRequestParams) -> Call:
        state = params.request_state or ""
        call = self._parked.get(state)
        if call is None or (call.name, call.arguments) != (params.name, params.arguments or {}):
            raise MCPError(
                mcp.INVALID_PARAMS,
                "these answers belong to no call that waits for any: it was answered already, has "
                "waited too long, or was another one; nothing was run now",
            )
        del self._parked[state]
        call.settle(params.input_responses or {})
        return call

    def _expire(self, state: str) -> None:
        call = self._parked.pop(state, None)
        if call is not None:
            call.cancel()

    def _give_up_later(self, call: Call) -> None:
        if not call.done:
            asyncio.get_running_loop().call_later(self._patience_s, call.cancel)

    async def _forget(self, call: Call) -> None:
        await call.ended()
        self._calls.pop(call.id, None)

    def _observe(self, event: object) -> None:
        if isinstance(event, ToolProgress):
            call = self._calls.get(event.call_id)
            if call is not None:
                call.progress.note(event.update)
        elif isinstance(event, ToolListUpdated) and self._announcing is None:
            loop = asyncio.get_running_loop()
            self._announcing = loop.call_later(_DEBOUNCE_S, self._announce)

    def _announce(self) -> None:
        self._announcing = None
        self._spawn(self._tell_of_tools())

    async def _tell_of_tools(self) -> None:
        await self._bus.publish(ToolsListChanged())
        if self.connection is not None:
            await self.connection.send_tool_list_changed()

    async def _watch_configuration(self) -> None:
        """Notice changes between calls too, for clients that keep a list of the tools."""
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            self._follow_configuration()

    def _follow_configuration(self) -> None:
        self.session.execute(())  # reads changed files before it runs anything

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)


def _elicit(ctx: Context, call: Call) -> Elicit | None:
    """How the user of the client can be asked in the course of a call."""
    capabilities = ctx.session.client_capabilities
    offered = capabilities.elicitation if capabilities is not None else None
    if offered is None or (offered.form is None and offered.url is not None):
        return None
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return call.ask_in_rounds
    if not ctx.session.can_send_request:
        return None

    async def ask(form: mcp.ElicitRequestFormParams) -> mcp.ElicitResult:
        return await ctx.session.elicit_form(form.message, form.requested_schema, ctx.request_id)

    return ask
