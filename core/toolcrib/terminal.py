"""From the raw bytes of a command to the text that a reader wants: no escape codes, no progress."""

from __future__ import annotations

import codecs
import re

from attrs import define, field

HELD_CHARS = 65_536
"""How much of a line is held back because a carriage return may still overwrite it."""

_SEQUENCE = re.compile(
    r"\x1b(?:"
    r"\[[0-?]{0,64}[ -/]{0,4}[@-~]"  # control sequences: colours, cursor movements
    r"|[\]PX^_][^\x07\x18\x1a\x1b\n]*(?:[\x07\x18\x1a]|(?=[\x1b\n]|\Z))"  # titles, links, pictures
    r"|[ -/]{1,4}[0-~]"
    r"|[0-OQ-WYZ\\`-~]"
    r")?"
)
_BEGUN_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]{0,64})?[ -/]{0,4}\Z")
_BEGUN_STRING = re.compile(r"\x1b[\]PX^_][^\x07\x18\x1a\x1b\n]*\Z")
_STRING_END = re.compile(r"[\x07\x18\x1a]|(?=[\x1b\n])")
_TO_LINE_START = frozenset({"\x1b[2K", "\x1b[G", "\x1b[1G"})
_RUNS = re.compile(r"[^\r\b\n]+|[\r\b\n]")


@define
class TerminalText:
    """Cleans the output of one command, piece by piece.

    UTF-8 is decoded across pieces (bytes that are none become U+FFFD), escape sequences and bells
    go, NUL becomes a visible symbol, and of what carriage returns and backspaces rewrite only the
    last state stays. How the bytes are cut into pieces never changes the text.
    """

    nul_replaced: bool = field(default=False, init=False)
    """Whether a NUL was replaced."""
    _decode: codecs.IncrementalDecoder = field(
        factory=lambda: codecs.getincrementaldecoder("utf-8")("replace"), init=False, repr=False
    )
    _begun: str = field(default="", init=False)
    _in_string: bool = field(default=False, init=False)
    _line: str = field(default="", init=False, repr=False)
    _back: int = field(default=0, init=False)

    def feed(self, data: bytes) -> str:
        """Take the next bytes and give the text that can no longer change."""
        return self._settle(self._plain(self._decode.decode(data)))

    def finish(self) -> str:
        """Give what was held back, at the end of the output."""
        text = self._settle(self._plain(self._decode.decode(b"", final=True))) + self._line
        self._line, self._begun, self._back = "", "", 0
        return text

    @property
    def held(self) -> str:
        """The line that is being written, as it is now: it may still change."""
        return self._line

    def _plain(self, text: str) -> str:
        """The text without escape sequences, bells and NULs."""
        if "\x1b" in text or self._begun or self._in_string:
            text = self._without_sequences(self._begun + text)
        if "\0" in text:
            self.nul_replaced = True
            text = text.replace("\0", "␀")
        return text.replace("\a", "") if "\a" in text else text

    def _without_sequences(self, text: str) -> str:
        self._begun = ""
        start = 0
        if self._in_string:
            end = _STRING_END.search(text)
            if end is None:
                return ""
            start = end.end()
            self._in_string = False
        last = text.rfind("\x1b", start)
        if last >= 0 and _BEGUN_SEQUENCE.match(text, last):
            self._begun = text[last:]
        elif last >= 0 and _BEGUN_STRING.match(text, last):
            self._in_string = True
        else:
            last = len(text)
        return _SEQUENCE.sub(_replacement, text[start:last])

    def _settle(self, text: str) -> str:
        """Hold the line that is being written, and let go of those before it."""
        if self._back or "\r" in text or "\b" in text:
            return "".join(map(self._write, _RUNS.findall(text)))
        return self._append(text)

    def _write(self, run: str) -> str:
        if run == "\r":
            self._back = len(self._line)
        elif run == "\b":
            self._back = min(self._back + 1, len(self._line))
        elif run == "\n":
            self._back = 0
            return self._append(run)
        else:
            # Only now, so that a line which ends in a carriage return keeps its last state.
            self._line = self._line[: len(self._line) - self._back]
            self._back = 0
            return self._append(run)
        return ""

    def _append(self, text: str) -> str:
        line = self._line + text
        settled = line.rfind("\n") + 1
        settled += (len(line) - settled) // HELD_CHARS * HELD_CHARS
        self._line = line[settled:]
        return line[:settled]


def _replacement(sequence: re.Match[str]) -> str:
    return "\r" if sequence[0] in _TO_LINE_START else ""
