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

from toolcrib.processes.orphans import owned_token
from toolcrib.processes.table import MARKER
from toolcrib.processes.tree import KILL_SECONDS, TERM_SECONDS, ProcessTree
from toolcrib.runtime import Launch

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
    """A process whose output flows to `on_output`; `stop` or `leave` has to be called in the end.

    Attributes:
        on_output: gets the raw bytes of both streams in the order in which they were written; may
            be replaced while the process runs.
        returncode: the exit code, negative for a signal; None while it runs.
        problem: why not all of its output could be read.
    """

    on_output: Callable[[bytes], None]
    _popen: subprocess.Popen[bytes]
    _pipe: int | None
    _tree: ProcessTree
    _loop: asyncio.AbstractEventLoop = field(factory=asyncio.get_running_loop, repr=False)
    _exited: asyncio.Event = field(factory=asyncio.Event, repr=False)
    _drained: asyncio.Event = field(factory=asyncio.Event, repr=False)
    _exit_watch: int | None = None
    _over: bool = False
    problem: OSError | None = field(default=None, init=False)

    @property
    def token(self) -> str:
        """What marks its descendants, whatever sessions they make: see `ProcessTree.marked`."""
        return self._tree.token

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its group and session."""
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        return self._popen.returncode

    async def wait(self) -> int | None:
        """Wait for the process itself to exit, and a moment for output of its children.

        Gives the exit code; None when `stop` has given up on it.
        """
        await self._exited.wait()
        if not self._drained.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    await self._drained.wait()
        return self.returncode

    async def stop(self, grace_s: float = TERM_SECONDS) -> Remains:
        """End the process with all its descendants, and take the output that is left.

        Those that ignore SIGTERM for `grace_s` seconds get SIGKILL, and a second to be gone. When
        it is cancelled, everything gets SIGKILL at once.
        """
        if self._over:
            return Remains({}, {})  # its process id may be somebody else's by now
        try:
            remains = Remains(*await self._tree.end(grace_s))
            await self._reaped()
            return remains
        finally:
            self.leave()
            self._exited.set()
            self._drained.set()

    def kill(self) -> None:
        """Send SIGKILL to all of it without waiting, for ways out that cannot wait."""
        if not self._over:
            self._tree.kill()

    def leave(self) -> None:
        """Let it run on by itself, whatever becomes of this process."""
        self._close()
        if self.returncode is None:  # it must not stay as a zombie, which looks alive
            threading.Thread(target=self._popen.wait, daemon=True).start()

    async def _reaped(self) -> None:
        """Wait for an ended process to be one: its first thread can be gone before the others."""
        with suppress(TimeoutError):
            async with asyncio.timeout(KILL_SECONDS):
                await self._exited.wait()

    def _watch(self, *, owned: bool) -> None:
        if owned:
            _running.add(self)
        if self._pipe is None:
            self._drained.set()
        else:
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
        assert self._pipe is not None
        for _ in range(_READS_PER_TURN):
            try:
                data = os.read(self._pipe, _READ_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                self.problem = error
                data = b""
            if not data:
                self._loop.remove_reader(self._pipe)
                self._drained.set()
                return
            self.on_output(data)

    def _close(self) -> None:
        if self._over:
            return
        self._over = True
        if self._pipe is not None:
            if not self._drained.is_set():
                self._read()
                self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
        _running.discard(self)
        self._popen.poll()
        self._stop_watching_exit()


def start_process(
    launch: Launch,
    *,
    on_output: Callable[[bytes], None],
    output_file: int | None = None,
    token: str | None = None,
) -> RunningProcess:
    """Start a process in a session of its own: without a terminal, without standard input.

    Standard output and error share one pipe, or go to the open file `output_file`; then nothing
    is given to `on_output`, and the process goes on when this one ends without stopping it. Its
    descendants are marked with `token`; without one `end_orphans` ends them when this process is
    gone, unless they write the file. To be called in a running event loop.

    Raises:
        OSError: it cannot be started.
    """
    if token is None:
        token = secrets.token_hex(8) if output_file is not None else owned_token()
    reading, writing = os.pipe() if output_file is None else (None, output_file)
    try:
        popen = _start(launch, token, subprocess.DEVNULL, writing, writing)
    except BaseException:
        if reading is not None:
            os.close(reading)
        raise
    finally:
        if reading is not None:
            os.close(writing)
    process = RunningProcess(on_output, popen, reading, ProcessTree(popen.pid, token))
    process._watch(owned=reading is not None)
    return process


def start_on_files(launch: Launch, *, stdin: int, stdout: int, stderr: int) -> RunningProcess:
    """Start a process as `start_process` does, which reads and writes open files of the caller.

    It is one that does not outlive this process. Nothing is given to `on_output`.

    Raises:
        OSError: it cannot be started.
    """
    token = owned_token()
    popen = _start(launch, token, stdin, stdout, stderr)
    process = RunningProcess(lambda data: None, popen, None, ProcessTree(popen.pid, token))
    process._watch(owned=True)
    return process


def _start(
    launch: Launch, token: str, stdin: int, stdout: int, stderr: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [text.encode("utf-8", "surrogateescape") for text in launch.argv],
        cwd=launch.cwd,
        env={**launch.environment, MARKER: token},
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def leaders() -> frozenset[int]:
    """The process ids of what was started and is still looked after."""
    return frozenset(process.pid for process in _running)


@atexit.register
def _kill_what_runs() -> None:
    """For hosts that end in the middle of a call, without cancelling it."""
    for process in tuple(_running):
        process.kill()


if hasattr(os, "register_at_fork"):
    # A fork that ends must not take along what its parent has started.
    os.register_at_fork(after_in_child=_running.clear)
