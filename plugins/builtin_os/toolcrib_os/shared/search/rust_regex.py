"""Reads a regular expression in ripgrep's syntax as one of Python's, or says why it cannot."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from attrs import define, field

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_CATEGORIES = {
    "letter": "L",
    "alphabetic": "L",
    "uppercase_letter": "Lu",
    "uppercase": "Lu",
    "lowercase_letter": "Ll",
    "lowercase": "Ll",
    "number": "N",
    "decimal_number": "Nd",
    "punctuation": "P",
    "symbol": "S",
    "mark": "M",
    "separator": "Z",
    "other": "C",
}
_SIMPLE = {"a": r"\x07", "f": r"\f", "n": r"\n", "r": r"\r", "t": r"\t", "v": r"\v"}
_ASSERTIONS = {
    "A": r"\A",
    "z": r"\Z",
    "b": r"\b",
    "B": r"\B",
    "<": r"\b(?=\w)",
    ">": r"\b(?<=\w)",
    "b{start}": r"\b(?=\w)",
    "b{end}": r"\b(?<=\w)",
    "b{start-half}": r"(?<!\w)",
    "b{end-half}": r"(?!\w)",
}
_WORD_BOUNDARY = re.compile(r"b(?:\{(?:start|end)(?:-half)?\})?")
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|[xuU]\{([0-9A-Fa-f]+)\}")
_PROPERTY = re.compile(r"[pP](?:([A-Z])|\{(\^?)(?:gc=)?([\w -]+)\})")
_REPEAT = re.compile(r"[*+?]|\{\s*(?:\d+\s*(?:,\s*\d*)?|,\s*\d+)\s*\}")
_FLAGS = re.compile(r"\?([imsUuxR]*)(?:-([imsUuxR]+))?([:)])")
_NAMED = re.compile(r"\?P?<([A-Za-z_][\w.\[\]]*)>")
_RANGE_OPERATORS = ("&&", "--", "~~")


NO_LINE_FEED = r'the literal "\n" is not allowed in a regex outside of multiline mode'


class RegexError(ValueError):
    """The expression is wrong, or uses something that the Python engine lacks."""


def translate(pattern: str, *, multiline: bool) -> str:
    """Give the same expression in Python's syntax; a line feed needs `multiline`.

    Raises:
        RegexError: with the reason, worded like ripgrep's where it is the same.
    """
    return _Translator(pattern, multiline).translate()


@define
class _Translator:
    pattern: str
    multiline: bool
    position: int = 0
    out: list[str] = field(factory=list)
    # One entry for each open group: the inline flags that hold in it from here on.
    flags: list[list[str]] = field(factory=lambda: [[]])
    repeatable: bool = False

    def translate(self) -> str:
        while self.position < len(self.pattern):
            self._step()
        if len(self.flags) > 1:
            raise RegexError("unclosed group")
        self._close_flags()
        return "".join(self.out)

    def _step(self) -> None:
        character = self.pattern[self.position]
        if character == "\\":
            self._escape()
        elif character == "[":
            self.out.append(self._class())
            self.repeatable = True
        elif character == "(":
            self._open()
        elif character == ")":
            self._close()
        elif character == "|":
            self._alternate()
        elif character in "*+?{":
            self._repeat()
        elif character in "^$.":
            self._put(character, repeatable=True)
        else:
            self._put(re.escape(character), repeatable=True)

    def _put(self, text: str, *, repeatable: bool, width: int = 1) -> None:
        self.out.append(text)
        self.position += width
        self.repeatable = repeatable

    def _open(self) -> None:
        self.position += 1
        rest = self.pattern[self.position :]
        if not rest.startswith("?"):
            self._enter("(")
        elif rest.startswith(("?=", "?!", "?<=", "?<!")):
            raise RegexError("look-around, including look-ahead and look-behind, is not supported")
        elif named := _NAMED.match(rest):
            self.position += named.end()
            self._enter("(")  # nothing asks for the name
        elif flags := _FLAGS.match(rest):
            self.position += flags.end()
            self._inline_flags(flags[1], flags[2] or "", flags[3])
        else:
            raise RegexError(f"unrecognized flag or unclosed group at {rest[:10]!r}")

    def _inline_flags(self, on: str, off: str, end: str) -> None:
        if unsupported := set(on + off) & set("URx") or set(off) & {"u"}:
            raise RegexError(f"the flag {min(unsupported)!r} is not supported by the Python engine")
        on = on.replace("u", "")
        text = f"(?{on}{'-' + off if off else ''}:" if on or off else "(?:"
        if end == ":":
            self._enter(text)
            return
        # Flags on their own hold to the end of the group, its other alternatives included.
        self.out.append(text)
        self.flags[-1].append(text)
        self.repeatable = False

    def _enter(self, text: str) -> None:
        self.out.append(text)
        self.flags.append([])
        self.repeatable = False

    def _close(self) -> None:
        if len(self.flags) == 1:
            raise RegexError("unopened group")
        self._close_flags()
        self.flags.pop()
        self._put(")", repeatable=True)

    def _close_flags(self) -> None:
        self.out.append(")" * len(self.flags[-1]))

    def _alternate(self) -> None:
        self._close_flags()
        self._put("|" + "".join(self.flags[-1]), repeatable=False)

    def _repeat(self) -> None:
        found = _REPEAT.match(self.pattern, self.position)
        if not self.repeatable:
            raise RegexError("repetition operator missing expression")
        if found is None:
            raise RegexError("unclosed counted repetition")
        text = re.sub(r"\s", "", found[0])
        self.position = found.end()
        if self.pattern.startswith("?", self.position):
            text += "?"
            self.position += 1
        if _REPEAT.match(self.pattern, self.position):
            raise RegexError("repeating a repetition is not supported by the Python engine")
        self.out.append(text)
        self.repeatable = False

    def _escape(self) -> None:
        rest = self.pattern[self.position + 1 :]
        if not rest:
            raise RegexError("incomplete escape sequence, reached end of pattern prematurely")
        if found := _WORD_BOUNDARY.match(rest):
            self._put(_ASSERTIONS[found[0]], repeatable=True, width=1 + found.end())
        elif rest[0] in _ASSERTIONS:
            self._put(_ASSERTIONS[rest[0]], repeatable=True, width=2)
        else:
            text, width = _escaped(rest)
            if text == r"\n" and not self.multiline:
                raise RegexError(NO_LINE_FEED)
            self._put(f"[{text}]", repeatable=True, width=1 + width)

    def _class(self) -> str:
        """One bracketed class, from its opening bracket on."""
        self.position += 1
        negated = self.pattern.startswith("^", self.position)
        self.position += negated
        items: list[str] = []
        while True:
            rest = self.pattern[self.position :]
            if not rest:
                raise RegexError("unclosed character class")
            if rest[0] == "]" and items:
                self.position += 1
                return f"[{'^' if negated else ''}{''.join(items)}]"
            items.append(self._class_item(rest))

    def _class_item(self, rest: str) -> str:
        if named := re.match(r"\[:(\^?)(\w+):\]", rest):
            if named[2] not in _CLASSES or named[1]:
                raise RegexError(f"the class {named[0]!r} is not supported by the Python engine")
            self.position += named.end()
            return _CLASSES[named[2]]
        if rest[0] == "[" or rest.startswith(_RANGE_OPERATORS):
            raise RegexError("classes in classes are not supported by the Python engine")
        if rest[0] != "\\":
            self.position += 1
            return rest[0] if rest[0] == "-" else re.escape(rest[0])
        text, width = _escaped(rest[1:])
        self.position += 1 + width
        return text


def _escaped(rest: str) -> tuple[str, int]:
    """What follows a backslash as an item for a class, and its length."""
    if rest[:1] in _SIMPLE:
        return _SIMPLE[rest[0]], 1
    if rest[:1] and rest[0] in "dDsSwW":
        return "\\" + rest[0], 1
    if found := _HEX.match(rest):
        code = int(found[found.lastindex or 0], 16)
        if code > 0x10FFFF:
            raise RegexError(f"{found[0]!r} is not a Unicode scalar value")
        return f"\\U{code:08x}", found.end()
    if found := _PROPERTY.match(rest):
        negated = (rest[0] == "P") != bool(found[2])
        return _category(found[1] or found[3], negated), found.end()
    if rest[:1].isdigit():
        raise RegexError("backreferences are not supported")
    if rest[:1] and (rest[0].isalpha() or not rest[0].isascii()):
        raise RegexError(f"unrecognized escape sequence '\\{rest[0]}'")
    if not rest:
        raise RegexError("incomplete escape sequence, reached end of pattern prematurely")
    return re.escape(rest[0]), 1


@lru_cache(maxsize=32)
def _category(name: str, negated: bool) -> str:
    """All characters of a general category, as ranges for a class."""
    key = _CATEGORIES.get(name.lower().replace(" ", "_"), name)
    ranges: list[str] = []
    start: int | None = None
    seen = False
    for code in range(0x110001):
        belongs = code < 0x110000 and unicodedata.category(chr(code)).startswith(key)
        seen = seen or belongs
        wanted = code < 0x110000 and belongs != negated
        if wanted and start is None:
            start = code
        elif not wanted and start is not None:
            ranges.append(f"\\U{start:08x}-\\U{code - 1:08x}")
            start = None
    if not seen:
        raise RegexError(f"the Unicode property {name!r} is not supported by the Python engine")
    return "".join(ranges)
