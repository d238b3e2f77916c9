"""How long a server is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from attrs import define, field

from toolcrib_features.mcp.model import RequestTimedOut


@define
class Patience:
    """Waits for one request: so long without a sign of life, and so long in any case.

    Attributes:
        silence_s: seconds without a sign of life.
        ceiling_s: seconds in all.
        excused: whether the server may be silent now, since it waits for somebody itself.
    """

    silence_s: float
    ceiling_s: float
    excused: Callable[[], bool]
    _began: float = field(factory=lambda: asyncio.get_running_loop().time(), init=False)
    _heard: float = field(factory=lambda: asyncio.get_running_loop().time(), init=False)

    def sign_of_life(self) -> None:
        self._heard = asyncio.get_running_loop().time()

    async def wait(self, request: asyncio.Task[object], what: str) -> None:
        """Wait for its end; raises RequestTimedOut when it takes too long."""
        loop = asyncio.get_running_loop()
        while not request.done():
            if self.excused():
                self.sign_of_life()
            until_silence = self._heard + self.silence_s - loop.time()
            until_ceiling = self._began + self.ceiling_s - loop.time()
            if min(until_silence, until_ceiling) <= 0:
                limit = self.silence_s if until_silence <= 0 else self.ceiling_s
                raise RequestTimedOut(
                    f"it did not answer {what} within {limit:g} s and was told to stop"
                )
            await asyncio.wait({request}, timeout=min(until_silence, until_ceiling))
