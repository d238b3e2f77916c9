"""Says what a failure of a server means, whatever library it comes out of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from toolcrib_features.mcp.model import (
    RequestRefused,
    ServerError,
    ServerUnreachable,
)
from toolcrib_features.mcp.plain import line


class Server(Protocol):
    """The end of a transport that knows more about it."""

    def why_ended(self) -> str: ...
    def failure(self, key: str) -> ServerError | None: ...


def as_server_error(error: Exception, server: Server, *, is_over: bool) -> ServerError:
    """An error for people and models, of bounded length.

    `is_over` tells whether the connection has ended: servers use the error code of that too.
    """
    leaves = [*_leaves(error)]
    for leaf in leaves:
        if isinstance(leaf, ServerError):
            return leaf
    for leaf in leaves:
        if isinstance(leaf, MCPError):
            return _of_protocol(leaf, server, is_over=is_over)
    return _of_library(leaves[0], server)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def _of_protocol(error: MCPError, server: Server, *, is_over: bool) -> ServerError:
    known = server.failure(error.message)
    if known is not None:
        return known
    if error.code == types.CONNECTION_CLOSED:
        if error.message.startswith("SSE stream "):  # so says the SDK of one that broke off
            return ServerUnreachable(f"it broke off its answer ({line(error.message, 200)})")
        if is_over:
            return ServerUnreachable(server.why_ended())
    text = line(error.message, 1_000) or "no reason"
    return RequestRefused(f"it answered with the error {error.code}: {text}", code=error.code)


def _of_library(error: BaseException, server: Server) -> ServerError:
    match error:
        case ValidationError():
            return ServerError(f"it gave an answer of the wrong shape ({error.title})")
        case OSError():
            return ServerUnreachable(f"{server.why_ended()}: {line(error.strerror, 200)}")
        case RuntimeError():
            # With these the SDK says what it does not like about a server.
            return ServerError(line(str(error), 500) or "it cannot be talked to")
    if type(error).__module__.startswith(("httpx2", "anyio", "httpcore2")):
        return ServerUnreachable(f"the connection was lost ({type(error).__name__})")
    return ServerError(f"{type(error).__name__}: {line(str(error), 300)}")
