"""Says what a failure of a server means, whatever library it comes out of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from toolcrib_features.mcp.model import (
    RequestRefused,
    RequestTimedOut,
    ServerError,
    ServerUnreachable,
)
from toolcrib_features.mcp.plain import line


class Server(Protocol):
    """The end of a transport that knows more about it."""

    def why_ended(self) -> str: ...
    def failure(self, key: str) -> ServerError | None: ...


def as_server_error(error: Exception, server: Server) -> ServerError:
    """An error for people and models, of bounded length and on one line."""
    leaves = [*_leaves(error)]
    for leaf in leaves:
        if isinstance(leaf, ServerError):
            return leaf
    for leaf in leaves:
        if isinstance(leaf, MCPError):
            return _of_protocol(leaf, server)
    return _of_library(leaves[0], server)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def _of_protocol(error: MCPError, server: Server) -> ServerError:
    known = server.failure(error.message)
    if known is not None:
        return known
    if error.code == types.CONNECTION_CLOSED:
        return ServerUnreachable(server.why_ended())
    if error.code == types.REQUEST_TIMEOUT:
        return RequestTimedOut("it did not answer in time")
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
    return ServerError(f"{type(error).__name__}: {_bounded(error)}")


def _bounded(error: Any) -> str:
    return line(str(error), 300)
