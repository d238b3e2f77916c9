"""Reads calls in the shapes in which models and hosts write them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from toolcrib.errors import ToolcribError

Call = dict[str, Any]
SHAPES = (
    'expected {"batches": [[call, ...], ...]}, JSON Lines of calls or of lists of calls, or the '
    "tool calls of an OpenAI or Anthropic message; a call is "
    '{"id": ..., "name": ..., "arguments": ...}'
)


class UnreadableCalls(ToolcribError):
    """The input holds no calls; whoever wrote it acts on it."""


def read_calls(text: str, source: str) -> list[list[Call]]:
    """The batches of calls in a text; `source` is its name in errors.

    Raises UnreadableCalls, which says where the text stops making sense.
    """
    if not text.strip():
        raise UnreadableCalls(f"{source} is empty: {SHAPES}")
    try:
        document = json.loads(text)
    except RecursionError:
        raise UnreadableCalls(f"{source} is nested too deeply to be read") from None
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) == 1:
            raise UnreadableCalls(f"{source}: not JSON: {error}") from None
        return list(_json_lines(text, source))
    return [_numbered(batch) for batch in _batches(document, source)]


def _json_lines(text: str, source: str) -> Iterator[list[Call]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"{source}:{number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UnreadableCalls(f"{place}: not JSON: {error}") from None
        for batch in _batches(value, place):
            yield _numbered(batch)


def _batches(value: Any, source: str) -> list[list[Call]]:
    if isinstance(value, dict):
        if "batches" in value:
            if not isinstance(value["batches"], list):
                raise UnreadableCalls(f"{source}: 'batches' is no list: {SHAPES}")
            return [_batch(batch, source) for batch in value["batches"]]
        return [_batch(_of_message(value), source)]
    if isinstance(value, list) and value and all(isinstance(item, list) for item in value):
        return [_batch(batch, source) for batch in value]
    return [_batch(value, source)]


def _of_message(value: dict[str, Any]) -> Any:
    """The list of calls in a provider's message or response; anything else is one call."""
    if isinstance(value.get("choices"), list) and value["choices"]:
        return _of_message(value["choices"][0].get("message") or {})
    if isinstance(value.get("message"), dict):
        return _of_message(value["message"])
    if isinstance(value.get("tool_calls"), list):
        return value["tool_calls"]
    if isinstance(value.get("content"), list):
        return [part for part in value["content"] if _is_tool_use(part)]
    return [value]


def _is_tool_use(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_use"


def _batch(value: Any, source: str) -> list[Call]:
    if not isinstance(value, list):
        raise UnreadableCalls(f"{source}: {_short(value)} is no list of calls: {SHAPES}")
    return [_call(item, source) for item in value]


def _call(value: Any, source: str) -> Call:
    if not isinstance(value, dict):
        raise UnreadableCalls(f"{source}: {_short(value)} is no call: {SHAPES}")
    call_id = value.get("id", value.get("call_id"))
    function = value.get("function")
    if isinstance(function, dict):
        name, arguments = function.get("name"), function.get("arguments")
    elif value.get("type") == "tool_use":
        name, arguments = value.get("name"), value.get("input")
    else:
        name, arguments = value.get("name"), value.get("arguments")
    if not isinstance(name, str):
        raise UnreadableCalls(f"{source}: {_short(value)} names no tool: {SHAPES}")
    return {"id": call_id, "name": name, "arguments": arguments}


def _numbered(batch: list[Call]) -> list[Call]:
    """Calls without an id get one; ids are kept as they are."""
    for number, call in enumerate(batch, 1):
        call["id"] = f"call_{number}" if call["id"] is None else str(call["id"])
    return batch


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
