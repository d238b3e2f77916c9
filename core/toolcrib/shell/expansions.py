"""Reads what a dollar sign or a backtick begins, and the commands inside it."""

from __future__ import annotations

import re

from toolcrib.shell.model import UNKNOWN
from toolcrib.shell.pieces import EXPANDED, LITERAL, QUOTED, Piece
from toolcrib.shell.reading import Quoting, Reader

_TEXT_PLAIN = re.compile(r"[^$`\\]+")
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PARAMETER = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])", re.ASCII)
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
_SET_FIRST = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)", re.ASCII)
_SETS = re.compile(r"\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)")


class ExpansionReader(Reader):
    """Reads expansions: of parameters, commands and arithmetic."""

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

    def _dollar(self, pieces: list[Piece], *, quoting: Quoting) -> None:
        if parameter := _PARAMETER.match(self.text, self.pos):
            self.pos = parameter.end()
            pieces.append((EXPANDED, UNKNOWN))
            return
        following = self.peek(1)
        if following == "(":
            self._parenthesis()
        elif following == "{":
            self._parameter(quoting)
        elif following == "'" and not quoting:
            self._ansi(pieces)
            return
        elif following == '"' and not quoting:
            raise self.fail("a translated string")
        elif following == "[":
            raise self.fail("an old arithmetic expansion")
        elif following == "\\" and self.peek(2) == "\n":
            raise self.fail("a line that is continued behind a dollar sign")
        else:
            pieces.append((QUOTED if quoting else LITERAL, "$"))
            self.pos += 1
            return
        pieces.append((EXPANDED, UNKNOWN))

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
            self.findings.note(f"a backslash between backticks between quotes: `{script[:40]}`")
        self.script_inside(re.sub(r"\\([$`\\])", r"\1", script))
        self.pos = found.end()

    def _ansi(self, pieces: list[Piece]) -> None:
        self.bash_only("$'...'")
        found = _ANSI_STRING.match(self.text, self.pos)
        if found is None:
            raise self.fail("unterminated quote")
        text = _ANSI_ESCAPE.sub(_ansi_escape, found.group(1))
        rest = _ANSI_ESCAPE.sub("", found.group(1))
        if "\\" in rest or "\0" in text or UNKNOWN in text:
            raise self.fail("an escape that is not supported")
        self.quote(pieces, text)
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
            self.findings.evaluate(index.group())
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
            self.set_by_syntax(name, self.text[start : self.pos], number=False)
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
                self.part(char, [])
            elif char in "\"'\\{\n" or (char in "<>" and self.peek(1) == "("):
                raise self.fail("an expansion that is not supported", start)
            else:
                self.pos += 1
        raise self.fail("unterminated expansion", start)

    def arithmetic(self, *, semicolons: bool = False) -> None:
        """Read an arithmetic expression and the two parentheses that close it."""
        start = self.pos
        first: tuple[str, ...] = ()
        if setting := _SET_FIRST.match(self.text, start):
            self.set_by_syntax(setting.group(1), setting.group().strip(), number=True)
            self.pos = setting.end()
            first = (setting.group(1),)
        level = 0
        while self.pos < self.end:
            char = self.text[self.pos]
            if semicolons and char == ";":
                self.findings.settled.update(first)
                self.pos += 1
            elif _SIGNS.match(char):
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
                    self.findings.settled.update(first)
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
            self.findings.evaluate(name.group())
            if _SETS.match(self.text, self.pos):
                self.set_by_syntax(name.group(), name.group(), number=True)
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
            self.findings.evaluate(source)
        elif not self.text.startswith("$((", start):
            piece = self.text[start : self.pos]
            self.findings.note(f"arithmetic on {piece}, whose text is evaluated")
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
