"""A position in a script, and what is known there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from toolcrib.shell.findings import MAX_DEPTH, Findings, Scope, Unparsable
from toolcrib.shell.folders import Folder
from toolcrib.shell.pieces import QUOTED, Piece

Quoting = Literal["", '"', "<<"]
"""Where an expansion stands: bare, between double quotes, or in a here-document."""


class Reader:
    """What all parts of the parser share.

    Attributes:
        cwd: the folder at the position.
        outcome: the folder behind the last command, when it has succeeded and when it has failed.
        moved: whether a `cd` has been read that is not in a subshell.
        via: the programs that run what is read.
        depth: how many commands and scripts stand around the position.
        quoted: whether a part of the word that was read last is quoted.
    """

    def __init__(
        self,
        text: str,
        findings: Findings,
        scope: Scope,
        *,
        cwd: Folder,
        depth: int = 0,
        via: tuple[str, ...] = (),
    ) -> None:
        self.text = text
        self.end = len(text)
        self.pos = 0
        self.findings = findings
        self.scope = scope
        self.cwd = cwd
        self.outcome = (cwd, cwd)
        self.moved = False
        self.via = via
        self.depth = depth
        self.quoted = False

    def substitution(self) -> None:
        """Read the commands of `$(`, `<(` or `>(` up to its end; the position is at its `(`."""
        raise NotImplementedError

    def script_inside(self, script: str) -> None:
        """Read the commands of a text that is a script by itself."""
        raise NotImplementedError

    def set_by_syntax(self, name: str, source: str, *, number: bool) -> None:
        """Note a variable that a loop, arithmetic or an expansion sets."""
        raise NotImplementedError

    def part(self, char: str, pieces: list[Piece]) -> bool:
        """Read one part of a word; False at the end of the word."""
        raise NotImplementedError

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Read what may not be run, or whose variables are its own."""
        settled = set(self.findings.settled)
        try:
            yield
        finally:
            self.findings.settled = settled

    def quote(self, pieces: list[Piece], text: str) -> None:
        """Add a quoted part to a word."""
        self.quoted = True
        pieces.append((QUOTED, text))

    def peek(self, offset: int = 0) -> str:
        at = self.pos + offset
        return self.text[at] if at < self.end else ""

    def fail(self, reason: str, at: int | None = None) -> Unparsable:
        start = self.pos if at is None else at
        piece = self.text[start : start + 40].split("\n", 1)[0]
        return Unparsable(f"{reason}: {piece}" if piece else reason)

    def bash_only(self, what: str) -> None:
        if self.scope.posix:
            raise self.fail(f"{what} in a script for a shell that may not know it")

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Count one level more."""
        if self.depth >= MAX_DEPTH:
            raise self.fail("commands that are nested too deeply")
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
