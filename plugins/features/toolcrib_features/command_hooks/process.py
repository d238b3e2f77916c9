"""Runs one command in a process group of its own, with limits on its time and output."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress

from attrs import frozen

MAX_OUTPUT_BYTES = 64 * 1024
"""Of each stream; a command that writes more to standard output is ended."""
GRACE_S = 0.1
"""How long the group has after SIGTERM, and how long the end of its output is waited for."""
_POLL_S = 0.005


@frozen(kw_only=True)
class Ran:
    """What a command did; with a `failure` it did not come to an end of its own.

    `returncode` is negative for a signal. Bytes that are no UTF-8 are replaced in the texts.
    """

    returncode: int | None = None
    stdout: str = ""
    stderr: str = ""
    failure: str | None = None


async def run_command(
    command: str, given: bytes, *, cwd: str, environment: Mapping[str, str], limit_s: float
) -> Ran:
    """Run a shell command with something on standard input, and leave nothing of it behind.

    When the wait is cancelled, so is the command.
    """
    loop = asyncio.get_running_loop()
    output = _Output()
    starting = asyncio.ensure_future(
        loop.subprocess_shell(
            lambda: output, command, cwd=cwd, env=dict(environment), start_new_session=True
        )
    )
    try:
        transport, _ = await asyncio.shield(starting)
    except asyncio.CancelledError:  # asyncio would end the shell, and not what it has started
        with suppress(OSError, ValueError):
            transport, _ = await starting
            await _end(transport, output)
        raise
    except (OSError, ValueError) as error:
        return Ran(failure=f"could not be started ({getattr(error, 'strerror', None) or error})")
    failure = None
    try:
        _feed(transport, given)
        async with asyncio.timeout(limit_s):
            await output.decided.wait()
    except TimeoutError:
        failure = f"timed out after {limit_s:g} s"
    finally:
        await _end(transport, output)
    if output.flooded and failure is None:
        failure = f"wrote more than {MAX_OUTPUT_BYTES} bytes to standard output"
    return Ran(
        returncode=transport.get_returncode(),
        stdout=output.text(1),
        stderr=output.text(2),
        failure=failure,
    )


class _Output(asyncio.SubprocessProtocol):
    """Keeps the beginning of each stream, and knows when there is no more to wait for."""

    def __init__(self) -> None:
        self._kept = {1: bytearray(), 2: bytearray()}
        self._open = {1, 2}
        self.flooded = False
        self.decided = asyncio.Event()
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def text(self, stream: int) -> str:
        return self._kept[stream].decode("utf-8", "replace")

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = self._kept[fd]
        room = MAX_OUTPUT_BYTES - len(kept)
        kept += data[:room]
        if fd == 1 and len(data) > room:
            self.flooded = True
            self.decided.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self.closed.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.decided.set()


def _feed(transport: asyncio.SubprocessTransport, given: bytes) -> None:
    """Write all of the input; what a command does not read is dropped when it ends."""
    pipe = transport.get_pipe_transport(0)
    assert isinstance(pipe, asyncio.WriteTransport)
    pipe.write(given)
    pipe.close()


async def _end(transport: asyncio.SubprocessTransport, output: _Output) -> None:
    """End whatever is left of the group, and take the output that is left."""
    group = transport.get_pid()
    try:
        if _signal(group, signal.SIGTERM):
            async with asyncio.timeout(GRACE_S):
                while _signal(group, 0):
                    await asyncio.sleep(_POLL_S)
    except TimeoutError:
        pass
    finally:
        _signal(group, signal.SIGKILL)
        try:
            async with asyncio.timeout(GRACE_S):
                await output.exited.wait()
                await output.closed.wait()
        except TimeoutError:  # a descendant in another group holds the pipe, or it cannot be killed
            pass
        finally:
            transport.close()


def _signal(group: int, number: int) -> bool:
    """Send a signal to the group; whether there is one."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # one of it runs as another user
        return True
    return True
