"""Runs batches for the command line: signals, progress, one line for each completion."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any

from toolcrib.cli.transcript import print_entry, print_record
from toolcrib.contract.events import Event, event_to_dict
from toolcrib.contract.result import ToolResult
from toolcrib.pipeline.flight import Completion
from toolcrib.pipeline.texts import aborted
from toolcrib.session import Session

INTERRUPTED = 130
"""Exit status after SIGINT, as shells report it."""
PROGRESS_AFTER_S = 1.0
PROGRESS_EVERY_S = 5.0


def run_batches(
    session: Session, batches: Sequence[list[dict[str, Any]]], *, as_json: bool, events: bool
) -> int:
    """Run the batches one after the other and print each completion; returns the exit status."""
    return asyncio.run(_Run(session, batches, as_json).run(events))


class _Run:
    def __init__(
        self, session: Session, batches: Sequence[list[dict[str, Any]]], as_json: bool
    ) -> None:
        self._session = session
        self._batches = batches
        self._as_json = as_json
        self._interrupts = 0
        self._done = 0
        self._total = 0
        self._current = 0

    async def run(self, events: bool) -> int:
        if events:
            self._session.subscribe(_print_event)
        try:
            with self._signals():
                for number, batch in enumerate(self._batches, 1):
                    self._current, self._total, self._done = number, len(batch), 0
                    if self._interrupts:
                        self._print_unstarted(batch)
                    else:
                        await self._run_batch(batch)
        finally:
            await self._session.aclose()
        return INTERRUPTED if self._interrupts else 0

    async def _run_batch(self, batch: list[dict[str, Any]]) -> None:
        arguments = {call["id"]: call["arguments"] for call in batch}
        progress = asyncio.create_task(self._tell_progress())
        try:
            async for done in self._session.execute(batch, turn_id=str(self._current)):
                self._done += 1
                self._print(done, arguments.get(done.id))
        finally:
            progress.cancel()

    def _print(self, done: Completion, arguments: Any) -> None:
        if self._as_json:
            print_record(done)
        else:
            print_entry(done, arguments)

    def _print_unstarted(self, batch: list[dict[str, Any]]) -> None:
        """Calls of batches that an interrupt kept from starting have a result too."""
        for call in batch:
            result = ToolResult(aborted(by_user=True, started=False), is_error=True)
            self._print(Completion(call["id"], call["name"], "aborted", result), call["arguments"])

    async def _tell_progress(self) -> None:
        started = monotonic()
        terminal = sys.stderr.isatty()
        await asyncio.sleep(PROGRESS_AFTER_S)
        try:
            while True:
                text = (
                    f"batch {self._current} of {len(self._batches)}: {self._done} of "
                    f"{self._total} calls done after {monotonic() - started:.0f} s"
                )
                sys.stderr.write(f"\r\x1b[K{text}" if terminal else f"toolcrib: {text}\n")
                sys.stderr.flush()
                await asyncio.sleep(PROGRESS_AFTER_S if terminal else PROGRESS_EVERY_S)
        finally:
            if terminal:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """The first interrupt cancels the calls that run, the second ends the program."""
        loop = asyncio.get_running_loop()
        handled = []
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(number, self._interrupt, number)
                handled.append(number)
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    def _interrupt(self, number: int) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            raise KeyboardInterrupt
        sys.stderr.write("toolcrib: interrupted: stopping what runs; once more ends at once\n")
        self._session.cancel(by_user=number == signal.SIGINT)


def _print_event(event: Event) -> None:
    sys.stderr.write(json.dumps(event_to_dict(event), ensure_ascii=True, default=str) + "\n")
