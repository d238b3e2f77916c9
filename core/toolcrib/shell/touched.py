"""From the operands of a command to the absolute paths that it reads and writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import basename, dirname, normpath

from attrs import Factory, define, frozen

from toolcrib.paths import is_secret_store, is_sensitive_file
from toolcrib.shell.model import UNKNOWN, PathEffect, SimpleCommand, Word

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PIECES = re.compile(r"[=:,@]+")
_FOLDER_VARIABLE = re.compile(r""""?\$(?:\{(?:HOME|PWD)\}|(?:HOME|PWD)\b)""")
_ESCAPED = re.compile(r"\[(?:\\.|[^\]\\])*+(?:\]|\Z)|\\(.)", re.DOTALL)
_SPECIAL = re.compile(r"[*?\[]")
_OWN_FOLDER = re.compile(r"/proc/(?:self|thread-self)(?:/task/\d+)?/(cwd|root)(?=/|\Z)")


@frozen
class Place:
    """Where a word leads: an absolute path or pattern; no path if that is not known."""

    path: str | None
    glob: bool = False
    through: str | None = None


@define
class Touched:
    """Collects what one command touches."""

    command: SimpleCommand
    home_dir: str | None
    effects: list[PathEffect] = Factory(list)

    @property
    def cwd(self) -> Word:
        """The folder that the command runs in, as if it were written."""
        return Word(".", ".")

    def read(
        self,
        word: Word,
        *,
        recursive: bool = False,
        hidden: bool = True,
        names: tuple[str, ...] = (),
        by: str | None = None,
    ) -> None:
        """Note that a path is read."""
        blank = PathEffect(
            operation="read", path=None, recursive=recursive, hidden=hidden, names=names
        )
        self._note(blank, word, by)

    def list(self, word: Word) -> None:
        """Note that names and sizes are shown."""
        self._note(PathEffect(operation="list", path=None), word, None)

    def write(self, word: Word, *, recursive: bool = False, by: str | None = None) -> None:
        """Note that a path is written."""
        self._note(PathEffect(operation="write", path=None, recursive=recursive), word, by)

    def read_unknown(self, word: Word) -> None:
        """Note that paths are read which the word does not tell."""
        self.read(Word(word.source, UNKNOWN))

    def write_unknown(self, word: Word) -> None:
        """Note that paths are written which the word does not tell."""
        self.write(Word(word.source, UNKNOWN))

    def write_into(self, folder: Word, source: Word, *, recursive: bool = False) -> None:
        """Note that a file or folder comes to lie in a folder, under the name that it has."""
        inside = _inside(folder, source)
        if inside is None:
            self.write(folder, recursive=recursive)
        else:
            self.write(inside, recursive=recursive)

    def read_if_path(self, word: Word) -> None:
        """Note a read of what looks like a path in a word that nobody knows the meaning of."""
        if word.glob is not None:
            self.read(word)
            return
        for text in _looks_like_paths(word.text):
            self.read(Word(word.source, text))

    def _note(self, blank: PathEffect, word: Word, by: str | None) -> None:
        if word.source.startswith(("<(", ">(")):
            return  # a pipe to commands that are judged by themselves
        if (
            word.source == "{}"
            and self.command.via[-1:] == ("find",)
            and blank.operation != "write"
        ):
            return  # below the folders of find, which reads them itself then
        for place in (self.place(word), self._likely(word)):
            if place is not None:
                self.effects.append(
                    PathEffect(
                        operation=blank.operation,
                        path=place.path,
                        glob=place.glob,
                        recursive=blank.recursive,
                        hidden=blank.hidden,
                        names=blank.names,
                        word=word.source,
                        program=by or self.command.program or "",
                        through=place.through,
                    )
                )

    def place(self, word: Word) -> Place:
        """Where a word leads."""
        if word.glob is not None:
            pattern = self._pattern(word)
            if pattern is None:
                return Place(None, glob=True)
            through = pattern if ".." in pattern.split("/") else None
            return Place(_normal(pattern), glob=True, through=through)
        text = word.text
        if not word.literal or "\0" in text:
            return Place(None)
        if text.startswith("~") and not word.source.startswith(("'", '"', "\\", "$")):
            return self._at(self._home(text))
        if text.startswith("/"):
            return self._at(text)
        return self._at(None if self.command.cwd is None else f"{self.command.cwd}/{text}")

    def _at(self, path: str | None) -> Place:
        if path is None:
            return Place(None)
        normal = _normal(path)
        if own := _OWN_FOLDER.match(normal):
            start = "/" if own[1] == "root" else self.command.cwd
            return self._at(None if start is None else f"{start}/{normal[own.end() :]}")
        return Place(normal, through=path if ".." in path.split("/") else None)

    def _likely(self, word: Word) -> Place | None:
        """Where `$HOME/x` and `$PWD/x` lead unless the script has changed the variable."""
        found = _FOLDER_VARIABLE.match(word.source)
        if found is None or not word.text.startswith(UNKNOWN) or word.text.count(UNKNOWN) > 1:
            return None
        folder = self.home_dir if "HOME" in found[0] else self.command.cwd
        rest = word.text[1:]
        if folder is None or rest[:1] not in ("", "/"):
            return None
        return self._at(folder + rest)

    def _home(self, text: str) -> str | None:
        """A path that starts with a tilde, or None for a home folder that is not known."""
        user, _, rest = text.partition("/")
        start = {"~": self.home_dir, "~+": self.command.cwd}.get(user)
        return None if start is None else f"{start}/{rest}"

    def _pattern(self, word: Word) -> str | None:
        pattern = word.glob or ""
        if "{" in pattern and ".." in pattern:
            return None  # `{a,..}/b` or a range: no text tells where it leads
        if pattern.startswith("~"):
            home = self._home(pattern.partition("/")[0])
            if home is None:
                return None
            pattern = _escaped(home) + pattern[len(pattern.partition("/")[0]) :]
        if not pattern.startswith("/"):
            if self.command.cwd is None:
                return None
            pattern = f"{_escaped(self.command.cwd)}/{pattern}"
        return _ESCAPED.sub(_in_brackets, pattern)


