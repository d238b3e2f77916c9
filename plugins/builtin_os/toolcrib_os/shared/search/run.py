"""Runs one search in a process of its own, and leaves nothing of it running."""

from __future__ import annotations

import asyncio
import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO

from attrs import define, field, frozen

from toolcrib import Launch
from toolcrib_os.shared.text import as_arguments

_READ_BYTES = 1 << 20
_MAX_STDERR_BYTES = 1 << 16
_F_SETPIPE_SZ = 1031


@frozen
class Ending:
    """How a search process ended; `stderr` holds at most its first 64 KiB."""

    returncode: int
    stderr: str
    timed_out: bool = False


async def run_search(
    launch: Launch,
    *,
    timeout_s: float,
    feed: Callable[[bytes], None],
    stdin: IO[bytes] | None = None,
) -> Ending:
    """Run a search and hand its output to `feed`, piece by piece, in a worker thread.

    After `timeout_s` the process is killed, and what it gave until then counts. On cancellation
    it is killed at once.

    Raises:
        OSError: the process cannot be started.
    """
    search = _Search(launch, feed, subprocess.DEVNULL if stdin is None else stdin)
    working = asyncio.get_running_loop().run_in_executor(None, search.work)
    # An abandoned search may fail too, and nobody is left to ask how.
    working.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        done, _ = await asyncio.wait({working}, timeout=timeout_s)
        if not done:
            search.kill()
        ending = await asyncio.shield(working)
        return ending if done else Ending(ending.returncode, ending.stderr, timed_out=True)
    except asyncio.CancelledError:
        search.kill()
        await asyncio.wait({working}, timeout=1)
        raise


@define
class _Search:
    launch: Launch
    feed: Callable[[bytes], None]
    stdin: IO[bytes] | int
    _process: subprocess.Popen[bytes] | None = None
    _killed: bool = False
    _lock: threading.Lock = field(factory=threading.Lock)

    def work(self) -> Ending:
        """Start the process and read it to its end; for a worker thread."""
        with self._lock:
            if self._killed:
                return Ending(-signal.SIGKILL, "")
            process = self._process = subprocess.Popen(
                as_arguments(self.launch.argv),
                cwd=self.launch.cwd,
                env=dict(self.launch.environment),
                stdin=self.stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        with process:
            try:
                stderr = self._read(process)
            except BaseException:
                self.kill()
                raise
            returncode = process.wait()
        return Ending(returncode, stderr.decode("utf-8", "replace"))

    def kill(self) -> None:
        """End the process with everything that it started, now."""
        with self._lock:
            self._killed = True
            if self._process is not None and self._process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)

    def _read(self, process: subprocess.Popen[bytes]) -> bytes:
        assert process.stdout is not None and process.stderr is not None
        output, errors = process.stdout.fileno(), process.stderr.fileno()
        _widen(output)
        stderr = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            selector.register(errors, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select():
                    data = os.read(key.fd, _READ_BYTES)
                    if not data:
                        selector.unregister(key.fd)
                    elif key.fd == output:
                        self.feed(data)
                    else:
                        stderr += data[: _MAX_STDERR_BYTES - len(stderr)]
        return bytes(stderr)


def _widen(pipe: int) -> None:
    """Let the pipe hold a megabyte, so that both sides are woken less often."""
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.fcntl(pipe, _F_SETPIPE_SZ, _READ_BYTES)
