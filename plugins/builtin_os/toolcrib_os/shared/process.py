"""Runs a process in a session of its own, and leaves nothing of it behind."""

from __future__ import annotations

import asyncio
import atexit
import os
import secrets
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from attrs import define, field, frozen

from toolcrib import Launch
from toolcrib_os.shared.process_tree import MARKER, ProcessTree
from toolcrib_os.shared.text import as_arguments

DRAIN_SECONDS = 0.25
"""How long output is waited for that children of an ended process may still write."""
_READ_BYTES = 1 << 16
"""What a pipe holds by default."""
_READS_PER_TURN = 8
"""So that a flood of output leaves time for everything else in the event loop."""


_running: set[RunningProcess] = set()


@frozen
class Remains:
    """What was still there of a process when it was stopped, with names by process id.

    Attributes:
        stopped: everything that ran, the process itself included.
        survivors: those of them that nothing could end.
    """

    stopped: Mapping[int, str]
    survivors: Mapping[int, str]


@define(eq=False)
class RunningProcess:
    """A process whose output flows to `on_output`; `stop` has to be called in the end.

    Attributes:
        on_output: gets the raw bytes of both streams in the order in which they were written; may
            be replaced while the process runs.
        returncode: the exit code, negative for a signal; None while it runs.
    """

    on_output: Callable[[bytes], None]
    _popen: subprocess.Popen[bytes]
    _pipe: int
    _tree: ProcessTree
    _loop: asyncio.AbstractEventLoop = field(factory=asyncio.get_running_loop, repr=False)
    _exited: asyncio.Event = field(factory=asyncio.Event, repr=False)
    _drained: asyncio.Event = field(factory=asyncio.Event, repr=False)
    _exit_watch: int | None = None

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its group and session."""
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        return self._popen.returncode

    async def wait(self) -> int:
        """Wait for the process itself to exit, and a moment for output of its children."""
        await self._exited.wait()
        if not self._drained.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    await self._drained.wait()
        assert self.returncode is not None
        return self.returncode

    async def stop(self) -> Remains:
        """End the process with all its descendants, and take the output that is left.

        Takes up to two seconds, when a process ignores SIGTERM. When it is cancelled, everything
        gets SIGKILL at once.
        """
        if self._pipe < 0:
            return Remains({}, {})  # its process id may be somebody else's by now
        try:
            return Remains(*await self._tree.end())
        finally:
            self._close()

    def _watch(self) -> None:
        _running.add(self)
        os.set_blocking(self._pipe, False)
        self._loop.add_reader(self._pipe, self._read)
        try:
            self._exit_watch = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            threading.Thread(target=self._wait_in_thread, daemon=True).start()
        else:
            self._loop.add_reader(self._exit_watch, self._on_exit)

    def _wait_in_thread(self) -> None:
        self._popen.wait()
        with suppress(RuntimeError):  # the loop may be closed by now
            self._loop.call_soon_threadsafe(self._on_exit)

    def _on_exit(self) -> None:
        self._popen.poll()
        self._stop_watching_exit()
        self._exited.set()

    def _stop_watching_exit(self) -> None:
        if self._exit_watch is not None:
            self._loop.remove_reader(self._exit_watch)
            os.close(self._exit_watch)
            self._exit_watch = None

    def _read(self) -> None:
        for _ in range(_READS_PER_TURN):
            try:
                data = os.read(self._pipe, _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                self._loop.remove_reader(self._pipe)
                self._drained.set()
                return
            self.on_output(data)

    def _close(self) -> None:
        if self._pipe < 0:
            return
        if not self._drained.is_set():
            self._read()
            self._loop.remove_reader(self._pipe)
        os.close(self._pipe)
        self._pipe = -1
        _running.discard(self)
        self._popen.poll()
        self._stop_watching_exit()


def start(launch: Launch, *, on_output: Callable[[bytes], None]) -> RunningProcess:
    """Start a process in a session of its own: without a terminal, without standard input.

    Standard output and error share one pipe. To be called in a running event loop.

    Raises:
        OSError: it cannot be started.
    """
    token = secrets.token_hex(8)
    reading, writing = os.pipe()
    try:
        popen = subprocess.Popen(
            as_arguments(launch.argv),
            cwd=launch.cwd,
            env={**launch.environment, MARKER: token},
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            start_new_session=True,
        )
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    process = RunningProcess(on_output, popen, reading, ProcessTree(popen.pid, token))
    process._watch()
    return process


@atexit.register
def _kill_what_runs() -> None:
    """For hosts that end in the middle of a call, without cancelling it."""
    for process in tuple(_running):
        process._tree.kill()
