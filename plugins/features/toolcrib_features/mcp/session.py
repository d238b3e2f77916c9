"""The session of the SDK, which takes servers as they are: their versions and their answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.client._probe import negotiate_auto
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from toolcrib import __version__

if TYPE_CHECKING:
    from toolcrib_features.mcp.client_side import ClientSide

Answer = dict[str, Any]
"""The result object of a response as the server sent it."""

# Without a handler of the host's, what the SDK logs would be printed to standard error.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


class Session(ClientSession):
    """One conversation with a server.

    Args:
        streams: what the transport gave.
        side: answers what the server asks of us; without it nothing may be asked.
        probe_s: how long the server may take to tell that it does not know the question with which
            servers of the present protocol are recognised.
        on_message: is given the notifications.
        on_end: is called when nothing more can come from the server.

    Attributes:
        ended_at_probe: the connection was lost over that question.
    """

    def __init__(
        self,
        streams: Any,
        side: ClientSide | None,
        *,
        probe_s: float,
        on_message: Callable[[object], None],
        on_end: Callable[[], None],
    ) -> None:
        async def handle(message: object) -> None:
            on_message(message)

        self._wire = _Dispatcher(*streams, on_end=on_end)
        super().__init__(
            dispatcher=self._wire,
            elicitation_callback=side.elicitation_callback if side else None,
            list_roots_callback=side.list_roots_callback if side else None,
            logging_callback=side.logging_callback if side else None,
            log_level="info" if side else None,
            message_handler=handle,
            client_info=types.Implementation(name="toolcrib", version=__version__),
        )
        self._probe_s = probe_s
        self.ended_at_probe = False

    @property
    def is_modern(self) -> bool:
        return self.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come from the server."""
        return self._wire.is_over

    async def negotiate(self, *, probe: bool) -> None:
        """Agree on a version: the present one if the server knows it, else by a handshake."""
        if probe:
            await negotiate_auto(self)
        else:
            await self.initialize()

    async def send_discover(self, version: str) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._probe_s):
                return await super().send_discover(version)
        except MCPError as error:
            self.ended_at_probe = error.code == types.CONNECTION_CLOSED
            raise
        except TimeoutError:
            raise MCPError(types.REQUEST_TIMEOUT, "no answer") from None

    async def initialize(self) -> types.InitializeResult:
        try:
            return await super().initialize()
        except MCPError as error:
            version = _offered_version(error)
            if version is None:
                raise
        params = types.InitializeRequestParams(
            protocol_version=version,
            capabilities=self._build_capabilities(version),
            client_info=self._client_info,
        )
        result = await self.send_request(
            types.InitializeRequest(params=params), types.InitializeResult
        )
        self.adopt(result)
        await self.send_notification(types.InitializedNotification())
        return result

    async def ask(
        self, method: str, params: Mapping[str, Any], *, on_progress: ProgressFnT | None = None
    ) -> Answer:
        """Send a request, and give the answer as it is.

        The session's own requests refuse an answer as a whole for one field of it.

        Raises:
            MCPError: an error of the server, or there is no connection any more.
            ServerUnreachable: it could not be sent.
        """
        data: dict[str, Any] = {"method": method, "params": dict(params)}
        options: CallOptions = {}
        self._stamp(data, options)
        if on_progress is not None:
            options["on_progress"] = on_progress
        return await self._dispatcher.send_raw_request(method, data["params"], options)

    async def fulfil(
        self, key: str, request: types.InputRequest
    ) -> types.InputResponse | types.ErrorData:
        """Answer what a server wants to know before it goes on with a request."""
        meta = request.params.meta if request.params else None
        context = ClientRequestContext(session=self, request_id=key, meta=meta)
        return await self.dispatch_input_request(context, request)

    def mirror_headers(self, tool: str, headers: dict[tuple[str, ...], str]) -> None:
        """Send these arguments of a tool as HTTP headers too, as its schema asks for."""
        self._x_mcp_header_maps[tool] = headers


class _Dispatcher(JSONRPCDispatcher[TransportContext]):
    def __init__(self, *streams: Any, on_end: Callable[[], None]) -> None:
        super().__init__(*streams)
        self._on_end = on_end

    @property
    def is_over(self) -> bool:
        return self._closed

    async def run(self, *args: Any, **options: Any) -> None:
        try:
            await super().run(*args, **options)
        finally:
            self._on_end()


def _offered_version(error: MCPError) -> str | None:
    """The newest version of those that a server names when it refuses ours."""
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    named = supported if isinstance(supported, list) else []
    known = [version for version in HANDSHAKE_PROTOCOL_VERSIONS if version in named]
    return known[-1] if known else None
