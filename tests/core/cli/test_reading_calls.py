"""The shapes in which calls are read, and what is said of input that holds none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.cli.calls import UnreadableCalls, read_calls

CALL = {"id": "7", "name": "Read", "arguments": {"path": "a"}}
OPENAI = {"id": "7", "type": "function", "function": {"name": "Read", "arguments": '{"path": "a"}'}}
ANTHROPIC = {"type": "tool_use", "id": "7", "name": "Read", "input": {"path": "a"}}
RESPONSES = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "7",
    "name": "Read",
    "arguments": '{"path": "a"}',
}

SHAPES: dict[str, Any] = {
    "batches": {"batches": [[CALL]]},
    "list of batches": [[CALL]],
    "one batch": [CALL],
    "one call": CALL,
    "OpenAI response": {"choices": [{"message": {"tool_calls": [OPENAI]}}]},
    "OpenAI message": {"role": "assistant", "content": None, "tool_calls": [OPENAI]},
    "OpenAI tool calls": [OPENAI],
    "OpenAI Responses": {"output": [{"type": "reasoning"}, RESPONSES]},
    "Anthropic message": {"role": "assistant", "content": [{"type": "text"}, ANTHROPIC]},
    "Anthropic content": [{"type": "text", "text": "I read"}, ANTHROPIC],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_reads_every_shape_as_the_same_call(shape: str) -> None:
    ((call,),) = read_calls(json.dumps(SHAPES[shape]).encode(), "x")
    arguments = call["arguments"]
    parsed = json.loads(arguments) if isinstance(arguments, str) else arguments
    assert (call["id"], call["name"], parsed) == ("7", "Read", {"path": "a"})


def test_each_line_of_json_lines_is_a_batch() -> None:
    text = "\n".join([json.dumps(CALL), "", json.dumps([CALL, CALL]), json.dumps(CALL)])
    assert [len(batch) for batch in read_calls(text.encode(), "x")] == [1, 2, 1]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_reads_what_other_systems_call_text(encoding: str) -> None:
    ((call,),) = read_calls(json.dumps(CALL).encode(encoding), "x")
    assert call["name"] == "Read"


def test_keeps_bytes_that_are_no_utf_8() -> None:
    ((call,),) = read_calls(b'{"name": "Read", "arguments": {"path": "\xff.txt"}}', "x")
    assert call["arguments"]["path"].encode("utf-8", "surrogateescape") == b"\xff.txt"


def test_calls_without_an_id_get_one_that_no_other_call_has() -> None:
    calls = [{"name": "A"}, {"name": "B", "id": "call_1"}, {"name": "C"}, {"name": "D", "id": 5}]
    text = "\n".join(map(json.dumps, calls)).encode()
    ids = [call["id"] for batch in read_calls(text, "x") for call in batch]
    assert len(set(ids)) == 4
    assert all(isinstance(one, str) for one in ids)
    assert ids[1::2] == ["call_1", "5"]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"", "x"),
        (b" \n ", "x"),
        (b"not json", "line 1 column 1"),
        (b'{\n "batches": [[\n  {"name": "Read",}\n]]}', "line 3"),
        (json.dumps(CALL).encode() + b"\n{oops}\n", "x:2"),
        (json.dumps(CALL).encode() + b'\n\n{"name": 3}', "x:3"),
        (b"3", "3"),
        (b"null", "null"),
        (b"{}", "{}"),
        (b"[1]", "1"),
        (b'{"batches": 3}', "batches"),
        (b'{"batches": [3]}', "3"),
        (b'{"choices": [3]}', "choices"),
        (b'{"choices": [{}]}', "choices"),
        (b'{"tool_calls": null}', "tool_calls"),
        (b'{"name": 3}', "name"),
        (b'{"name": "Read", "args": {}}', "'args'"),
        (b"[" * 100_000, "deep"),
        (b"\xff\xfe\x00", "x"),
    ],
)
def test_says_where_input_stops_making_sense(data: bytes, place: str) -> None:
    with pytest.raises(UnreadableCalls) as caught:
        read_calls(data, "x")
    assert str(caught.value).startswith("x")
    assert place in str(caught.value)


@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,\\n "nameidcalls1', max_size=40))
def test_no_input_ends_in_anything_but_calls_or_a_reason(data: bytes | str) -> None:
    try:
        batches = read_calls(data.encode() if isinstance(data, str) else data, "x")
    except UnreadableCalls:
        return
    for batch in batches:
        for call in batch:
            assert isinstance(call["id"], str) and isinstance(call["name"], str)
