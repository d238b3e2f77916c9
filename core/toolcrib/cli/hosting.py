"""Runs what a command does with a session: its signals, its background tasks, its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from attrs import define, field

from toolcrib.cli.common import printable, tell
from toolcrib.cli.leaving import Leaving
from toolcrib.contract.task_records import STOPPED_BY_USER
from toolcrib.processes.descendants import Descendants, adopt_orphans, with_followers

if TYPE_CHECKING:
    from toolcrib.cli.progress import StatusLine
    from toolcrib.session import Session

FORCED_S = 1.0
"""How long closing may take when everything was killed already."""
_INTERRUPTED = 130
_NAMED = 5
_AT_ONCE = getattr(signal, "SIGQUIT", None)
"""What Ctrl-\\ sends, for those whose patience is over."""


@define(eq=False)
class Hosting:
    """A session for the time of one command, which leaves nothing behind but what is to stay.

    The first SIGINT, SIGTERM or SIGHUP cancels the calls and stops the background tasks, another
    SIGINT kills everything at once. So does SIGQUIT, be it the first.

    Attributes:
        before_signal: called before something is said of a signal; gives the terminal back.
        when_forced: called once before everything is killed.
    """

    session: Session
    leaving: Leaving
    line: StatusLine
    before_signal: Callable[[], None] = lambda: None
    when_forced: Callable[[], None] = lambda: None
    signal: int = field(default=0, init=False)
    _forced: bool = field(default=False, init=False)
    _main: asyncio.Task[None] | None = field(default=None, init=False)
    _adopting: bool = field(default=False, init=False)

    @property
    def status(self) -> int:
        """The exit status: 0, or 128 and the number of the signal that interrupted."""
        return 128 + self.signal if self.signal else 0

    @property
    def by_user(self) -> bool:
        """Whether a key ended it."""
        return self.signal in (signal.SIGINT, _AT_ONCE)

    def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work, see the background tasks out, close the session and end what is left."""
        self._adopting = adopt_orphans()
        try:
            asyncio.run(self._run(work))
        except asyncio.CancelledError:
            tell("ended without waiting for what runs")
        except KeyboardInterrupt:  # only threads are left, and nobody wants to wait for them
            os._exit(self.status or _INTERRUPTED)

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        self._main = asyncio.current_task()
        with self._signals():
            try:
                self.session.start()
                await work()
                await self.leaving.end()
            finally:
                await self._close()
                if self.signal:
                    self._exit_soon()

    async def _close(self) -> None:
        self.leaving.closing()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FORCED_S if self._forced else None):
                    await self.session.aclose()
            self.leaving.closed()
        finally:
            await self._end_descendants()
            self.line.clear()

    async def _end_descendants(self) -> None:
        if not self._adopting:
            return
        left = Descendants(with_followers(self.leaving.kept()))
        if self._forced:
            left.kill()
            return
        ended, survivors = await left.end()
        if ended:
            self.line.say(f"ended what was left running: {_listed(ended)}")
        if survivors:
            self.line.say(f"could not be ended: {_listed(survivors)}")

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        handled = []
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
            with contextlib.suppress(AttributeError, NotImplementedError, ValueError, RuntimeError):
                number = getattr(signal, name)
                ignored = signal.getsignal(number) == signal.SIG_IGN
                if ignored and name in ("SIGHUP", "SIGQUIT"):
                    continue  # what nohup does, and a script for what it runs with `&`
                loop.add_signal_handler(number, self._interrupt, number)
                handled.append(number)
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    def _interrupt(self, number: int) -> None:
        self.before_signal()
        again = bool(self.signal)
        if not again:
            self._begin_to_end(number)
        if number == _AT_ONCE or (again and number == signal.SIGINT):
            # Later, so that what was told to stop just now knows why it is gone.
            asyncio.get_running_loop().call_soon(self._force)

    def _begin_to_end(self, number: int) -> None:
        self.signal = number
        if number != _AT_ONCE:
            self.line.say("interrupted: stopping what runs; Ctrl-C once more ends at once")
        self.session.cancel(by_user=self.by_user)
        name = signal.Signals(number).name
        self.leaving.stop(STOPPED_BY_USER if self.by_user else f"toolcrib was ended by {name}")

    def _force(self) -> None:
        if self._forced:
            os._exit(self.status)
        self._forced = True
        self.when_forced()
        if self._adopting:
            Descendants(with_followers(self.leaving.kept())).kill()
        assert self._main is not None
        self._main.cancel()
        self._exit_soon()

    def _exit_soon(self) -> None:
        """Wait no longer than that for threads and for whatever else does not want to end."""
        asyncio.get_running_loop().call_later(2 * FORCED_S, os._exit, self.status)


def _listed(processes: Mapping[int, str]) -> str:
    shown = [f"{name} ({pid})" for pid, name in sorted(processes.items())]
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return printable(", ".join(shown[:_NAMED]) + more)
