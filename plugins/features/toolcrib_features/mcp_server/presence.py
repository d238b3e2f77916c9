"""Which requests still have somebody who waits for the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from attrs import frozen
from starlette.types import ASGIApp, Receive, Scope, Send

_ENDED = "toolcrib.ended"


@frozen
class Presence:
    """Notes for each request when its response has ended: sent, or cut off with its connection."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        scope[_ENDED] = ended
        try:
            await self.app(scope, receive, send)
        finally:
            if not ended.done():
                ended.set_result(None)


def when_answered(request: Any, act: Callable[[], object]) -> None:
    """Act when the response to a request over HTTP has ended, whatever has become of it."""
    ended: asyncio.Future[None] | None = request.scope.get(_ENDED) if request is not None else None
    if ended is not None:
        ended.add_done_callback(lambda _: act())
