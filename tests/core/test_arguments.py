"""Arguments are parsed strictly, errors say where, and nothing is ever raised."""

from __future__ import annotations

import json
import random
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolcrib.arguments import MAX_ARGUMENT_CHARS, MAX_NESTING, parse_arguments

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("raw", [None, "", b"", "{}", {}], ids=repr)
def test_no_arguments_are_an_empty_object(raw: object) -> None:
    assert parse_arguments(raw).data == {}
    assert not parse_arguments(raw).parse_failed


@pytest.mark.parametrize("raw", [[1, 2], 5, True, {"a": [None]}], ids=repr)
def test_values_that_are_no_text_are_taken_as_parsed(raw: object) -> None:
    assert parse_arguments(raw).data is raw


def test_any_mapping_becomes_a_dictionary() -> None:
    assert type(parse_arguments(MappingProxyType({"a": 1})).data) is dict


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        pytest.param("   ", "character 3", id="blank"),
        pytest.param('{"path":"a', "character 8", id="cut off"),
        pytest.param("{}{}", "character 2", id="two values"),
        pytest.param('{"a":"x"} ,', "character 10", id="text after the value"),
        pytest.param('{"a":1,}', "line 1", id="trailing comma"),
        pytest.param("{'a':1}", "character 1", id="single quotes"),
        pytest.param('{"b":"NaN","a":NaN}', "character 15", id="NaN"),
        pytest.param('["Infinity",-Infinity]', "character 12", id="Infinity"),
        pytest.param('{"a":[1e309]}', "character 6", id="overflow"),
        pytest.param('{"limit":' + "9" * 5000 + "}", "character 9", id="huge integer"),
        pytest.param('{\n "a": "x\ty"}', "line 2 column 9", id="control character"),
        pytest.param("\ufeff{}", "character 0", id="byte order mark"),
        pytest.param("[" * 100_000, f"character {MAX_NESTING}", id="brackets without end"),
        pytest.param("[" * 101 + "]" * 101, "character 100", id="one level too deep"),
        pytest.param('{"a":' * 101 + "1" + "}" * 101, "character 500", id="deep objects"),
        pytest.param('{"p":"ok","p":"x"}', "character 10", id="repeated key"),
        pytest.param('{"p":1,"o":[{"q":1},{"q":1,"r":0,"q":2}]}', "character 33", id="inner key"),
    ],
)
def test_what_is_no_json_fails_and_the_place_is_told(raw: str, place: str) -> None:
    parsed = parse_arguments(raw)
    assert parsed.parse_failed
    assert parsed.data == {}
    assert place in (parsed.error or "")


def test_a_repeated_key_is_named() -> None:
    assert '"path"' in (parse_arguments('{"path":"a","path":"../secret"}').error or "")


def test_brackets_in_strings_do_not_count_as_nesting() -> None:
    text = "[{" * 500
    assert parse_arguments(json.dumps({"content": text})).data == {"content": text}


@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}")])
def test_a_hundred_levels_are_allowed(opening: str, closing: str) -> None:
    text = opening * MAX_NESTING + ("{}" if opening == "{" else "1") + closing * MAX_NESTING
    assert not parse_arguments(text).parse_failed


def test_data_nested_too_deeply_or_without_end_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(MAX_NESTING):
        deep = [deep]
    endless: list[Any] = []
    endless += [endless, endless]
    assert parse_arguments(deep).parse_failed
    assert not parse_arguments(deep[0]).parse_failed
    assert parse_arguments({"a": endless}).parse_failed


def test_text_over_the_limit_is_refused_unread() -> None:
    assert parse_arguments('"' + "x" * MAX_ARGUMENT_CHARS + '"').parse_failed


def test_the_extract_is_short_and_can_be_written_as_utf8() -> None:
    error = parse_arguments('{"a": "' + "x" * 5000 + "\ud800\n" + "y" * 5000).error or ""
    assert len(error) < 600
    assert error.isprintable()
    error.encode()


def test_bytes_are_utf8_text() -> None:
    assert parse_arguments('{"a":"é"}'.encode()).data == {"a": "é"}
    assert parse_arguments(b'{"a":"\xff"}').parse_failed


@given(JSON_VALUES)
def test_json_parses_to_what_json_loads_gives(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        parsed = parse_arguments(text)
        assert parsed.error is None
        assert parsed.data == json.loads(text)


@settings(max_examples=300)
@given(st.text() | st.text(alphabet='{}[]":,.0123456789eE+-\\untrfalsN \n'))
@example('"\\ud800"')
@example("-")
def test_any_text_parses_as_json_loads_or_fails_with_a_message(text: str) -> None:
    parsed = parse_arguments(text)
    if parsed.error is None:
        assert parsed.data == (json.loads(text) if text else {})
    else:
        assert parsed.data == {}


@given(JSON_VALUES, st.randoms(use_true_random=False))
def test_mutilated_json_never_raises(value: object, chance: random.Random) -> None:
    """Each text is cut at every place and has a character replaced at every place."""
    text = json.dumps({"path": "a.txt", "value": value})[:200]
    for position in range(len(text)):
        replaced = text[:position] + chance.choice('{}[]",:\\\x00x1-') + text[position + 1 :]
        for mutilated in (text[:position], replaced):
            parsed = parse_arguments(mutilated)
            assert parsed.error is None or parsed.data == {}


@given(st.binary() | st.floats() | st.sets(st.integers()) | st.complex_numbers())
def test_nothing_raises(raw: object) -> None:
    parse_arguments(raw)


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "a", "token": "hunter2" broken',
        '{"t": 1, "api_key": "hunter2", "api_key": "hunter2"}',
        "{'my_password': 'hunter2'}",
        '{"authorization": "Bearer hunter2", "path": nope}',
        '{"privateKey": hunter2}',
        '{"client_secret": "hunter2',
        '{"x": "{\\"token\\": \\"hunter2\\"}" oops',
        '{"command": "export API_TOKEN=hunter2" oops',
        '{"token": "' + "q" * 500 + 'hunter2" oops',
        '{"password": "hunter2\x01"}',
    ],
)
def test_the_extract_shows_no_secret(text: str) -> None:
    error = parse_arguments(text).error
    assert error is not None
    assert "<<HERE>>" in error
    assert "hunter2" not in error


def test_the_extract_shows_what_is_no_secret() -> None:
    error = parse_arguments('{"max_tokens": 5, "path": "a.txt" oops').error
    assert error is not None
    assert '{"max_tokens": 5, "path": "a.txt" <<HERE>>oops' in error


@pytest.mark.parametrize("part", ["token", "token=", 'token=\\"', "token: '"])
def test_looking_for_secrets_takes_no_longer_than_parsing(part: str) -> None:
    error = parse_arguments('{"a": "' + part * 1_000_000 + '" oops').error
    assert error is not None
    assert "<<HERE>>" in error
