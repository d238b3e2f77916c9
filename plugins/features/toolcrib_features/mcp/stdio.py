"""Talks to a server over its standard streams, and ends it with everything that it started."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from attrs import define, field
from mcp.shared.message import SessionMessage

from toolcrib import Launch, RunningProcess, TerminalText, redacted, start_on_files
from toolcrib_features.mcp.lines import (
    MALFORMED,
    MAX_LINE_BYTES,
    LineSplitter,
    TooLong,
    parse_messages,
)
from toolcrib_features.mcp.model import ServerConfig, ServerError, ServerUnreachable
from toolcrib_features.mcp.plain import line, plain

EXIT_SECONDS = 1.0
"""How long a server may take to exit by itself once its standard input is closed."""
STDERR_BYTES = 4096
"""How much of its standard error is kept, for messages."""
MAX_NOISE_LINES = 1_000
MAX_NOISE_BYTES = 1 << 20
"""How much that is no JSON-RPC may follow upon one another."""
_TOO_LONG = f"its answer has more than {MAX_LINE_BYTES >> 20} MB, which is too much: ask for less"
_SHOWN_CHARS = 1_000
_PIECE_BYTES = 1 << 16

MakeLaunch = Callable[[tuple[str, ...], str, Mapping[str, str]], Launch]
"""Tells how to start a program: with its arguments, in a folder, with an environment."""


@define(eq=False)
class StdioServer:
    """A server that was started here; `streams` is the transport that a session of the SDK takes.

    Attributes:
        noise: lines on its standard output that were no JSON-RPC.
        gave_up: why its output is not read any more.
        on_lost: is called when it takes no more requests.
    """

    config: ServerConfig
    environ: Mapping[str, str] = field(repr=False)
    cwd: str
    launch: MakeLaunch = Launch
    noise: int = 0
    gave_up: str | None = None
    on_lost: Callable[[], None] = lambda: None
    _process: RunningProcess | None = None
    _said: bytearray = field(factory=bytearray, repr=False)
    _noise_in_a_row: int = 0
    _noise_bytes: int = 0
    _sample: str = ""

    @asynccontextmanager
    async def streams(
        self,
    ) -> AsyncIterator[tuple[MemoryObjectReceiveStream[SessionMessage | Exception], StdinStream]]:
        """Start it; leaving ends it: its input is closed, then come SIGTERM and SIGKILL.

        Raises:
            ServerError: it cannot be started.
        """
        with _Pipes() as pipes:
            self._process = self._start(pipes)
            messages: tuple[
                MemoryObjectSendStream[SessionMessage | Exception],
                MemoryObjectReceiveStream[SessionMessage | Exception],
            ] = anyio.create_memory_object_stream(16)
            send, receive = messages
            stdin = StdinStream(pipes.stdin, lambda: self.on_lost())
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._keep_last_words, pipes.stderr)
                    tasks.start_soon(self._read_messages, pipes.stdout, send)
                    try:
                        yield receive, stdin
                    finally:
                        with anyio.CancelScope(shield=True):
                            receive.close()  # from here on its output is only taken away
                            await stdin.aclose()
                            await self._end("input" if stdin.broken else "output")
                        tasks.cancel_scope.cancel()
            finally:
                with suppress(BlockingIOError):
                    self._remember(os.read(pipes.stderr, _PIECE_BYTES))
                self._process.kill()
                send.close()
                receive.close()

    def failure(self, key: str) -> ServerError | None:
        """What an error stands for that did not come from the server itself."""
        return ServerError(key) if key == _TOO_LONG else None

    def last_words(self) -> str:
        """What it wrote to its standard error in the end; the values of its settings are hidden."""
        clean = TerminalText()
        text = self.config.without_values(clean.feed(bytes(self._said)) + clean.finish())
        said = redacted(text).strip()
        cut = "…" if len(said) > _SHOWN_CHARS else ""
        return plain(cut + said[-_SHOWN_CHARS:], _SHOWN_CHARS + 1)

    def why_ended(self) -> str:
        """What became of it, with its last words."""
        return (self.gave_up or self._exit() or "it ended the connection") + self._hint()

    def hints(self) -> str:
        """What may explain why it does not work; empty when there is nothing."""
        left = self._exit()
        return (f"; {left}" if left else "") + self._hint()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def exited(self) -> None:
        """Wait for the process itself; those that it started may go on."""
        assert self._process is not None
        await self._process.wait()

    def _start(self, pipes: _Pipes) -> RunningProcess:
        config = self.config
        cwd = os.path.join(self.cwd, os.path.expanduser(config.cwd or ""))
        environment = {**self.environ, **config.env}
        argv = (os.path.expanduser(config.command), *config.args)
        try:
            return pipes.start(self.launch(argv, cwd, environment))
        except (OSError, ValueError) as error:
            reason = _why_not_started(error, argv[0], cwd)
            raise ServerError(config.without_values(reason)) from error

    def _hint(self) -> str:
        said = self.last_words()
        hint = f"; its standard error ends with:\n{said}" if said else ""
        if not hint and self._sample:
            hint = f"; instead of JSON-RPC it wrote {self._sample!r}"
        return hint

    def _exit(self) -> str:
        code = self._process.returncode if self._process is not None else None
        if code is None:
            return ""
        if code < 0:
            return f"it was ended by {_signal_name(-code)}"
        return f"it exited with code {code}"

    async def _end(self, closed: str) -> None:
        assert self._process is not None
        with anyio.move_on_after(EXIT_SECONDS):
            await self._process.wait()
        if self._process.returncode is None and self.gave_up is None:
            self.gave_up = f"it closed its standard {closed}"
        await self._process.stop()

    async def _keep_last_words(self, stderr: int) -> None:
        while data := await _read(stderr):
            self._remember(data)

    def _remember(self, data: bytes) -> None:
        self._said += data
        del self._said[:-STDERR_BYTES]

    async def _read_messages(
        self, stdout: int, messages: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        splitter = LineSplitter()
        listening = True
        while data := await _read(stdout):
            for text in splitter.feed(data):
                if listening:
                    listening = await self._take(text, messages)
        for text in splitter.finish():
            if listening:
                listening = await self._take(text, messages)
        messages.close()

    async def _take(
        self,
        text: bytes | TooLong,
        messages: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> bool:
        """Hand on what a line says; tells whether somebody still listens."""
        found: list[types.JSONRPCMessage]
        if not isinstance(text, TooLong):
            found = parse_messages(text)
            if not found:
                return self._count_noise(text, messages)
        elif text.answers is not None:
            data = types.ErrorData(code=MALFORMED, message=_TOO_LONG)
            found = [types.JSONRPCError(jsonrpc="2.0", id=text.answers, error=data)]
        else:  # nobody knows who waits for it
            return self._give_up("it wrote a line that is too long", messages)
        self._noise_in_a_row = self._noise_bytes = 0
        for message in found:
            try:
                await messages.send(SessionMessage(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return False
        return True

    def _count_noise(
        self, text: bytes, messages: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> bool:
        self.noise += 1
        self._noise_in_a_row += 1
        self._noise_bytes += len(text)
        self._sample = self._sample or line(text[:400].decode("utf-8", "replace"), 100)
        if self._noise_in_a_row < MAX_NOISE_LINES and self._noise_bytes < MAX_NOISE_BYTES:
            return True
        count = self._noise_in_a_row
        return self._give_up(f"it wrote {count} lines in a row that are no JSON-RPC", messages)

    def _give_up(
        self, why: str, messages: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> bool:
        self.gave_up = why
        messages.close()
        return False


@define(eq=False)
class StdinStream:
    """The standard input of a server, as the stream that a session of the SDK writes to.

    A line that was begun is finished before the next one, also when its sender was cancelled.

    Attributes:
        broken: nobody reads it any more.
    """

    _file: int
    _on_broken: Callable[[], None]
    broken: bool = field(default=False, init=False)
    _lock: anyio.Lock = field(factory=anyio.Lock, init=False)
    _rest: memoryview = field(factory=lambda: memoryview(b""), init=False)
    _open: bool = field(default=True, init=False)

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message.

        Raises:
            ServerUnreachable: nothing of a request could be written.
            anyio.BrokenResourceError: the server does not take any more.
        """
        data = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        whole = json.dumps(data).encode() + b"\n"
        async with self._lock:
            try:
                await self._flush()
                self._rest = memoryview(whole)
                await self._flush()
            except OSError as error:
                begun = self._rest.obj is whole and len(self._rest) < len(whole)
                self._rest = memoryview(b"")
                self.broken = True
                self._on_broken()
                if not begun and isinstance(item.message, types.JSONRPCRequest):
                    text = "it does not take requests any more"
                    raise ServerUnreachable(text, unsent=True) from error
                raise anyio.BrokenResourceError from error

    async def _flush(self) -> None:
        while self._rest:
            if not self._open:
                raise BrokenPipeError
            try:
                self._rest = self._rest[os.write(self._file, self._rest[:_PIECE_BYTES]) :]
            except BlockingIOError:
                await anyio.wait_writable(self._file)

    async def aclose(self) -> None:
        if self._open:
            self._open = False
            anyio.notify_closing(self._file)
            os.close(self._file)

    async def __aenter__(self) -> StdinStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Pipes:
    """The pipes to a process; the attributes are the ends on this side."""

    def __init__(self) -> None:
        self._theirs_in, self.stdin = os.pipe()
        self.stdout, self._theirs_out = os.pipe()
        self.stderr, self._theirs_err = os.pipe()
        for file in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(file, False)

    def start(self, launch: Launch) -> RunningProcess:
        """Start what has the other ends; `stdin` is to be closed by who writes to it."""
        theirs = self._theirs_in, self._theirs_out, self._theirs_err
        try:
            return start_on_files(launch, stdin=theirs[0], stdout=theirs[1], stderr=theirs[2])
        except BaseException:
            os.close(self.stdin)
            raise
        finally:
            for file in theirs:
                os.close(file)

    def __enter__(self) -> _Pipes:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.stdout)
        os.close(self.stderr)


async def _read(file: int) -> bytes:
    while True:
        await anyio.wait_readable(file)
        with suppress(BlockingIOError):
            return os.read(file, _PIECE_BYTES)


def _why_not_started(error: OSError | ValueError, program: str, cwd: str) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.isdir(cwd):
        return f"its folder {cwd!r} does not exist"
    if isinstance(error, FileNotFoundError):
        return f"the program {program!r} was not found: install it, or give its absolute path"
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return f"the program {program!r} cannot be started: {reason}"


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
