"""Finds where every key of TOML text stands, which `tomllib` does not tell."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping

from attrs import field, frozen

KeyPath = tuple[str | int, ...]
Span = tuple[int, int]
"""Where a piece of text begins and ends, in characters."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]*")


def index_lines(text: str) -> Mapping[KeyPath, int]:
    """Map each key path of a TOML document to its line, counted from 1.

    Elements of arrays have paths too, with their index. The text must be valid TOML.
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


@frozen
class Spans:
    """Where the pieces of a TOML document stand, by key path.

    Attributes:
        headers: `[table]` and `[[table]]`; those of an array of tables have its index.
        pairs: `key = value`, by the whole path of the key.
        values: what is on the right of a pair, and the elements of arrays.
    """

    headers: dict[KeyPath, Span] = field(factory=dict)
    pairs: dict[KeyPath, Span] = field(factory=dict)
    values: dict[KeyPath, Span] = field(factory=dict)


def index_spans(text: str) -> Spans:
    """Where every header, pair and value of a TOML document stands; the text must be valid."""
    scanner = _Scanner(text)
    scanner.document()
    return scanner.spans


def nearest_line(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """The line of the path, or else of the nearest table or key around it."""
    for length in range(len(path), 0, -1):
        if (line := lines.get(path[:length])) is not None:
            return line
    return None


class _Scanner:
    """A reader of valid TOML that keeps positions and drops values."""

    def __init__(self, text: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.spans = Spans()
        self._text = text
        self._at = 0
        self._starts = [match.end() for match in re.finditer("\n", text)]
        self._tables: dict[KeyPath, int] = {}  # arrays of tables: the index of the last one

    def document(self) -> None:
        table: KeyPath = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip(_BLANK)

    def _header(self) -> KeyPath:
        start = self._at
        line, brackets = self._line(), 2 if self._text.startswith("[[", start) else 1
        self._at += brackets
        path: KeyPath = ()
        *parents, last = self._keys()
        for key in parents:
            path = self._enter((*path, key), line)
        path = (*path, last)
        if brackets == 2:
            self._tables[path] = self._tables.get(path, -1) + 1
            self.lines.setdefault(path, line)
            path = (*path, self._tables[path])
        self.lines[path] = line
        self._at += brackets
        self.spans.headers[path] = (start, self._at)
        return path

    def _enter(self, path: KeyPath, line: int) -> KeyPath:
        self.lines.setdefault(path, line)
        return (*path, self._tables[path]) if path in self._tables else path

    def _pair(self, table: KeyPath) -> None:
        start, line, path = self._at, self._line(), table
        for key in self._keys():
            path = (*path, key)
            self.lines.setdefault(path, line)
        self._at += 1  # the equals sign
        self._value(path)
        self.spans.pairs[path] = (start, self._at)

    def _keys(self) -> list[str]:
        """The parts of a dotted key; stops at what follows them."""
        keys: list[str] = []
        while True:
            self._skip(_SPACE)
            keys.append(_unquoted(self._skip(_KEY)))
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return keys
            self._at += 1

    def _value(self, path: KeyPath) -> None:
        self._skip(_SPACE)
        start, opening = self._at, self._text[self._at]
        if opening == "[":
            self._array(path)
        elif opening == "{":
            self._inline_table(path)
        else:
            self._skip(_STRING if opening in "\"'" else _SCALAR)
        self.spans.values[path] = (start, self._at)

    def _array(self, path: KeyPath) -> None:
        index = 0
        while self._next_element("]"):
            self.lines[(*path, index)] = self._line()
            self._value((*path, index))
            index += 1

    def _inline_table(self, path: KeyPath) -> None:
        while self._next_element("}"):
            self._pair(path)

    def _next_element(self, closing: str) -> bool:
        """Step over the opening bracket or comma; at the closing bracket step behind it."""
        self._skip(_BLANK)
        if self._text[self._at] in "[{,":
            self._at += 1
            self._skip(_BLANK)
        if self._text[self._at] == closing:
            self._at += 1
            return False
        return True

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise ValueError(f"not valid TOML at line {self._line()}")
        self._at = match.end()
        return match.group()

    def _line(self) -> int:
        return bisect_right(self._starts, self._at) + 1


def _unquoted(key: str) -> str:
    if key[0] == '"':
        import tomllib

        value: str = tomllib.loads(f"key = {key}")["key"]
        return value
    return key.strip("'")
