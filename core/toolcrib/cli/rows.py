"""Text of strangers as rows of a terminal: nothing in it is interpreted, nothing gets lost."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen
from rich.cells import get_character_cell_size
from rich.style import Style
from rich.syntax import Syntax
from rich.text import Span, Text

HIGHLIGHTED_CHARS = 20_000
"""Longer text is shown in one colour, since taking it apart would take too long."""
KEPT_CHARS = 100_000
"""Of a longer block, only this much of its beginning and its end is laid out to be cut."""
TAB = "    "
_NEVER_SEEN = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
"""Letters and marks by category, from and to, but drawn as nothing or as a blank."""
_UNSEEN = re.compile("[" + "".join(f"{chr(a)}-{chr(b)}" for a, b in _NEVER_SEEN) + "]")
_ESCAPE = re.compile(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}")


@frozen(kw_only=True)
class Block:
    """Some lines that belong together.

    `language` is a lexer's name, or `diff`, whose lines are coloured by how they begin; `prefix`
    stands before the first row and as blanks before the others.
    """

    text: str
    language: str | None = None
    style: str = ""
    prefix: str = ""


@frozen(kw_only=True)
class Cut:
    """The first and the last rows of what does not fit, and how many there are between.

    `left_out` is a lower bound when `at_least`: counting them all would take too long.
    """

    first: list[Text]
    last: list[Text]
    left_out: int
    at_least: bool


def visible(text: str) -> str:
    """The text with escapes for what would move a cursor, reorder a line or not be seen.

    Line ends stay, tabs become blanks.
    """
    text = text.replace("\t", TAB)
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text)
    return _UNSEEN.sub(lambda match: _escaped(match[0]), shown)


def on_one_line(text: str) -> str:
    """Visible text, its line ends too."""
    return visible(text).replace("\n", _escaped("\n"))


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def rows(blocks: Iterable[Block], width: int) -> Iterator[Text]:
    """The rows of all blocks, none wider than `width` cells, made as they are asked for."""
    for block in blocks:
        prefix = Text(block.prefix, style="dim")
        indent = Text(" " * prefix.cell_len)
        lines = _highlighted(block) if len(block.text) <= HIGHLIGHTED_CHARS else _plain(block)
        for line in lines:
            at_blanks = block.language is None
            for row in _folded(line, max(width - prefix.cell_len, 2), at_blanks=at_blanks):
                yield Text.assemble(prefix, row)
                prefix = indent


def fitted(blocks: Sequence[Block], width: int, height: int) -> list[Text] | Cut:
    """All rows when they fit into the height, else those of the beginning and the end."""
    shortened = [_shortened(block) for block in blocks]
    longer = any(a is not b for a, b in zip(shortened, blocks, strict=True))
    before = max(height * 2 // 3, 1)
    after = max(height - before - 1, 1)
    first: list[Text] = []
    last: deque[Text] = deque(maxlen=after + 1)
    dropped = 0
    for row in rows(shortened, width):
        if len(first) < before:
            first.append(row)
        else:
            dropped += len(last) == after + 1
            last.append(row)
    if not dropped and not longer:
        return [*first, *last]
    # One row more makes room for the line that says so.
    return Cut(first=first, last=list(last)[1:], left_out=dropped + 1, at_least=longer)


def _shortened(block: Block) -> Block:
    if len(block.text) <= 2 * KEPT_CHARS:
        return block
    text = block.text[:KEPT_CHARS] + block.text[-KEPT_CHARS:]
    return Block(text=text, style=block.style, prefix=block.prefix)


def _plain(block: Block) -> Iterator[Text]:
    for line in block.text.split("\n"):
        # In pieces: a line may be as long as a file.
        for begin in range(0, max(len(line), 1), HIGHLIGHTED_CHARS):
            yield Text(visible(line[begin : begin + HIGHLIGHTED_CHARS]), style=block.style)


def _highlighted(block: Block) -> list[Text]:
    shown = visible(block.text)
    if block.language is None:
        text = Text(shown, style=block.style)
    elif block.language == "diff":
        text = Text("\n").join(Text(line, _diff_style(line)) for line in shown.split("\n"))
    else:
        syntax = Syntax("", block.language, theme="ansi_dark", background_color="default")
        text = syntax.highlight(shown)
        if text.plain != shown:  # a lexer may add a line end, or drop what it does not know
            spans = text.spans if text.plain == f"{shown}\n" else []
            text = Text(shown, spans=_spans_within(spans, len(shown)))
    text.highlight_regex(_ESCAPE, Style(bold=True, reverse=True))
    return list(text.split("\n", allow_blank=True))


def _spans_within(spans: list[Span], end: int) -> list[Span]:
    return [Span(a, min(b, end), style) for a, b, style in spans if a < end]


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def _folded(line: Text, width: int, *, at_blanks: bool) -> list[Text]:
    """The line in rows, broken behind a blank, or else where the width ends; nothing is dropped."""
    if len(line) <= width and line.plain.isascii():
        return [line]
    breaks = [0]
    used = 0
    word, word_used = 0, 0
    for place, character in enumerate(line.plain):
        size = get_character_cell_size(character)
        if used + size > width and used:
            if at_blanks and word > breaks[-1] and used - word_used < width // 2:
                breaks.append(word)
                used -= word_used
            else:
                breaks.append(place)
                used = 0
        used += size
        if character == " ":
            word, word_used = place + 1, used
    return list(line.divide(breaks[1:])) if breaks[1:] else [line]
