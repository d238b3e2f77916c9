"""Lines and line ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_os.shared.text import (
    count_lines,
    displayed_line,
    eol_style,
    materialise,
    model_view,
    without_surrogates,
)

texts = st.text(alphabet="a\r\n\u2028\x0c\x85é", max_size=30)


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("", "lf"),
        ("a", "lf"),
        ("a\nb\n", "lf"),
        ("a\r\nb\r\n", "crlf"),
        ("a\r\nb", "crlf"),
        ("a\r\nb\n", "mixed"),
        ("a\rb", "mixed"),
        ("a\r\r\n", "mixed"),
        ("a\r\nb\r", "mixed"),
    ],
)
def test_styles(text: str, style: str) -> None:
    assert eol_style(text) == style


@pytest.mark.parametrize(
    ("text", "lines"), [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\x0cb\u2028c", 1)]
)
def test_lines_end_at_a_line_feed_only(text: str, lines: int) -> None:
    assert count_lines(text) == lines


@given(texts)
def test_the_view_of_a_text_that_is_not_changed_is_written_back_the_same(text: str) -> None:
    style = eol_style(text)
    assert materialise(model_view(text, style), style) == text


@given(texts)
def test_no_carriage_return_is_shown_as_such(text: str) -> None:
    style = eol_style(text)
    assert not any("\r" in displayed_line(line, style) for line in text.split("\n"))


def test_pairs_in_new_text_are_not_doubled() -> None:
    assert materialise("one\r\ntwo\n", "crlf") == "one\r\ntwo\r\n"


def test_lone_surrogates_become_replacement_characters() -> None:
    assert without_surrogates("a\ud800b😀") == "a\ufffdb😀"
