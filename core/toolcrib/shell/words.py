"""Reads one word of a script: quotes, escapes, expansions, globs, and the commands inside it."""

from __future__ import annotations

import re
import unicodedata

from toolcrib.shell.expansions import ExpansionReader
from toolcrib.shell.findings import Unparsable
from toolcrib.shell.model import UNKNOWN, Word
from toolcrib.shell.pieces import (
    EXPANDED,
    LITERAL,
    QUOTED,
    SPECIAL,
    Piece,
    made,
    tilde_expands_behind,
)

RESERVED = (
    r"if|then|elif|else|fi|case|esac|for|select|while|until|do|done|function|time|coproc"
    r"|\{|\}|!|\[\["
)
RESERVED_WORD = re.compile(rf"{RESERVED}|\]\]|in")
_WHOLE = re.compile(r"[A-Za-z0-9_./:@%+,^=-]+(?=[ \t\n;|&)]|\Z)", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,^=-]+", re.ASCII)
_QUOTED_PLAIN = re.compile(r'[^"$`\\]+')
_TILDE = re.compile(r"~([^/\s\"'\\$`;|&()<>:{}*?\[\]]*)", re.ASCII)


class WordReader(ExpansionReader):
    """Reads words."""

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
        pieces: list[Piece] = []
        self._tilde(pieces)
        while self.pos < self.end:
            char = self.text[self.pos]
            if regex and char in "(|)":
                pieces.append((LITERAL, char))
                self.pos += 1
            elif not self.part(char, pieces):
                break
            elif self.peek() == "~" and tilde_expands_behind(pieces, assigned=assigned):
                self._tilde(pieces, certain=assigned or not self.scope.posix)
        source = self.text[start : self.pos]
        if not pieces:
            raise self.fail("a word is missing")
        word = made(source, pieces, expands=not assigned)
        if "\\\n" in source:
            self._check_continued(word)
        return word

    def _check_continued(self, word: Word) -> None:
        """Refuse a word that is more than a word because a line is continued in or behind it."""
        if self.peek() and self.peek() in "<>(":
            raise self.fail("a line that is continued before an operator")
        if RESERVED_WORD.fullmatch(word.text) and not self.quoted:
            raise Unparsable(f"a line that is continued in the reserved word {word.text}")

    def part(self, char: str, pieces: list[Piece]) -> bool:
        """Read one part of a word; False at the end of the word."""
        if plain := _PLAIN.match(self.text, self.pos):
            pieces.append((LITERAL, plain.group()))
            self.pos = plain.end()
        elif char in " \t\n|&;)":
            return False
        elif char in "<>":
            if self.peek(1) != "(":
                return False
            self.bash_only("a process substitution")
            self.pos += 1
            self.substitution()
            pieces.append((EXPANDED, UNKNOWN))
        elif char == "(":
            if pieces and self.text[self.pos - 1] in "?*+@!=":
                raise self.fail("an extended pattern or an array", self.pos - 1)
            return False
        elif char == "'":
            close = self.text.find("'", self.pos + 1)
            if close < 0:
                raise self.fail("unterminated quote")
            self.quote(pieces, self.text[self.pos + 1 : close])
            self.pos = close + 1
        elif char == '"':
            self._double_quotes(pieces)
        elif char == "\\":
            self._backslash(pieces)
        elif char == "$":
            self._dollar(pieces, quoting="")
        elif char == "`":
            self._backticks(quoting="")
            pieces.append((EXPANDED, UNKNOWN))
        elif char in "*?[]{}":
            pieces.append((SPECIAL, char))
            self.pos += 1
        else:
            if char > "\x7f" and (char.isspace() or unicodedata.category(char) in ("Cf", "Zs")):
                raise self.fail(f"an unusual blank U+{ord(char):04X} outside of quotes")
            pieces.append((LITERAL, char))
            self.pos += 1
        return True

    def _tilde(self, pieces: list[Piece], *, certain: bool = True) -> None:
        tilde = _TILDE.match(self.text, self.pos)
        if tilde is None:
            return
        if self.text.startswith("\\\n", tilde.end()):
            raise self.fail("a line that is continued behind a tilde")
        after = self.text[tilde.end() : tilde.end() + 1]
        if after and after in "\"'\\$`{}*?[]":
            if after not in "\"'\\":
                pieces.append((EXPANDED, UNKNOWN))
                self.pos = tilde.end()
            return
        self.pos = tilde.end()
        self.findings.home_used = True
        home = self.scope.home_dir if certain and not tilde.group(1) else None
        pieces.append((EXPANDED, UNKNOWN) if home is None else (QUOTED, home))

    def _backslash(self, pieces: list[Piece]) -> None:
        following = self.peek(1)
        if not following:
            raise self.fail("a backslash at the end")
        if following != "\n":
            self.quote(pieces, following)
        self.pos += 2

    def _double_quotes(self, pieces: list[Piece]) -> None:
        start = self.pos
        self.pos += 1
        self.quote(pieces, "")
        while self.pos < self.end:
            char = self.text[self.pos]
            if char == '"':
                self.pos += 1
                return
            if plain := _QUOTED_PLAIN.match(self.text, self.pos):
                pieces.append((QUOTED, plain.group()))
                self.pos = plain.end()
            elif char == "$":
                self._dollar(pieces, quoting='"')
            elif char == "`":
                self._backticks(quoting='"')
                pieces.append((EXPANDED, UNKNOWN))
            else:
                self._quoted_backslash(pieces)
        raise self.fail("unterminated quote", start)

    def _quoted_backslash(self, pieces: list[Piece]) -> None:
        following = self.peek(1)
        if following and following in '$`"\\':
            pieces.append((QUOTED, following))
        elif following != "\n":
            pieces.append((QUOTED, "\\" + following))
        self.pos += 2
