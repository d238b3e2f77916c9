"""Environment variables in the configuration of servers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_features.mcp.expand import UnsetVariable, expand, references

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
VALUES = st.text(max_size=20)


@given(NAMES, VALUES, VALUES, VALUES)
def test_a_variable_is_replaced_once(name: str, value: str, before: str, after: str) -> None:
    before, after = before.replace("$", ""), after.replace("$", "")
    assert expand(f"{before}${{{name}}}{after}", {name: value}) == before + value + after


@given(VALUES)
def test_text_without_references_stays(text: str) -> None:
    text = text.replace("${", "")
    assert expand(text, {}) == text


@given(st.text(alphabet="${}:-aA_1", max_size=30))
def test_no_text_fails_but_for_a_variable_that_is_not_set(text: str) -> None:
    try:
        expand(text, {})
    except UnsetVariable as unset:
        assert unset.name in references(text)
    else:
        assert references(text) == ()


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("${A}", "1"),
        ("${A:-2}", "1"),
        ("${EMPTY}", ""),
        ("${EMPTY:-2}", "2"),
        ("${NONE:-}", ""),
        ("${NONE:-a b}", "a b"),
        ("$A", "$A"),
        ("$${A}", "${A}"),
        ("${A", "${A"),
        ("${1x}", "${1x}"),
        ("${input:key}", "${input:key}"),
    ],
)
def test_forms(text: str, result: str) -> None:
    assert expand(text, {"A": "1", "EMPTY": ""}) == result
