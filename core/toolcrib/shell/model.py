"""What is known of a shell command before it runs."""

from __future__ import annotations

from functools import cached_property
from posixpath import basename
from typing import Literal

from attrs import field, frozen

UNKNOWN = "\ufdd0"
"""Stands in a word for text that is known only when the command runs; no text may hold it."""


@frozen
class Word:
    """A word of a command.

    Attributes:
        source: as it is written.
        text: what it stands for once quotes are removed, with `UNKNOWN` where an expansion or a
            glob decides. An unquoted unknown may become several words or none.
        glob: for an unquoted glob or brace expansion with nothing else unknown in it, the word as
            a pattern of bash; None for any other word.
    """

    source: str
    text: str
    glob: str | None = None

    @property
    def literal(self) -> bool:
        """Whether the whole text is known."""
        return UNKNOWN not in self.text


@frozen
class Assignment:
    """`NAME=value` in front of a command, or alone."""

    name: str
    value: Word


RedirectKind = Literal["read", "write", "readwrite", "duplicate", "text"]


@frozen
class Redirect:
    """A redirection: `text` is a here-document or here-string, `duplicate` is `2>&1` and the like.

    `target` is None for the last two.
    """

    kind: RedirectKind
    target: Word | None = None


@frozen(kw_only=True)
class SimpleCommand:
    """One program with its words, wherever it stands in the script.

    Attributes:
        source: its text in the script.
        words: the program and its arguments; empty for a lone assignment or redirection.
        assignments: those that stand in front of it.
        redirects: its own, and those of the groups around it.
        cwd: the absolute folder that it runs in; None when a `cd` to somewhere unknown came before.
        via: the programs that run it, the outermost first, such as `("sudo", "xargs")`.
        transparent: it is a wrapper (`timeout`, `env`, `sh -c`) that does nothing by itself but run
            other commands of the script, so it is allowed when these are.
        self_contained: its source alone tells what it does. Otherwise a variable that the script
            sets, a here-document, a redirection around it or a script from its input do too.
    """

    source: str
    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    cwd: str | None = None
    via: tuple[str, ...] = ()
    transparent: bool = False
    self_contained: bool = True

    @cached_property
    def program(self) -> str | None:
        """The name of the program without its folder; None when it is not known."""
        if not self.words or not self.words[0].literal:
            return None
        return basename(self.words[0].text)

    @cached_property
    def text(self) -> str:
        """Assignments and words as the shell sees them, one space between two of them."""
        if not self.assignments:
            return self.words_text
        pieces = [f"{a.name}={a.value.text}" for a in self.assignments]
        return " ".join([*pieces, self.words_text]) if self.words else " ".join(pieces)

    @cached_property
    def words_text(self) -> str:
        """The words alone, one space between two of them."""
        return " ".join([word.text for word in self.words])


@frozen(kw_only=True)
class PathEffect:
    """A path that a command reads, lists or writes.

    Attributes:
        operation: deleting is writing; a listing (`ls`, `find`, `stat`) shows names and sizes, and
            no content.
        path: absolute and normalised, links not followed; with `glob`, a pattern of bash; None when
            it is not known.
        recursive: everything below it too.
        hidden: with `recursive`, whether that goes for files and folders with hidden names.
        names: with `recursive`, the patterns that the names of files below it have to match; all
            are meant when there is none.
        word: the operand as it is written.
        program: the name of the program that uses it, or `<` or `>` for a redirection.
        through: the absolute path or pattern with the `..` in it, which leads elsewhere where a
            link stands before the `..`; None when there is none.
    """

    operation: Literal["read", "list", "write"]
    path: str | None
    glob: bool = False
    recursive: bool = False
    hidden: bool = True
    names: tuple[str, ...] = ()
    word: str = ""
    program: str = ""
    through: str | None = None


@frozen(kw_only=True)
class CommandAnalysis:
    """Everything that is known of a script.

    Attributes:
        text: the script.
        cwd: the absolute folder that it starts in.
        commands: every simple command in it: of lists, pipes, groups, substitutions, functions,
            here-documents, and behind wrappers.
        effects: the paths that its commands are known to touch. Programs that are not known may
            touch others.
        unanalysable: why the rest of the script is not known, such as a syntax error or `eval $X`.
        dangerous: the command in it that could do damage that nothing takes back, and why.
        read_only: every command of it is known to change nothing.
    """

    text: str
    cwd: str
    commands: tuple[SimpleCommand, ...] = ()
    effects: tuple[PathEffect, ...] = ()
    unanalysable: str | None = None
    dangerous: str | None = None
    read_only: bool = field(default=False)
