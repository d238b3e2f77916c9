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
_CALL_BLOCKS = ("tool_use", "function_call")
_MISNAMED = frozenset({"args", "argument", "input", "parameters", "params"})


class UnreadableCalls(ToolcribError):
    """The input holds no calls; whoever wrote it acts on it."""


def read_calls(data: bytes, source: str) -> list[list[Call]]:
    """The batches of calls in some bytes; `source` is their name in errors.

    Bytes that are not UTF-8 are kept as lone surrogates, so that a file's odd name survives.
    Calls without an id get one that no other call has.

    Raises UnreadableCalls, which says where the text stops making sense.
    """
    text = _decoded(data, source)
    if not text.strip():
        raise UnreadableCalls(f"{source} is empty: {SHAPES}")
    try:
        batches = _batches(_parsed(text), source)
    except ValueError as error:
        if not _begins_with_a_document(text):
            raise UnreadableCalls(f"{source}: not JSON: {error}; {SHAPES}") from None
        batches = list(_json_lines(text, source))
    _number(batches)
    return batches


def _decoded(data: bytes, source: str) -> str:
    encoding = json.detect_encoding(data)
    try:
        return data.decode(encoding, "surrogateescape")
    except UnicodeDecodeError:
        raise UnreadableCalls(f"{source} is no text: {SHAPES}") from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _begins_with_a_document(text: str) -> bool:
    """Whether the first line is JSON by itself, so that the text is meant as JSON Lines."""
    first, rest, _ = text.strip().partition("\n")
    try:
        _parsed(first)
    except ValueError:
        return False
    return bool(rest)


def _json_lines(text: str, source: str) -> Iterator[list[Call]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{source}:{number}"
            try:
                value = _parsed(line)
            except ValueError as error:
                raise UnreadableCalls(f"{place}: not JSON: {error}; {SHAPES}") from None
            yield from _batches(value, place)


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
    match value:
        case {"choices": [{"message": {"tool_calls": list(calls)}}, *_]}:
            return calls
        case {"message": {"tool_calls": list(calls)}}:
            return calls
        case {"tool_calls": list(calls)}:
            return calls
        case {"message": {"content": list(blocks)}} | {"content": list(blocks)}:
            return [block for block in blocks if _is_call_block(block)]
        case {"output": list(blocks)}:
            return [block for block in blocks if _is_call_block(block)]
    return [value]


def _is_call_block(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") in _CALL_BLOCKS


def _batch(value: Any, source: str) -> list[Call]:
    if not isinstance(value, list):
        raise UnreadableCalls(f"{source}: {_short(value)} is no list of calls: {SHAPES}")
    if any(_is_call_block(item) for item in value):
        # The content of a message: text and thoughts stand between the calls.
        value = [item for item in value if _is_call_block(item) or not _is_other_block(item)]
    return [_call(item, source) for item in value]


def _is_other_block(item: object) -> bool:
    return isinstance(item, dict) and "type" in item and "name" not in item


def _call(value: Any, source: str) -> Call:
    match value:
        case {"function": {"name": str(name), **function}}:
            arguments = function.get("arguments")
        case {"type": "tool_use", "name": str(name)}:
            arguments = value.get("input")
        case {"name": str(name)}:
            if "arguments" not in value and (meant := sorted(_MISNAMED & value.keys())):
                raise UnreadableCalls(
                    f"{source}: {_short(value)} has {meant[0]!r} where 'arguments' belongs"
                )
            arguments = value.get("arguments")
        case dict():
            raise UnreadableCalls(f"{source}: {_short(value)} names no tool: {SHAPES}")
        case _:
            raise UnreadableCalls(f"{source}: {_short(value)} is no call: {SHAPES}")
    # Where OpenAI writes both, the id is that of the message, and the call_id is answered to.
    return {"id": value.get("call_id", value.get("id")), "name": name, "arguments": arguments}


def _number(batches: list[list[Call]]) -> None:
    """Make every id text; ids that are given stay as they are."""
    calls = [call for batch in batches for call in batch]
    given = {str(call["id"]) for call in calls}
    for number, call in enumerate(calls, 1):
        if call["id"] is not None:
            call["id"] = str(call["id"])
            continue
        made = f"call_{number}"
        while made in given:
            made += "_"
        call["id"] = made


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
