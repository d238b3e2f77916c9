"""Runs the server until it is done or told to end, and leaves no process behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator

from toolcrib import Descendants, adopt_orphans

CLOSING_S = 15.0
"""How long closing may take before what is left is killed."""
_THREADS_S = 2.0
"""How long threads are waited for that do not want to end."""

Serve = Callable[[asyncio.Event], Awaitable[None]]
"""Serves until it is done or the event is set, and has closed everything then."""


def say(text: str) -> None:
    """A remark for people, on standard error; what could move a cursor is made visible."""
    with contextlib.suppress(OSError, ValueError):
        for line in text.splitlines():
            plain = "".join(c if c.isprintable() else "\ufffd" for c in line)
            print(f"toolcrib: {plain}", file=sys.stderr, flush=True)  # noqa: T201


def end_at_signals() -> None:
    """Let a signal end the program at once and without a word, while nothing runs."""
    for number in _signals_that_end():
        signal.signal(number, lambda *_: os._exit(0))


def host(serve: Serve) -> None:
    """Serve; a signal ends it in order, another one at once."""
    adopting = adopt_orphans()
    asyncio.run(_host(serve, adopting))


async def _host(serve: Serve, adopting: bool) -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    with _signals(told, adopting):
        try:
            await serve(told)
        finally:
            if adopting:
                await Descendants().end()
            loop.call_later(_THREADS_S, os._exit, 0)


@contextlib.contextmanager
def _signals(told: asyncio.Event, adopting: bool) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def end_at_once() -> None:
        if adopting:
            Descendants().kill()
        os._exit(1)

    def interrupt() -> None:
        if told.is_set():
            end_at_once()
        told.set()
        loop.call_later(CLOSING_S, end_at_once)

    handled = []
    for number in _signals_that_end():
        with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
            loop.add_signal_handler(number, interrupt)
            handled.append(number)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
        end_at_signals()


def _signals_that_end() -> list[signal.Signals]:
    """Without that of a closed terminal where it is switched off, as `nohup` does."""
    found = [signal.SIGINT, signal.SIGTERM]
    hang_up = getattr(signal, "SIGHUP", None)
    if hang_up is not None and signal.getsignal(hang_up) != signal.SIG_IGN:
        found.append(hang_up)
    return found
