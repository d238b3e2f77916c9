"""JSON with comments, and the lines of its keys."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_features.mcp.jsonc import JsonError, parse

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=15,
)


@given(JSON, st.sampled_from([None, 2]))
def test_it_reads_what_json_writes(value: object, indent: int | None) -> None:
    document = parse(json.dumps(value, indent=indent))
    assert document.data == value and document.plain


@given(st.text(alphabet='{}[]",:/*\\ntrue1-. \n', max_size=40))
def test_text_is_read_or_refused_with_its_place(text: str) -> None:
    try:
        parse(text)
    except JsonError as error:
        assert error.line >= 1 and error.column >= 1


def test_comments_and_trailing_commas_are_taken_and_told() -> None:
    document = parse('// a\n{"a": [1, /* b */ 2,], // c\n "b": "//no",\n}\n')
    assert document.data == {"a": [1, 2], "b": "//no"} and not document.plain


def test_keys_have_lines_and_repeated_ones_are_told() -> None:
    document = parse('{\n "a": {\n  "b": 1,\n  "b": 2\n }\n}')
    assert document.line(("a",)) == 2 and document.line(("a", "b")) == 4
    assert document.line(("a", "zz")) == 2
    assert document.repeated == (("a", "b"),)


@pytest.mark.parametrize("text", ["", "{", '{"a" 1}', "[1 2]", "NaN", "01", "[" * 5000, "1e999"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(JsonError):
        parse(text)
