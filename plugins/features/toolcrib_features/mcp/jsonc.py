"""Reads JSON as people keep it, with comments and trailing commas, and tells lines of keys."""

from __future__ import annotations

import re
from bisect import bisect_right
from json.decoder import JSONDecodeError
from json.decoder import scanstring as _scanstring  # type: ignore[attr-defined]
from math import isfinite
from typing import Any

from attrs import field, frozen

Path = tuple[str | int, ...]

_DEPTH = 64
_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?(?:[eE][+-]?\d{1,9})?")
_WORDS = {"true": True, "false": False, "null": None}


class JsonError(Exception):
    """Text that is no JSON; says where."""

    def __init__(self, text: str, *, line: int, column: int) -> None:
        super().__init__(text)
        self.line = line
        self.column = column


@frozen(kw_only=True)
class Document:
    """What a file says.

    Attributes:
        lines: where each key and element stands, counted from 1.
        repeated: keys that their object has twice; the last one counts.
        plain: it is JSON to everybody: without comments and trailing commas.
    """

    data: Any
    lines: dict[Path, int] = field(repr=False)
    repeated: tuple[Path, ...] = ()
    plain: bool = True

    def line(self, path: Path) -> int | None:
        """The line of the path, or else of the nearest one around it."""
        for length in range(len(path), -1, -1):
            if (line := self.lines.get(path[:length])) is not None:
                return line
        return None


def parse(text: str) -> Document:
    """Read a document; raises JsonError, which names the place."""
    scanner = _Scanner(text)
    data = scanner.document()
    return Document(
        data=data, lines=scanner.lines, repeated=tuple(scanner.repeated), plain=scanner.plain
    )


class _Scanner:
    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {}
        self.repeated: list[Path] = []
        self.plain = True
        self._text = text
        self._at = 0
        self._starts = [match.end() for match in re.finditer("\n", text)]

    def document(self) -> Any:
        self._skip()
        data = self._value(())
        self._skip()
        if self._at < len(self._text):
            raise self._error("there is more text behind the end of the JSON value")
        return data

    def _value(self, path: Path) -> Any:
        if len(path) > _DEPTH:
            raise self._error(f"nested more than {_DEPTH} deep")
        self.lines.setdefault(path, self._line(self._at))
        opening = self._text[self._at : self._at + 1]
        if opening == "{":
            return self._object(path)
        if opening == "[":
            return self._array(path)
        if opening == '"':
            return self._string()
        return self._scalar()

    def _object(self, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self._next("}", first=not found):
            if self._text[self._at : self._at + 1] != '"':
                raise self._error("expected a key in double quotes")
            place = self._at
            key = self._string()
            if key in found:
                self.repeated.append((*path, key))
            self.lines[(*path, key)] = self._line(place)
            self._skip()
            if self._text[self._at : self._at + 1] != ":":
                raise self._error("expected ':' behind the key")
            self._at += 1
            self._skip()
            found[key] = self._value((*path, key))
        return found

    def _array(self, path: Path) -> list[Any]:
        found: list[Any] = []
        while self._next("]", first=not found):
            found.append(self._value((*path, len(found))))
        return found

    def _next(self, closing: str, *, first: bool) -> bool:
        """Step to the next element, or behind the closing bracket."""
        if first:
            self._at += 1
        self._skip()
        if not first and self._text[self._at : self._at + 1] == ",":
            self._at += 1
            self._skip()
            if self._text[self._at : self._at + 1] == closing:
                self.plain = False
        elif not first and self._text[self._at : self._at + 1] != closing:
            raise self._error(f"expected ',' or {closing!r}")
        if self._text[self._at : self._at + 1] == closing:
            self._at += 1
            return False
        return True

    def _string(self) -> str:
        try:
            value: str
            value, self._at = _scanstring(self._text, self._at + 1, True)
        except JSONDecodeError as error:
            self._at = error.pos
            raise self._error(error.msg.removesuffix(" at").lower()) from None
        return value

    def _scalar(self) -> Any:
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return value
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            raise self._error("expected a JSON value")
        digits = match.group()
        number = int(digits) if digits.lstrip("-").isdigit() else float(digits)
        if not isfinite(number):
            raise self._error("the number is too large")
        self._at = match.end()
        return number

    def _skip(self) -> None:
        match = _GAP.match(self._text, self._at)
        assert match is not None, "a gap may be empty"
        if "/" in match.group():
            self.plain = False
        self._at = match.end()

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at) + 1

    def _error(self, text: str) -> JsonError:
        line = self._line(self._at)
        start = self._starts[line - 2] if line > 1 else 0
        return JsonError(text, line=line, column=self._at - start + 1)
