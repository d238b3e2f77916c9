"""The one definition of a line, the styles in which files end their lines, text as bytes.

A line ends at a line feed and nowhere else: form feeds, U+2028 and lone carriage returns are
characters like any other. The last line may lack its line feed; an empty text has no lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

EolStyle = Literal["lf", "crlf", "mixed"]

_SURROGATE = re.compile("[\ud800-\udfff]")


def eol_style(text: str) -> EolStyle:
    """How a whole text ends its lines; a lone carriage return makes it mixed."""
    return style_of_counts(text.count("\n"), text.count("\r"), text.count("\r\n"))


def style_of_counts(feeds: int, returns: int, pairs: int) -> EolStyle:
    """The style by the number of `\\n`, of `\\r`, and of the two in a row."""
    if returns == 0:
        return "lf"
    return "crlf" if feeds == returns == pairs else "mixed"


def count_lines(text: str) -> int:
    """The number of lines of a text."""
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def model_view(text: str, style: EolStyle) -> str:
    """A text (without BOM) as the model edits it: with plain line feeds if it is CRLF."""
    return text.replace("\r\n", "\n") if style == "crlf" else text


def materialise(text: str, style: EolStyle) -> str:
    """The inverse of `model_view`; a pair that is there already is not doubled."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if style == "crlf" else text


def displayed_line(line: str, style: EolStyle) -> str:
    """A line, without its line feed, as Read shows it: carriage returns that remain are visible."""
    if style == "crlf":
        line = line.removesuffix("\r")
    return line.replace("\r", "\\r") if "\r" in line else line


def without_surrogates(text: str) -> str:
    """The text with each lone surrogate, which no encoding can hold, replaced by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def as_arguments(texts: Iterable[str]) -> list[bytes]:
    """Arguments for a program: UTF-8 in every locale, other bytes of file names as they were."""
    return [text.encode("utf-8", "surrogateescape") for text in texts]
