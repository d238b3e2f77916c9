"""Makes messages of what a server writes to its standard output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import mcp_types as types
from attrs import define, field

MAX_LINE_BYTES = 64 << 20
"""Longer lines are dropped."""
MALFORMED = types.INTERNAL_ERROR
"""The code of the error that takes the place of an answer which is none."""


@define
class LineSplitter:
    """Cuts bytes into lines; one that is too long comes out as None."""

    limit: int = field(factory=lambda: MAX_LINE_BYTES)
    _pieces: list[bytes] = field(factory=list, init=False)
    _held: int = field(default=0, init=False)

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        """The lines that end in these bytes, without their ends."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._hold(end)
            yield self._take()
        self._hold(rest)

    def finish(self) -> bytes | None:
        """What comes after the last line; None when there is nothing."""
        return self._take() or None

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > self.limit:
            self._pieces.clear()
        elif piece:
            self._pieces.append(piece)

    def _take(self) -> bytes | None:
        line = b"".join(self._pieces) if self._held <= self.limit else None
        self._pieces, self._held = [], 0
        return line


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
