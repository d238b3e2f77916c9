"""Runs batches for the command line: signals, progress, one line for each completion."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from time import monotonic
from typing import Any

from toolcrib.cli.common import tell
from toolcrib.cli.hosting import Hosting
from toolcrib.cli.leaving import Leaving, OnExit
from toolcrib.cli.progress import EVERY_S, StatusLine, write_error
from toolcrib.cli.transcript import print_entry, print_record
from toolcrib.contract.events import Event, event_to_dict
from toolcrib.contract.result import ToolResult
from toolcrib.pipeline.flight import Completion
from toolcrib.pipeline.texts import aborted
from toolcrib.session import Session


def run_batches(
    session: Session,
    batches: Sequence[list[dict[str, Any]]],
    *,
    as_json: bool,
    events: bool,
    on_exit: OnExit | None = None,
) -> int:
    """Run the batches one after the other and print each completion; returns the exit status.

    That is 0, or 128 and the number of the signal that interrupted: 130 after Ctrl-C. `on_exit`
    says what becomes of background tasks that still run then.
    """
    run = _Run(session, batches, as_json=as_json, events=events, on_exit=on_exit)
    run.hosting.run(run.run)
    return run.hosting.status


class _Run:
    def __init__(
        self,
        session: Session,
        batches: Sequence[list[dict[str, Any]]],
        *,
        as_json: bool,
        events: bool,
        on_exit: OnExit | None,
    ) -> None:
        self._session = session
        self._batches = batches
        self._as_json = as_json
        self._events = events
        self._batch = 0
        self._open: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self._done = 0
        self._line = StatusLine()
        self._asking = False
        self._held: list[Completion] = []
        self._ended = False
        self.hosting = Hosting(
            session,
            Leaving(session, on_exit, line=self._line, quiet=events),
            self._line,
            before_signal=self._give_terminal_back,
            when_forced=self._end_at_once,
        )

    async def run(self) -> None:
        if self._events:
            self._session.subscribe(_print_event)
        elif self._session.interactions.attended:
            self._session.subscribe(_tell_what_was_written)
        self._session.interactions.on_change(self._questions_changed)
        for number, batch in enumerate(self._batches, 1):
            self._batch, self._done = number, 0
            self._expect(batch)
            if self.hosting.signal:
                self._abort_open()
            else:
                await self._run_batch(batch)

    async def _run_batch(self, batch: list[dict[str, Any]]) -> None:
        # The events tell more than a progress line, and are read by a program.
        progress = None if self._events else asyncio.create_task(self._show_progress(len(batch)))
        try:
            async for done in self._session.execute(batch, turn_id=str(self._batch)):
                self._print(done)
        finally:
            if progress is not None:
                progress.cancel()
            self._line.clear()

    def _expect(self, batch: list[dict[str, Any]]) -> None:
        for call in batch:
            self._open[call["id"]].append(call)

    def _print(self, done: Completion) -> None:
        if self._ended:
            return
        if self._asking and sys.stdout.isatty():
            self._held.append(done)
            return
        call = self._open[done.id].pop(0)
        self._done += 1
        self._line.clear()
        if self._as_json:
            print_record(done)
        else:
            print_entry(done, call["arguments"])

    def _questions_changed(self, waiting: tuple[str, ...]) -> None:
        """Write nothing else to the terminal while a question stands there."""
        self._line.clear()
        self._asking = bool(waiting)
        if not self._asking:
            held, self._held = self._held, []
            for done in held:
                self._print(done)

    def _abort_open(self) -> None:
        """Calls that an interrupt kept from starting, or from being waited for, have a result."""
        by_user = self.hosting.by_user
        for call in [call for calls in self._open.values() for call in calls]:
            result = ToolResult(aborted(by_user=by_user, started=self._ended), is_error=True)
            self._print(Completion(call["id"], call["name"], "aborted", result))

    async def _show_progress(self, total: int) -> None:
        started = monotonic()
        while True:
            await asyncio.sleep(EVERY_S)
            if not self._asking:
                self._line.show(
                    f"batch {self._batch} of {len(self._batches)}: {self._done} of "
                    f"{total} calls done after {monotonic() - started:.0f} s"
                )

    def _give_terminal_back(self) -> None:
        self._line.clear()
        if self._asking:
            write_error("\n")
            self._questions_changed(())

    def _end_at_once(self) -> None:
        """Say what nobody waits for any more, of this batch and of those behind it."""
        for batch in self._batches[self._batch :]:
            self._expect(batch)
        with contextlib.suppress(OSError):
            self._abort_open()
        self._ended = True


def _tell_what_was_written(event: Event) -> None:
    """Where the answer of a person to an approval went, if that is a file of theirs."""
    if event.type == "permission.approval.resolved":
        for place in getattr(event, "written", ()):
            tell(f"allowed from now on: the rule stands at {place}")


def _print_event(event: Event) -> None:
    write_error(json.dumps(event_to_dict(event), ensure_ascii=True, default=str) + "\n")
