"""News of a running call as progress notifications, few enough for any client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from toolcrib import Update

EVERY_S = 0.1
"""Between two notifications."""
MAX_CHARS = 2000
"""Of what a notification says, only the end stays."""
_STEP = 0.001

Send = Callable[[float, float | None, str | None], Awaitable[None]]
"""Sends progress, the total if it is known, and a text."""


class Progress:
    """Collects the updates of one call; what comes in between two notifications goes in one."""

    def __init__(self) -> None:
        self._news = asyncio.Event()
        self._text = ""
        self._percent: float | None = None
        self._sent = 0.0
        self._measured = False

    def note(self, update: Update) -> None:
        """Take an update."""
        if update.text:
            joined = update.text if update.replace else self._text + self._gap(update) + update.text
            self._text = joined[-MAX_CHARS:]
        if update.percent is not None:
            self._percent = update.percent
        if update.text or update.percent is not None:
            self._news.set()

    async def report(self, send: Send) -> None:
        """Send what comes, until cancelled."""
        while True:
            await self._news.wait()
            await self.flush(send)
            await asyncio.sleep(EVERY_S)

    async def flush(self, send: Send) -> None:
        """Send what has come since the last time."""
        if not self._news.is_set():
            return
        self._news.clear()
        text, self._text = self._text.strip("\n"), ""
        await send(self._advance(), 100.0 if self._measured else None, text or None)

    def _gap(self, update: Update) -> str:
        streams = update.kind in ("stdout", "stderr")
        return "" if streams or not self._text or self._text.endswith("\n") else "\n"

    def _advance(self) -> float:
        """The progress has to grow with each notification, also where nobody measures it."""
        self._measured = self._measured or self._percent is not None
        reached = self._percent or 0.0
        self._sent = max(self._sent + (_STEP if self._measured else 1.0), reached)
        return self._sent
