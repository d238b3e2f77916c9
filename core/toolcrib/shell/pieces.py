"""Puts a word together from the parts that were read of it."""

from __future__ import annotations

import re

from toolcrib.shell.model import UNKNOWN, Word

LITERAL, QUOTED, SPECIAL, EXPANDED = range(4)
"""Kinds of parts: as written, quoted, a character of globs or braces, not known."""

Piece = tuple[int, str]

_GLOB_SPECIAL = re.compile(r"([*?\[\]{},\\~!^-])")
_TILDE_AFTER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=", re.ASCII)


def made(source: str, pieces: list[Piece], *, expands: bool) -> Word:
    unknown = _expanding(pieces) if expands else set()
    text = []
    for index, (_, value) in enumerate(pieces):
        if index not in unknown:
            text.append(value)
        elif index - 1 not in unknown:
            text.append(UNKNOWN)
    glob = None
    if unknown and all(kind != EXPANDED and value != "~" for kind, value in pieces):
        glob = "".join(
            _GLOB_SPECIAL.sub(r"\\\1", value) if kind == QUOTED else value for kind, value in pieces
        )
    return Word(source, "".join(text), glob)


def _expanding(pieces: list[Piece]) -> set[int]:
    """The indexes of the pieces that globs and brace expansions replace."""
    special = [(index, value) for index, (kind, value) in enumerate(pieces) if kind == SPECIAL]
    unknown = {index for index, value in special if value in "*?"}
    for opening, closing in ("[]", "{}"):
        first = next((index for index, value in special if value == opening), None)
        last = next((index for index, value in reversed(special) if value == closing), None)
        if first is None or last is None or last < first:
            continue
        if opening == "[" or _lists(pieces[first:last]):
            unknown.update(range(first, last + 1))
    return unknown


def _lists(pieces: list[Piece]) -> bool:
    text = "".join(text for kind, text in pieces if kind == LITERAL)
    return "," in text or ".." in text


def tilde_expands_behind(pieces: list[Piece], *, assigned: bool) -> bool:
    if not pieces or pieces[-1][0] != LITERAL:
        return False
    if assigned:
        return pieces[-1][1].endswith(":")
    name = _TILDE_AFTER_NAME.match(pieces[0][1])
    if name is None:
        return False
    return pieces[-1][1].endswith(":") or (len(pieces) == 1 and name.end() == len(pieces[0][1]))
