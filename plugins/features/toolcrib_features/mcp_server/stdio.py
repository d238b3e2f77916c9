"""The standard streams as the way to one client, kept from everything else that would use them."""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import mcp_types as mcp
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from attrs import define, field, frozen
from mcp.shared.message import SessionMessage

from toolcrib_features.mcp_server.noise import quieten

MAX_LINE = 32 * 1024 * 1024
"""Bytes of a message; a client that sends more is not served any further."""
_GRACE_S = 1.0
"""How long the last messages may take to be read."""
_log = logging.getLogger(__name__)

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@frozen
class Wire:
    """Where the client writes to and reads from."""

    input: int
    output: int


def claim_streams() -> Wire:
    """Take the standard streams for the protocol alone.

    From then on standard input is empty and what is printed goes to standard error, also for
    programs that are started: a print in a plugin would end the conversation.
    """
    wire = Wire(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if os.name == "posix":
        for descriptor in (wire.input, wire.output):
            # Whoever started us may have left them otherwise, which our threads could not bear.
            os.set_blocking(descriptor, True)
        quieten()
    else:
        os.dup2(2, 1)
    return wire


@asynccontextmanager
async def messages(wire: Wire) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """What comes from the client until its end, and what goes to it.

    Threads of their own read and write, which nobody waits for: a read that blocks cannot be
    called off, and must not keep the program from ending.
    """
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, sent = anyio.create_memory_object_stream[SessionMessage](0)
    reader = _Reader(wire.input, received, asyncio.get_running_loop())
    # A client that reads no more has gone, though it may have left its own end open.
    writer = _Writer(wire.output, on_cut=received.close)
    writing = asyncio.create_task(writer.run(sent))
    reader.start()
    try:
        yield incoming, outgoing
    finally:
        outgoing.close()
        incoming.close()
        received.close()
        await asyncio.wait({writing}, timeout=_GRACE_S)
        writing.cancel()
        sent.close()


class _Reader(threading.Thread):
    """Reads lines and hands each on before it reads more."""

    def __init__(
        self,
        descriptor: int,
        stream: MemoryObjectSendStream[SessionMessage | Exception],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(name="toolcrib serve: input", daemon=True)
        self._descriptor = descriptor
        self._stream = stream
        self._loop = loop

    def run(self) -> None:
        try:
            with open(self._descriptor, "rb", closefd=False) as lines:
                while line := lines.readline(MAX_LINE + 1):
                    if len(line) > MAX_LINE:
                        _log.error(
                            "a message is longer than %d bytes: the client is left", MAX_LINE
                        )
                        break
                    if line.strip():
                        asyncio.run_coroutine_threadsafe(self._hand_on(line), self._loop).result()
            self._loop.call_soon_threadsafe(self._stream.close)
        except (OSError, RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            _log.debug("nobody listens to the client any more", exc_info=True)

    async def _hand_on(self, line: bytes) -> None:
        message: SessionMessage | Exception
        try:
            message = SessionMessage(mcp.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError as error:
            message = error
        await self._stream.send(message)


@define(eq=False)
class _Writer:
    """Writes one message after the other; the next one waits until a slow client has read.

    `on_cut` is called in the event loop when nobody can read any more.
    """

    descriptor: int
    on_cut: Callable[[], None]
    _lines: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = field(
        factory=queue.SimpleQueue, init=False
    )

    async def run(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        loop = asyncio.get_running_loop()
        threading.Thread(
            target=self._write, args=(loop,), name="toolcrib serve: output", daemon=True
        ).start()
        async for message in messages:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            written = loop.create_future()
            self._lines.put((text.encode() + b"\n", written))
            await written

    def _write(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            data, written = self._lines.get()
            cut = False
            try:
                while data:
                    data = data[os.write(self.descriptor, data) :]
            except OSError:
                cut = True
            try:
                if cut:
                    loop.call_soon_threadsafe(self.on_cut)
                loop.call_soon_threadsafe(_settle, written)
            except RuntimeError:  # the loop has ended
                return


def _settle(written: asyncio.Future[None]) -> None:
    if not written.done():
        written.set_result(None)
