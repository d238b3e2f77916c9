"""Properties of paging: the pages of any text, put together, are the text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from toolcrib import ToolResult
from toolcrib_os.read import column, index, outline, window
from toolcrib_os.read.outline import Outline
from toolcrib_os.read.page import Page
from toolcrib_os.read.source import MemorySource
from toolcrib_os.read.status import PageRequest

SMALL_BLOCK = 7

pieces = st.sampled_from(
    [
        "a",
        "bc",
        "\n",
        "\n",
        "\r\n",
        "\r",
        "é",
        "漢字",
        "😀",
        "\u2028",
        "\x0c",
        "\x85",
        "x" * 40,
        "y" * 700,
    ]
)
texts = st.lists(pieces, max_size=60).map("".join)
crlf_texts = texts.map(lambda text: text.replace("\r", "").replace("\n", "\r\n"))
any_text = st.one_of(texts, crlf_texts, texts.map(lambda text: text.replace("\r", "")))
budgets = st.integers(500, 1500)


@contextmanager
def small_blocks() -> Iterator[None]:
    """Make every text one of many blocks, so that all that matters happens at their borders."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (index, "BLOCK"),
            (outline, "BLOCK"),
            (window, "CHUNK"),
            (column, "CHUNK"),
        ):
            patch.setattr(module, name, SMALL_BLOCK)
        yield


def shown_lines(text: str) -> list[str]:
    """The lines of a text as Read is to show them, by the shortest model there is."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if (
        "\r" in text
        and "\r" not in text.replace("\r\n", "")
        and "\n" not in text.replace("\r\n", "")
    ):
        lines = [line.removesuffix("\r") for line in lines]
    return [line.replace("\r", "\\r") for line in lines]


def read(
    text: str, budget: int, arguments: Mapping[str, int | None], *, checked: bool = True
) -> ToolResult:
    source = MemorySource(text.encode())
    known = outline.outline(source)
    if not checked:
        known = Outline(index.LineIndex(), known.style, False)
    request = PageRequest(
        path="some/file.txt",
        line_offset=arguments.get("line_offset") or 1,
        column_offset=arguments.get("column_offset") or 0,
        n_lines=arguments.get("n_lines"),
        budget=budget,
        asked_chars=None,
    )
    return Page(source, known, request).read()


def numbered(result: ToolResult) -> list[tuple[int, str]]:
    assert isinstance(result.output, str)
    if not result.output:
        return []
    cells = [line.split("\t", 1) for line in result.output.split("\n")]
    return [(int(number), text) for number, text in cells]


def next_arguments(result: ToolResult) -> dict[str, int]:
    assert result.note is not None
    arguments = json.loads(result.note[result.note.index("{") : result.note.index("}") + 1])
    assert arguments.pop("path") == "some/file.txt"
    arguments.pop("max_chars")
    return dict(arguments)


def follow(
    text: str, budget: int, arguments: Mapping[str, int | None], *, checked: bool = True
) -> list[ToolResult]:
    """The first page and all that its notes lead to."""
    results = [read(text, budget, arguments, checked=checked)]
    while results[-1].truncated:
        assert len(results) < 500
        results.append(read(text, budget, next_arguments(results[-1]), checked=checked))
    return results


def joined(results: list[ToolResult]) -> dict[int, str]:
    """Lines by number; the parts of a line that was cut are joined in the order they came."""
    lines: dict[int, str] = {}
    for result in results:
        for number, text in [] if result.is_error else numbered(result):
            lines[number] = lines.get(number, "") + text
    return lines


@given(text=any_text, budget=budgets, checked=st.booleans())
@hypothesis_settings(max_examples=150, deadline=None)
def test_following_the_notes_from_the_start_gives_every_line_once(
    text: str, budget: int, checked: bool
) -> None:
    with small_blocks():
        results = follow(text, budget, {}, checked=checked)
    assert joined(results) == dict(enumerate(shown_lines(text), 1))
    assert all(not result.is_error for result in results)


@given(text=any_text, budget=budgets, start=st.integers(1, 30), count=st.integers(1, 30))
@hypothesis_settings(max_examples=100, deadline=None)
def test_following_the_notes_in_a_range_gives_the_range(
    text: str, budget: int, start: int, count: int
) -> None:
    with small_blocks():
        results = follow(text, budget, {"line_offset": start, "n_lines": count})
    lines = list(enumerate(shown_lines(text), 1))
    assert joined(results) == dict(lines[start - 1 : start - 1 + count])


@given(
    text=any_text,
    budget=budgets,
    window_size=st.integers(1, 40),
    count=st.none() | st.integers(1, 40),
)
@hypothesis_settings(max_examples=100, deadline=None)
def test_following_the_notes_of_a_tail_gives_the_tail(
    text: str, budget: int, window_size: int, count: int | None
) -> None:
    """Pages of a tail come newest first, and lines too long for a page by reading forward."""
    with small_blocks():
        results = follow(text, budget, {"line_offset": -window_size, "n_lines": count})
    lines = list(enumerate(shown_lines(text), 1))
    first = max(0, len(lines) - window_size)
    assert joined(results) == dict(lines[first:][:count])


@given(text=any_text, window_size=st.integers(1, 40), count=st.none() | st.integers(1, 40))
@hypothesis_settings(max_examples=100, deadline=None)
def test_the_tail_of_an_uncounted_text_has_the_same_lines(
    text: str, window_size: int, count: int | None
) -> None:
    """Whoever does not know the total numbers from the end, or counts after all."""
    with small_blocks():
        result = read(text, 100_000, {"line_offset": -window_size, "n_lines": count}, checked=False)
    lines = shown_lines(text)
    first = max(0, len(lines) - window_size)
    expected = list(enumerate(lines, 1))[first:][:count]
    if window_size < len(lines):
        expected = [(number - len(lines) - 1, line) for number, line in expected]
    assert numbered(result) == expected


@given(
    text=any_text,
    budget=budgets,
    arguments=st.fixed_dictionaries(
        {},
        optional={"line_offset": st.integers(-40, 40).filter(bool), "n_lines": st.integers(1, 40)},
    ),
)
@hypothesis_settings(max_examples=100, deadline=None)
def test_text_and_note_together_keep_to_the_budget(
    text: str, budget: int, arguments: dict[str, int]
) -> None:
    result = read(text, budget, arguments)
    assert isinstance(result.output, str) and result.note is not None
    if not result.is_error:
        assert len(result.output) + 1 + len(result.note) <= budget


@given(text=any_text)
@hypothesis_settings(max_examples=100, deadline=None)
def test_the_index_knows_where_each_line_begins(text: str) -> None:
    source = MemorySource(text.encode())
    with small_blocks():
        known = index.LineIndex()
        starts = [known.start_of(source, line) for line in range(1, text.count("\n") + 3)]
        total = known.count_all(source)
    lines = _split(text.encode())
    expected = [sum(map(len, lines[:before])) for before in range(len(lines))]
    assert [start for start in starts if start is not None] == expected
    assert total == len(expected)


def _split(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


@given(text=any_text, lines=st.integers(1, 40))
@hypothesis_settings(max_examples=100, deadline=None)
def test_a_tail_is_found_from_behind_where_it_is_found_from_the_front(
    text: str, lines: int
) -> None:
    source = MemorySource(text.encode())
    parts = _split(text.encode())
    with small_blocks():
        start, total = index.start_of_tail(source, lines)
    assert source.data[start:] == b"".join(parts[-lines:])
    assert total == (None if lines < len(parts) else len(parts))
