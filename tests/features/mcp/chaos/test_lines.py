"""Bytes of a server become lines, and lines become messages."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_features.mcp.lines import LineSplitter, TooLong, parse_messages


@given(st.binary(max_size=60), st.lists(st.integers(0, 60)), st.integers(1, 20))
def test_how_the_bytes_arrive_changes_no_line(data: bytes, cuts: list[int], limit: int) -> None:
    splitter = LineSplitter(limit)
    ends = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    found: list[bytes | TooLong] = []
    for begin, end in pairwise(ends):
        found += splitter.feed(data[begin:end])
    found += splitter.finish()
    *whole, last = [line if len(line) <= limit else TooLong() for line in data.split(b"\n")]
    assert found == (whole if last == b"" else [*whole, last])


LONG = json.dumps({"content": [{"type": "text", "text": '"},"id":8}' * 100}]})


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ('{"jsonrpc": "2.0", "id": 7, "result": %s}', 7),
        ('{"id":7,"jsonrpc":"2.0","result":%s}', 7),
        ('{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"","data":%s}}', 7),
        ('{"result":%s,"jsonrpc":"2.0","id":7}', 7),
        ('{"jsonrpc":"2.0","result":%s,"id":7}\r', 7),
        ('{ "result": %s, "id": 7, "jsonrpc": "2.0" }', 7),
        ('{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":%s}', None),
        ('{"jsonrpc":"2.0","method":"x","params":{"id":7,"result":%s}}', None),
        ('{"result":%s}', None),
        ("%s", None),
    ],
)
def test_whose_answer_is_too_long(line: str, answers: int | None) -> None:
    data = (line % LONG).encode() + b'\n{"id": 1}\n'
    for step in (1, 7, len(data)):
        splitter = LineSplitter(limit=1_000)
        found = [
            each for at in range(0, len(data), step) for each in splitter.feed(data[at : at + step])
        ]
        assert found == [TooLong(answers), b'{"id": 1}']


@pytest.mark.parametrize("start", [b'{"id": 7, "result": "', b'{"result": "', b"noise"])
def test_a_line_without_an_end_is_told_too(start: bytes) -> None:
    splitter = LineSplitter(limit=1_000)
    found = [*splitter.feed(start)]
    for _ in range(100):
        found += splitter.feed(b"x" * 100)
    assert found == [TooLong(7 if b"7" in start else None)]


@given(st.binary(max_size=200))
def test_no_bytes_are_too_much(data: bytes) -> None:
    assert isinstance(parse_messages(data), list)
    assert isinstance(parse_messages(b"{" + data + b"}"), list)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(JSON, st.sampled_from(["result", "error"]))
def test_whoever_waits_for_an_answer_gets_one(value: Any, key: str) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": 7, key: value}).encode()
    (message,) = parse_messages(line)
    assert isinstance(message, types.JSONRPCResponse | types.JSONRPCError)
    assert message.id == 7


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b"[1]", b"7", b'"text"', b"[" * 100_000])
def test_what_is_no_message(line: bytes) -> None:
    assert parse_messages(line) == []