def _in_brackets(found: re.Match[str]) -> str:
    """An escaped character as every reader of patterns knows it."""
    char = found[1]
    if char is None or char in "{},\\":
        return found[0]
    return f"[{char}]" if char in "*?[" else char


def _normal(path: str) -> str:
    normal = normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def _escaped(path: str) -> str:
    """A path as a pattern that stands for itself only."""
    return _SPECIAL.sub(r"[\g<0>]", path)


def _inside(folder: Word, source: Word) -> Word | None:
    """Where something of that name lies in the folder; None if its content goes there instead."""
    if not folder.literal and folder.glob is None:
        return folder
    if source.glob is not None:
        name = basename(source.glob.rstrip("/"))
        if folder.glob is None and folder.literal:
            start = folder.text if folder.text.startswith("~") else _escaped(folder.text)
            return Word(folder.source, UNKNOWN, f"{start}/{name}")
        return Word(folder.source, UNKNOWN, f"{folder.glob}/{name}")
    name = basename(source.text.rstrip("/"))
    if UNKNOWN in name:
        return Word(folder.source, UNKNOWN)
    if name in ("", ".", ".."):
        return None
    if folder.glob is not None:
        return Word(folder.source, UNKNOWN, f"{folder.glob}/{_escaped(name)}")
    return Word(folder.source, f"{folder.text}/{name}")


def folder_of(word: Word) -> Word:
    """The folder that a path lies in."""
    return Word(word.source, dirname(word.text) or ".")


def _looks_like_paths(text: str) -> Iterator[str]:
    """The parts of a word that look like paths: `-f=a/b`, `@file`, `/host:/guest`."""
    if text.startswith("file://"):
        yield text.removeprefix("file://")
        return
    if _SCHEME.match(text):
        return
    whole = text.lstrip("-") if text.startswith("-") else text
    pieces = [piece for piece in _PIECES.split(whole) if piece]
    if whole == text and len(pieces) != 1:
        pieces.append(text)
    for piece in dict.fromkeys(pieces):
        if _looks_like_path(piece):
            yield piece


def _looks_like_path(text: str) -> bool:
    if "/" in text or text.startswith("~") or UNKNOWN in text:
        return True
    if text.startswith(".") and text.strip("."):
        return True
    return text in (".", "..") or is_sensitive_file(text) or is_secret_store(text)
