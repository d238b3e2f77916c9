"""Makes messages of what a server writes to its standard output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import mcp_types as types
from attrs import define, field, frozen

MAX_LINE_BYTES = 64 << 20
"""Longer lines are not kept."""
MALFORMED = types.INTERNAL_ERROR
"""The code of the error that takes the place of an answer which is none."""
_EDGE_BYTES = 256
_PATIENCE = 4
"""How many times the limit the number of a request may be waited for."""

_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_NUMBER = rb'"id"\s*:\s*(\d{1,18})\s*'
_BEGINS = re.compile(
    rb'\s*\{\s*(?:%b,\s*)?(?:%b,\s*)?(?:%b,\s*)?"(?:result|error)"' % (_VERSION, _NUMBER, _VERSION)
)
# What stands unescaped before the last brace of an object belongs to the object itself.
_ENDS = re.compile(rb",\s*(?:%b,\s*)?%b(?:,\s*%b)?\}\s*$" % (_VERSION, _NUMBER, _VERSION))


@frozen
class TooLong:
    """Stands for a line that was too long; `answers` is the request whose answer it was, if any."""

    answers: int | None = None


@define
class LineSplitter:
    """Cuts bytes into lines; each that is too long comes out as TooLong, as soon as it shows."""

    limit: int = field(factory=lambda: MAX_LINE_BYTES)
    _pieces: list[bytes] = field(factory=list, init=False)
    _held: int = field(default=0, init=False)
    _head: bytes = field(default=b"", init=False)
    _tail: bytes = field(default=b"", init=False)
    _told: bool = field(default=False, init=False)

    def feed(self, data: bytes) -> Iterator[bytes | TooLong]:
        """The lines that end in these bytes, without their ends."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            yield from self._hold(end)
            yield from self._end()
        yield from self._hold(rest)

    def finish(self) -> Iterator[bytes | TooLong]:
        """What comes after the last line, if there is something."""
        if self._held:
            yield from self._end()

    def _hold(self, piece: bytes) -> Iterator[TooLong]:
        self._held += len(piece)
        self._head += piece[: _EDGE_BYTES - len(self._head)]
        if self._held <= self.limit:
            self._pieces.append(piece)
            return
        self._pieces.clear()
        self._tail = (self._tail + piece)[-_EDGE_BYTES:]
        if self._told:
            return
        begins = _BEGINS.match(self._head)
        number = begins and begins[1]
        if begins and not number and self._held <= _PATIENCE * self.limit:
            return  # there are servers that write the number last
        self._told = True
        yield TooLong(int(number) if number else None)

    def _end(self) -> Iterator[bytes | TooLong]:
        if self._held <= self.limit:
            yield b"".join(self._pieces)
        elif not self._told:
            ends = _ENDS.search(self._tail)
            yield TooLong(int(ends[1]) if ends else None)
        self._pieces, self._held = [], 0
        self._head = self._tail = b""
        self._told = False


def parse_messages(line: bytes) -> list[types.JSONRPCMessage]:
    """The messages on a line: one as a rule, several of a batch, none when it is no JSON-RPC."""
    text = line.strip()
    if not text.startswith((b"{", b"[")):
        return []
    try:
        return [types.jsonrpc_message_adapter.validate_json(text, by_name=False)]
    except ValueError:
        pass
    try:
        found = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return []
    items = found if isinstance(found, list) else [found]
    return [message for item in items if (message := _message(item)) is not None]


def _message(item: Any) -> types.JSONRPCMessage | None:
    try:
        return types.jsonrpc_message_adapter.validate_python(item, by_name=False)
    except ValueError:
        return _malformed_answer(item)


def _malformed_answer(item: Any) -> types.JSONRPCError | None:
    """So that who waits for the answer learns of it at once."""
    if not isinstance(item, dict) or "method" in item or not {"result", "error"} & item.keys():
        return None
    number = item.get("id")
    if not isinstance(number, int | str) or isinstance(number, bool):
        return None
    error = types.ErrorData(code=MALFORMED, message=_what_it_says(item))
    return types.JSONRPCError(jsonrpc="2.0", id=number, error=error)


def _what_it_says(item: dict[str, Any]) -> str:
    shown = json.dumps(item.get("error", item.get("result")), ensure_ascii=False)[:300]
    return f"the answer is no JSON-RPC: {shown}"
