"""Says why an old text was not found: what is different in it, and where similar text is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from toolcrib import ToolResult
from toolcrib_os.edit.input import EditInput
from toolcrib_os.edit.matching import Document
from toolcrib_os.edit.nearest import Text, alike, between_blanks, folded_matches
from toolcrib_os.edit.snippet import numbered

_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", '\\"': '"', "\\'": "'", "\\\\": "\\"}
_ESCAPE = re.compile(r"\\[ntr\"'\\]")
_QUOTES = str.maketrans("\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u2032\u2033", "''''\"\"\"'\"")
_DASHES = str.maketrans("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-------")
_MAX_SEARCHED_BYTES = 4 * 1024 * 1024
_MAX_LISTED = 10
_MAX_SHOWN_LINES = 8
_MAX_SHOWN_CHARS = 120
_Fold = Callable[[str], str]


def not_found(document: Document, args: EditInput) -> ToolResult:
    """The error for an old text that does not occur; nothing was changed."""
    reason = _other_spelling(document, args) or _other_characters(document, args.old_string)
    if reason is None:
        reason = _already_there(document, args) or (
            "The file may have changed since it was read: read it again." + _nearest(document, args)
        )
    return ToolResult.error(
        f"old_string was not found in {args.path!r}; nothing was changed. {reason}"
    )


def _other_spelling(document: Document, args: EditInput) -> str | None:
    """A way to write the old text in which it does occur."""
    old = args.old_string
    bare = _NUMBERED.sub("", old)
    if bare != old and bare and (found := document.find(bare)):
        return (
            "It carries the line numbers that Read puts in front of lines. Without them it is on "
            f"{_lines(document.lines_of(found))}: leave out the number and the tab of each line."
        )
    spelled = _ESCAPE.sub(lambda match: _ESCAPES[match[0]], old)
    if spelled != old and (found := document.find(spelled)):
        return (
            "It has escapes such as \\n written as two characters. With the characters "
            f"themselves it is on {_lines(document.lines_of(found))}."
        )
    feeds = old.replace("\r\n", "\n").replace("\r", "\n")
    for other, name in ((feeds, "plain line feeds"), (feeds.replace("\n", "\r\n"), "CRLF")):
        if other != old and (found := document.find(other)):
            return (
                f"Its line endings are not those of the file, which are {_style(document)}. With "
                f"{name} it is on {_lines(document.lines_of(found))}."
            )
    return None


def _other_characters(document: Document, old: str) -> str | None:
    """Text that is the same but for white space, quotes or the spelling of characters."""
    if len(document.data) > _MAX_SEARCHED_BYTES:
        return None
    text = Text.of(document)
    for fold, show, difference in _FOLDS:
        found = folded_matches(text, old, fold)
        if found:
            return (
                f"The text on {_lines(found)} differs from it only in {difference}:\n"
                + "\n".join(_compared(text, old, first, fold, show) for first in found[:3])
                + "\nCopy the text exactly as it is in the file."
            )
    return None


def _already_there(document: Document, args: EditInput) -> str | None:
    if not args.new_string.strip():
        return None
    found = document.find(args.new_string)
    if not found:
        return None
    return (
        f"But new_string is there, on {_lines(document.lines_of(found))}: the change may have been "
        "made already. Read the file again."
    )


def _nearest(document: Document, args: EditInput) -> str:
    regions = alike(Text.of(document, near=args.old_string), args.old_string)
    if not regions:
        return ""
    shown = []
    for first, last, percent in regions:
        lines = range(first, min(last, first + _MAX_SHOWN_LINES - 1) + 1)
        body = numbered(document.data, lines, document.style)
        shown.append(f"Lines {first}-{last}, {percent} % alike:\n{body}")
    return " The nearest text in it:\n" + "\n".join(shown)


def _compared(text: Text, old: str, first: int, fold: _Fold, show: _Fold) -> str:
    """The first line that is not the same, as it is in the file and as it was given."""
    for index, given in enumerate(between_blanks(old, fold)):
        line = text.line(first + index)
        if given not in line or (index and given != line):
            return f"line {first + index} is {show(_cut(line))}, old_string has {show(_cut(given))}"
    return f"line {first} is {show(_cut(text.line(first)))}"


def _blanks(line: str) -> str:
    return " ".join(line.split())


def _characters(line: str) -> str:
    plain = unicodedata.normalize("NFKC", line).translate(_QUOTES).translate(_DASHES)
    return _blanks("".join(c for c in plain if unicodedata.category(c) != "Cf"))


_FOLDS: tuple[tuple[_Fold, _Fold, str], ...] = (
    (
        _blanks,
        repr,
        "white space (tabs, spaces, indentation or blanks at the ends of lines)",
    ),
    (
        _characters,
        ascii,
        "characters that look alike (quotes, dashes, no-break spaces, invisible characters or "
        "composed accents)",
    ),
)


def _style(document: Document) -> str:
    return {"lf": "line feeds", "crlf": "CRLF", "mixed": "mixed"}[document.style]


def _lines(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    more = f" and {len(numbers) - _MAX_LISTED} more" if len(numbers) > _MAX_LISTED else ""
    return f"lines {', '.join(map(str, numbers[:_MAX_LISTED]))}{more}"


def _cut(line: str) -> str:
    return line if len(line) <= _MAX_SHOWN_CHARS else line[:_MAX_SHOWN_CHARS] + "..."
