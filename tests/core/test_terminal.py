"""The text that a terminal would leave of what a command writes."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib import terminal
from toolcrib.terminal import TerminalText

SPECIAL = [
    b"\x1b",
    b"[",
    b"]",
    b"0;",
    b"2K",
    b"m",
    b"\\",
    b"P",
    b"(B",
    b"\x07",
    b"\x18",
    b"\r",
    b"\n",
    b"\b",
    b"\0",
    b"\xc3",
    b"\xa9",
    b"\xf0\x9f",
    b"\x8c\x8d",
    b"\xff",
    b"ab",
    b" ",
    "é世🌍".encode(),
    b"\x1b[31m",
    b"\x1b[2K",
    b"\x1b]0;title\x07",
    b"0123456789",
]
written = st.lists(st.sampled_from(SPECIAL), max_size=30).map(b"".join)


def cleaned(*pieces: bytes) -> str:
    text = TerminalText()
    return "".join(map(text.feed, pieces)) + text.finish()


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain\n", "plain\n"),
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b[01;31m\x1b[Kmatch\x1b[m\x1b[K rest", "match rest"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;http://h/\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bP1$r\x1b\\x\x1b_app\x1b\\y\x1b^pm\x1b\\z", "xyz"),
        (b"\x1b(B\x1b=\x1b>\x1bMtext", "text"),
        (b"\x1b]never ended\nnext line", "\nnext line"),
        (b"a\x1b", "a"),
        (b"a\x1b[12", "a"),
        ("\x1bé".encode(), "é"),
        (b"10%\r20%\r30%", "30%"),
        (b"10%\r20%\r\ndone", "20%\ndone"),
        (b"10%\rdone\n", "done\n"),
        (b"long state\rshort\n", "short\n"),
        (b"a\r\r\nb\r\n", "a\nb\n"),
        (b"old\x1b[2K\x1b[1Gnew", "new"),
        (b"old\x1b[2K\rnew", "new"),
        (b"|\b/\b-\b done", " done"),
        (b"50%\b\b\b99%", "99%"),
        (b"50%\b\b\b\n", "50%\n"),
        (b"\b\b\bx", "x"),
        (b"a\0b\a", "a␀b"),
        (b"a\xffb\xe4\xb8", "a�b�"),
        (b"tab\tand\x0cfeed", "tab\tand\x0cfeed"),
    ],
)
def test_what_is_left(raw: bytes, text: str) -> None:
    assert cleaned(raw) == text


@given(raw=written, data=st.data(), held=st.sampled_from([1, 3, 8, 65_536]))
def test_the_cut_into_pieces_never_matters(raw: bytes, data: st.DataObject, held: int) -> None:
    """One byte at a time, all at once or anything between: the same text."""
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)))))
    edges = [0, *cuts, len(raw)]
    pieces = [raw[a:b] for a, b in pairwise(edges)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terminal, "HELD_CHARS", held)
        whole = cleaned(raw)
        assert cleaned(*pieces) == whole
        assert cleaned(*(bytes([byte]) for byte in raw)) == whole


@given(written)
def test_no_control_is_left(raw: bytes) -> None:
    assert not re.search("[\x1b\0\a\b\r]", cleaned(raw))


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t")))
def test_plain_text_passes_unchanged(text: str) -> None:
    assert cleaned(text.encode()) == text


@given(st.binary(max_size=200))
def test_bytes_decode_as_they_would_at_once(raw: bytes) -> None:
    """Cut anywhere, broken UTF-8 gives the replacement characters of the whole."""
    raw = raw.translate(None, b"\x1b\r\b\a\0")
    assert cleaned(*(bytes([byte]) for byte in raw)) == raw.decode("utf-8", "replace")


@given(st.lists(st.text("abc", max_size=5), min_size=1, max_size=8))
def test_the_last_state_of_a_line_wins(states: list[str]) -> None:
    """An empty state writes nothing, so it overwrites nothing."""
    last = next((state for state in reversed(states) if state), "")
    assert cleaned("\r".join(states).encode() + b"\n") == f"{last}\n"


@settings(max_examples=5)
@given(st.integers(1, 4))
def test_memory_is_bounded_without_line_ends(pieces: int) -> None:
    """A line without an end comes out as it grows; only its last part is held."""
    text = TerminalText()
    out = sum(len(text.feed(b"x" * 200_000)) for _ in range(pieces))
    assert pieces * 200_000 - out < terminal.HELD_CHARS
    assert out + len(text.finish()) == pieces * 200_000


def test_an_endless_sequence_is_not_kept() -> None:
    """A title that never ends is dropped as it comes."""
    text = TerminalText()
    text.feed(b"\x1b]0;")
    for _ in range(50):
        assert text.feed(b"x" * 100_000) == ""
    assert text.feed(b"\x07visible\n") == "visible\n"
    assert len(text._begun) == 0
