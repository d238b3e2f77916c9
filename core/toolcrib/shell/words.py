"""Reads one word of a script: quotes, escapes, expansions, globs, and the commands inside it."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from toolcrib.shell.findings import Findings, Scope, Unparsable
from toolcrib.shell.model import UNKNOWN, Word

if TYPE_CHECKING:
    from typing import Literal

    Quoting = Literal["", '"', "<<"]

_WHOLE = re.compile(r"[A-Za-z0-9_./:@%+,^=-]+(?=[ \t\n;|&)]|\Z)", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,^=-]+", re.ASCII)
_QUOTED_PLAIN = re.compile(r'[^"$`\\]+')
_TEXT_PLAIN = re.compile(r"[^$`\\]+")
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PARAMETER = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])", re.ASCII)
_TILDE = re.compile(r"~([^/\s\"'\\$`;|&()<>:{}*?\[\]]*)", re.ASCII)
_TILDE_AFTER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=", re.ASCII)
_ANSI_ESCAPE = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})"
    r"|U([0-9a-fA-F]{1,8}))",
    re.ASCII,
)
_ANSI_LETTERS = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
_ANSI_STRING = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_BRACED = re.compile(
    r"\$\{(?:#(?:[A-Za-z_]\w*|[0-9]+|[@*])(?:\[[@*0-9]+\])?\}"
    r"|!(?:[A-Za-z_]\w*)\[[@*]\]\}"
    r"|([A-Za-z_]\w*|[0-9]+|[@*#?$!-])(\[(?:[@*]|-?[0-9]+|\$?[A-Za-z_]\w*)\])?)",
    re.ASCII,
)
_LENGTH = re.compile(r"\$\{#[A-Za-z_]\w*(?:\[[@*]\])?\}|\$[#?$]", re.ASCII)
_OPERATION = re.compile(r":?[-=?+]|##?|%%?|//?|\^\^?|,,?|@[UuLQEAKak]")
_SLICE = re.compile(r":[ ]?-?[0-9]+(?::-?[0-9]+)?\}")
_NUMERAL = re.compile(r"[0-9]+(?:[xX][0-9a-fA-F]+|#[0-9a-zA-Z]+)?", re.ASCII)
_SIGNS = re.compile(r"[\s+\-*/%<>=!&|^~?:,]")
_SETS = re.compile(r"\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)")
_GLOB_SPECIAL = re.compile(r"([*?\[\]{},\\~!^-])")

_LITERAL, _QUOTED, _SPECIAL, _EXPANDED = range(4)
_Item = tuple[int, str]


class WordReader:
    """A position in a script, and how to read a word there."""

    def __init__(self, text: str, findings: Findings, scope: Scope, *, depth: int) -> None:
        self.text = text
        self.end = len(text)
        self.pos = 0
        self.findings = findings
        self.scope = scope
        self.depth = depth
        self.quoted = False
        """Whether a part of the word that was read last is quoted."""

    # What a parser of whole scripts adds.

    def substitution(self) -> None:
        """Read the commands of `$(`, `<(` or `>(` up to its end; the position is at its `(`."""
        raise NotImplementedError

    def script_inside(self, script: str, *, quoting: Quoting) -> None:
        """Read the commands of a text that is a script by itself."""
        raise NotImplementedError

    def peek(self, offset: int = 0) -> str:
        at = self.pos + offset
        return self.text[at] if at < self.end else ""

    def fail(self, reason: str, at: int | None = None) -> Unparsable:
        start = self.pos if at is None else at
        piece = self.text[start : start + 40].split("\n", 1)[0]
        return Unparsable(f"{reason}: {piece}" if piece else reason)

    def word(self, *, assigned: bool = False, regex: bool = False) -> Word:
        """Read the word at the position.

        Args:
            assigned: it is the value of an assignment, in which no glob or brace expands.
            regex: it stands behind `=~`, where parentheses and bars are part of it.
        """
        self.quoted = False
        start = self.pos
        if whole := _WHOLE.match(self.text, start):
            self.pos = whole.end()
            piece = whole.group()
            return Word(piece, piece)
        items: list[_Item] = []
        self._tilde(items)
        while self.pos < self.end:
            char = self.text[self.pos]
            if regex and char in "(|)":
                items.append((_LITERAL, char))
                self.pos += 1
            elif not self._item(char, items):
                break
            elif self.peek() == "~" and _tilde_expands_behind(items, assigned=assigned):
                self._tilde(items)
        source = self.text[start : self.pos]
        if not source:
            raise self.fail("a word is missing")
        return _made(source, items, expands=not assigned)

    def _item(self, char: str, items: list[_Item]) -> bool:
        """Read one part of a word; False at the end of the word."""
        if plain := _PLAIN.match(self.text, self.pos):
            items.append((_LITERAL, plain.group()))
            self.pos = plain.end()
        elif char in " \t\n|&;)":
            return False
        elif char in "<>":
            if self.peek(1) != "(":
                return False
            self.bash_only("a process substitution")
            self.pos += 1
            self.substitution()
            items.append((_EXPANDED, UNKNOWN))
        elif char == "(":
            if items and self.text[self.pos - 1] in "?*+@!=":
                raise self.fail("an extended pattern or an array", self.pos - 1)
            return False
        elif char == "'":
            close = self.text.find("'", self.pos + 1)
            if close < 0:
                raise self.fail("unterminated quote")
            self._quote(items, self.text[self.pos + 1 : close])
            self.pos = close + 1
        elif char == '"':
            self._double_quotes(items)
        elif char == "\\":
            self._backslash(items)
        elif char == "$":
            self._dollar(items, quoting="")
        elif char == "`":
            self._backticks(quoting="")
            items.append((_EXPANDED, UNKNOWN))
        elif char in "*?[]{}":
            items.append((_SPECIAL, char))
            self.pos += 1
        else:
            if char > "\x7f" and (char.isspace() or unicodedata.category(char) in ("Cf", "Zs")):
                raise self.fail(f"an unusual blank U+{ord(char):04X} outside of quotes")
            items.append((_LITERAL, char))
            self.pos += 1
        return True

    def _quote(self, items: list[_Item], text: str) -> None:
        self.quoted = True
        items.append((_QUOTED, text))

    def bash_only(self, what: str) -> None:
        if self.scope.posix:
            raise self.fail(f"{what} in a script for a shell that may not know it")

    def _tilde(self, items: list[_Item]) -> None:
        tilde = _TILDE.match(self.text, self.pos)
        if tilde is None:
            return
        after = self.text[tilde.end() : tilde.end() + 1]
        if after and after in "\"'\\$`{}*?[]":
            if after not in "\"'\\":
                items.append((_EXPANDED, UNKNOWN))
                self.pos = tilde.end()
            return
        self.pos = tilde.end()
        self.findings.home_used = True
        home = self.scope.home_dir if not tilde.group(1) else None
        items.append((_EXPANDED, UNKNOWN) if home is None else (_QUOTED, home))

    def _backslash(self, items: list[_Item]) -> None:
        following = self.peek(1)
        if not following:
            raise self.fail("a backslash at the end")
        if following != "\n":
            self._quote(items, following)
        self.pos += 2

    def _double_quotes(self, items: list[_Item]) -> None:
        start = self.pos
        self.pos += 1
        self._quote(items, "")
        while self.pos < self.end:
            char = self.text[self.pos]
            if char == '"':
                self.pos += 1
                return
            if plain := _QUOTED_PLAIN.match(self.text, self.pos):
                items.append((_QUOTED, plain.group()))
                self.pos = plain.end()
            elif char == "$":
                self._dollar(items, quoting='"')
            elif char == "`":
                self._backticks(quoting='"')
                items.append((_EXPANDED, UNKNOWN))
            else:
                self._quoted_backslash(items)
        raise self.fail("unterminated quote", start)

    def _quoted_backslash(self, items: list[_Item]) -> None:
        following = self.peek(1)
        if following and following in '$`"\\':
            items.append((_QUOTED, following))
        elif following != "\n":
            items.append((_QUOTED, "\\" + following))
        self.pos += 2

    def expansions(self) -> None:
        """Read the text of a here-document, in which only expansions count."""
        while self.pos < self.end:
            char = self.text[self.pos]
            if plain := _TEXT_PLAIN.match(self.text, self.pos):
                self.pos = plain.end()
            elif char == "$":
                self._dollar([], quoting="<<")
            elif char == "`":
                self._backticks(quoting="<<")
            else:
                self.pos += 2

    def _dollar(self, items: list[_Item], *, quoting: Quoting) -> None:
        if parameter := _PARAMETER.match(self.text, self.pos):
            self.pos = parameter.end()
            items.append((_EXPANDED, UNKNOWN))
            return
        following = self.peek(1)
        if following == "(":
            self._parenthesis()
        elif following == "{":
            self._parameter(quoting)
        elif following == "'" and not quoting:
            self._ansi(items)
            return
        elif following == '"' and not quoting:
            raise self.fail("a translated string")
        elif following == "[":
            raise self.fail("an old arithmetic expansion")
        elif following == "\\" and self.peek(2) == "\n":
            raise self.fail("a line that is continued behind a dollar sign")
        else:
            items.append((_QUOTED if quoting else _LITERAL, "$"))
            self.pos += 1
            return
        items.append((_EXPANDED, UNKNOWN))

    def _parenthesis(self) -> None:
        self.pos += 1
        if self.peek(1) == "(":
            self.pos += 2
            self.arithmetic()
        else:
            self.substitution()

    def _backticks(self, *, quoting: Quoting) -> None:
        found = _BACKTICKS.match(self.text, self.pos)
        if found is None:
            raise self.fail("unterminated backtick")
        script = found.group(1)
        if quoting and "\\" in script:
            raise self.fail("a backslash between backticks between quotes")
        self.script_inside(re.sub(r"\\([$`\\])", r"\1", script), quoting=quoting)
        self.pos = found.end()

    def _ansi(self, items: list[_Item]) -> None:
        self.bash_only("$'...'")
        found = _ANSI_STRING.match(self.text, self.pos)
        if found is None:
            raise self.fail("unterminated quote")
        text = _ANSI_ESCAPE.sub(_ansi_escape, found.group(1))
        rest = _ANSI_ESCAPE.sub("", found.group(1))
        if "\\" in rest or "\0" in text or UNKNOWN in text:
            raise self.fail("an escape that is not supported")
        self._quote(items, text)
        self.pos = found.end()

    def _parameter(self, quoting: Quoting) -> None:
        start = self.pos
        found = _BRACED.match(self.text, start)
        if found is None:
            raise self.fail("an expansion that may evaluate a text")
        self.pos = found.end()
        name, subscript = found.groups()
        if name is None:
            return
        if subscript and (index := _NAME.search(subscript)):
            self.findings.numbers.add(index.group())
        if self.peek() == "}":
            self.pos += 1
            return
        if part := _SLICE.match(self.text, self.pos):
            self.pos = part.end()
            return
        operation = _OPERATION.match(self.text, self.pos)
        if operation is None:
            raise self.fail("an expansion that may evaluate a text", start)
        if operation.group() in (":=", "="):
            self.findings.assign(name, number=False)
        self.pos = operation.end()
        self._operand(quoting, start)

    def _operand(self, quoting: Quoting, start: int) -> None:
        """Read what stands behind the operator of `${name:-...}`, and its brace."""
        while self.pos < self.end:
            char = self.text[self.pos]
            if char == "}":
                self.pos += 1
                return
            if char == "$":
                self._dollar([], quoting=quoting)
            elif char == "`":
                self._backticks(quoting=quoting)
            elif char == "\\" and self.peek(1) not in ("", "\n") and not quoting:
                self.pos += 2
            elif char in "\"'" and not quoting:
                self._item(char, [])
            elif char in "\"'\\{\n" or (char in "<>" and self.peek(1) == "("):
                raise self.fail("an expansion that is not supported", start)
            else:
                self.pos += 1
        raise self.fail("unterminated expansion", start)

    def arithmetic(self, *, semicolons: bool = False) -> None:
        """Read an arithmetic expression and the two parentheses that close it."""
        start = self.pos
        level = 0
        while self.pos < self.end:
            char = self.text[self.pos]
            if _SIGNS.match(char) or (semicolons and char == ";"):
                self.pos += 1
            elif char == "(":
                level += 1
                self.pos += 1
            elif char == ")":
                self.pos += 1
                if level == 0:
                    if self.peek() != ")":
                        raise self.fail("parentheses that may hold arithmetic or commands", start)
                    self.pos += 1
                    return
                level -= 1
            elif not self._operand_of_arithmetic(char):
                raise self.fail("arithmetic that is not supported", start)
        raise self.fail("unterminated arithmetic", start)

    def _operand_of_arithmetic(self, char: str) -> bool:
        if numeral := _NUMERAL.match(self.text, self.pos):
            self.pos = numeral.end()
            return not _NAME.match(self.text, self.pos)
        if name := _NAME.match(self.text, self.pos):
            self.pos = name.end()
            self.findings.numbers.add(name.group())
            if _SETS.match(self.text, self.pos):
                self.findings.assign(name.group(), number=True)
            return self.peek() != "["
        if char != "$":
            return False
        if length := _LENGTH.match(self.text, self.pos):
            self.pos = length.end()
            return True
        start = self.pos
        self._dollar([], quoting="")
        source = self.text[start : self.pos].strip("${}")
        if _NAME.fullmatch(source):
            self.findings.numbers.add(source)
        elif not self.text.startswith("$((", start):
            piece = self.text[start : self.pos]
            self.findings.note(f"arithmetic on {piece}, whose text may run commands")
        return True


def _ansi_escape(found: re.Match[str]) -> str:
    letter, octal, *hexadecimal = found.groups()
    if letter:
        return _ANSI_LETTERS[letter]
    code = int(octal, 8) if octal else int(next(filter(None, hexadecimal)), 16)
    wide = bool(hexadecimal[1] or hexadecimal[2])
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF or (code > 0x7F and not wide):
        return "\0"
    return chr(code)


def _tilde_expands_behind(items: list[_Item], *, assigned: bool) -> bool:
    if not items or items[-1][0] != _LITERAL:
        return False
    if assigned:
        return items[-1][1].endswith(":")
    return bool(_TILDE_AFTER_NAME.match(items[0][1])) and items[-1][1][-1] in "=:"


def _made(source: str, items: list[_Item], *, expands: bool) -> Word:
    unknown = _expanding(items) if expands else set()
    text = []
    for index, (kind, value) in enumerate(items):
        if index not in unknown:
            text.append(value)
        elif index - 1 not in unknown or kind == _EXPANDED:
            text.append(UNKNOWN)
    glob = None
    if unknown and all(kind != _EXPANDED and value != "~" for kind, value in items):
        glob = "".join(
            _GLOB_SPECIAL.sub(r"\\\1", value) if kind == _QUOTED else value for kind, value in items
        )
    return Word(source, "".join(text), glob)


def _expanding(items: list[_Item]) -> set[int]:
    """The indexes of the items that globs and brace expansions replace."""
    special = [(index, value) for index, (kind, value) in enumerate(items) if kind == _SPECIAL]
    unknown = {index for index, value in special if value in "*?"}
    for opening, closing in ("[]", "{}"):
        first = next((index for index, value in special if value == opening), None)
        last = next((index for index, value in reversed(special) if value == closing), None)
        if first is None or last is None or last < first:
            continue
        if opening == "[" or _lists(items[first:last]):
            unknown.update(range(first, last + 1))
    return unknown


def _lists(items: list[_Item]) -> bool:
    text = "".join(text for kind, text in items if kind == _LITERAL)
    return "," in text or ".." in text
