"""Reads one simple command: its assignments, words, redirections and here-documents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import field, frozen

from toolcrib.shell.findings import Scope, Unparsable, is_number
from toolcrib.shell.folders import Folder, known
from toolcrib.shell.model import UNKNOWN, Assignment, Redirect, SimpleCommand, Word
from toolcrib.shell.running import run
from toolcrib.shell.words import RESERVED_WORD, WordReader

WORD_END = re.compile(r"[ \t\n;|&()<>]|\Z")
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

_BLANK = re.compile(r"[ \t]+(?:\\\n)?")
_REDIRECT = re.compile(
    r"([0-9]+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<>|<&-|>&-|<&|>>|>\||>&|[<>](?!\())|(&>>|&>)", re.ASCII
)
_DUPLICATE = re.compile(r"[0-9]{1,4}-?|-")
_TWICE_EXPANDED = re.compile(r"[A-Za-z0-9_./:,@%+-]+", re.ASCII)
_DELIMITER = re.compile(r"([A-Za-z0-9_.+-]+)|\\([A-Za-z0-9_]+)|'([^'\n\\]+)'|\"([^\"\n$`\\]+)\"")
_PARENTHESES = re.compile(r"\([ \t]*\)")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[([A-Za-z0-9_]*)\])?(\+?)=", re.ASCII)
_ELEMENT = re.compile(r"\[([A-Za-z0-9_.-]*)\]\+?=", re.ASCII)
_SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[", re.ASCII)
_DECLARING = frozenset({"export", "declare", "local", "readonly", "typeset"})


@frozen
class HereDocument:
    """A here-document whose text begins on the next line."""

    delimiter: str
    raw: bool
    strips_tabs: bool
    cwd: Folder


@frozen
class _Parts:
    """What has been read of a simple command."""

    words: list[Word] = field(factory=list)
    assignments: list[Assignment] = field(factory=list)
    redirects: list[Redirect] = field(factory=list)
    settled: list[str] = field(factory=list)
    """Variables that are set to numbers."""


class CommandReader(WordReader):
    """Reads simple commands."""

    here_documents: Sequence[HereDocument] = ()
    """Those whose text is still to come."""

    def child(
        self,
        script: str,
        *,
        cwd: Folder,
        scope: Scope | None = None,
        via: tuple[str, ...] = (),
    ) -> CommandReader:
        """A reader of another script that runs inside this one."""
        raise NotImplementedError

    def read_all(self) -> None:
        """Read the whole script; go on behind what cannot be followed."""
        raise NotImplementedError

    def function(self, name: Word) -> None:
        """Read the body of a function."""
        raise NotImplementedError

    def blanks(self) -> None:
        while self.pos < self.end:
            char = self.text[self.pos]
            if char in " \t":
                self.pos += 1
            elif char == "\\" and self.peek(1) == "\n":
                if self.here_documents:
                    raise self.fail("a line that is continued before a here-document")
                self.pos += 2
            elif char == "#":
                end = self.text.find("\n", self.pos)
                self.pos = self.end if end < 0 else end
            else:
                return

    def set_by_syntax(self, name: str, source: str, *, number: bool) -> None:
        """Note a variable that a loop, arithmetic or an expansion sets.

        It counts as an assignment that stands alone: programs see it when it is exported already.
        """
        self.findings.assign(name, number=number)
        if not name.islower():
            assignment = Assignment(name, Word(source, UNKNOWN))
            command = SimpleCommand(
                source=source,
                assignments=(assignment,),
                cwd=known(self.cwd),
                via=self.via,
                self_contained=False,
            )
            self.findings.add(command)

    def newlines(self) -> None:
        self.blanks()
        while self.pos < self.end and self.text[self.pos] == "\n":
            self.pos += 1
            if self.here_documents:
                self._read_here_documents()
            self.blanks()

    def operator(self, *operators: str) -> str:
        """Take one of the operators, if one stands here; the longer ones first."""
        for operator in operators:
            if self.text.startswith(operator, self.pos):
                self.pos += len(operator)
                if self.text.startswith("\\\n", self.pos) and operator not in ("&&", "||"):
                    raise self.fail("a line that is continued behind an operator")
                return operator
        return ""

    def simple(self) -> None:
        """Read a simple command, or the definition of a function, and add it to what was found."""
        start = self.pos
        parts = _Parts()
        try:
            while self._part_of_command(parts):
                self.blanks()
        except Unparsable:
            if parts.words:
                parts.words.append(Word("", UNKNOWN))
                self._add(parts, start)
            raise
        if parts.words or parts.assignments or parts.redirects:
            self._add(parts, start)
        elif self.pos == start:
            raise self.fail("a command is missing")

    def _add(self, parts: _Parts, start: int) -> None:
        command = SimpleCommand(
            source=self.text[start : self.pos].strip(),
            words=tuple(parts.words),
            assignments=tuple(parts.assignments),
            redirects=tuple(parts.redirects),
            cwd=known(self.cwd),
            via=self.via,
        )
        self.outcome = run(command, self)
        if not parts.words and not parts.redirects:
            self.findings.settled.update(parts.settled)

    def _part_of_command(self, parts: _Parts) -> bool:
        """Read a word, an assignment or a redirection; False at the end of the command."""
        if self.pos >= self.end:
            return False
        if self.redirect(parts.redirects):
            return True
        char = self.text[self.pos]
        if char in "\n;|&)":
            return False
        if char == "(":
            found = _PARENTHESES.match(self.text, self.pos)
            if len(parts.words) != 1 or parts.assignments or parts.redirects or found is None:
                raise self.fail("a syntax error")
            self.pos = found.end()
            self.function(parts.words.pop())
            return False
        if not self._assignment(parts):
            word = self.word()
            if not parts.words:
                self._check_program(word)
            parts.words.append(word)
        return True

    def _check_program(self, word: Word) -> None:
        """Refuse what bash may read as more than a program, such as `>file if`.

        It prints what stands in a substitution and reads that again, redirections last.
        """
        if self.quoted:
            return
        if RESERVED_WORD.fullmatch(word.text) or _ASSIGNMENT.match(word.text):
            raise Unparsable(f"the reserved word {word.source} in an odd place")
        if word.text.startswith("-"):
            raise Unparsable(f"the option {word.source} in the place of a program")

    def _assignment(self, parts: _Parts) -> bool:
        words = parts.words
        declares = bool(words) and words[0].source in _DECLARING
        if words and not declares:
            return False
        start = self.pos
        found = _ASSIGNMENT.match(self.text, start)
        if found is None:
            if _SUBSCRIPT.match(self.text, start):
                raise self.fail("a subscript that may evaluate a text")
            return False
        name, subscript, plus = found.groups()
        if subscript is not None or plus:
            self.bash_only("an array")
        if subscript and (index := NAME.match(subscript)):
            self.findings.evaluate(index.group())
        self.pos = found.end()
        value = self._array() if self.peek() == "(" else self._value()
        assignment = Assignment(name, value)
        parts.assignments.append(assignment)
        self.findings.assign_word(assignment)
        if subscript is None and not plus and is_number(value):
            parts.settled.append(name)
        if declares:
            source = self.text[start : self.pos]
            words.append(Word(source, found.group() + value.text))
            if self.scope.posix and (not value.literal or "~" in source):
                self.findings.note(f"a value that some shells split: {source}")
        return True

    def _value(self) -> Word:
        if self.pos >= self.end or self.text[self.pos] in " \t\n;|&)":
            return Word("", "")
        if self.text[self.pos] in "<>" and self.peek(1) != "(":
            return Word("", "")
        return self.word(assigned=True)

    def _array(self) -> Word:
        self.bash_only("an array")
        start = self.pos
        self.pos += 1
        while True:
            self.newlines()
            if self.peek() == ")":
                self.pos += 1
                break
            if self.pos >= self.end:
                raise self.fail("unterminated array", start)
            if self.peek() == "[":
                element = _ELEMENT.match(self.text, self.pos)
                if element is None:
                    raise self.fail("a subscript that may evaluate a text")
                if index := NAME.fullmatch(element.group(1)):
                    self.findings.evaluate(index.group())
                self.pos = element.end()
                if self._value().source:
                    continue
            self.word()
        return Word(self.text[start : self.pos], UNKNOWN)

    def redirect(self, redirects: list[Redirect]) -> bool:
        """Read the redirection at the position, if one stands here."""
        found = _REDIRECT.match(self.text, self.pos)
        if found is None:
            return False
        descriptor, operator, both = found.groups()
        operator = operator or both
        if both or operator == "<<<":
            self.bash_only(operator)
        if descriptor and descriptor.startswith("{"):
            self.bash_only(descriptor)
            self.set_by_syntax(descriptor.strip("{}"), descriptor, number=True)
        if descriptor and (len(descriptor) > 4 and descriptor[0] != "{"):
            raise self.fail("a file descriptor that is not supported")
        self.pos = found.end()
        if operator in ("<&-", ">&-"):
            redirects.append(Redirect("duplicate"))
            return True
        while blank := _BLANK.match(self.text, self.pos):
            self.pos = blank.end()
        if operator in ("<<", "<<-"):
            self._here_document(strips_tabs=operator == "<<-")
            redirects.append(Redirect("text"))
            return True
        start = self.pos
        target = self.word()
        redirects.append(self._redirection(operator, target, start))
        return True

    def _redirection(self, operator: str, target: Word, start: int) -> Redirect:
        if operator == "<<<":
            return Redirect("text")
        if operator in ("<&", ">&"):
            if _DUPLICATE.fullmatch(target.source):
                return Redirect("duplicate")
            self.bash_only(operator)
            if not _TWICE_EXPANDED.fullmatch(target.source):
                self.findings.note(f"a file that bash expands twice: {operator}{target.source}")
        if target.source.startswith((">(", "<(")) and len(target.text) == 1:
            return Redirect("duplicate")
        if target.text.startswith(("/dev/tcp/", "/dev/udp/")):
            self.findings.note(f"a connection to the network: {target.source}")
        kind = "readwrite" if operator == "<>" else "read" if operator == "<" else "write"
        return Redirect(kind, target)  # type: ignore[arg-type]

    def _here_document(self, *, strips_tabs: bool) -> None:
        found = _DELIMITER.match(self.text, self.pos)
        if found is None or not WORD_END.match(self.text, found.end()):
            raise self.fail("a delimiter of a here-document that is not supported")
        self.pos = found.end()
        plain = found.group(1)
        delimiter = plain or next(filter(None, found.groups()))
        self.here_documents = (
            *self.here_documents,
            HereDocument(delimiter, plain is None, strips_tabs, self.cwd),
        )

    def _read_here_documents(self) -> None:
        pending, self.here_documents = self.here_documents, ()
        for document in pending:
            body = self._body(document)
            if not document.raw and ("$" in body or "`" in body):
                child = self.child(body, cwd=document.cwd)
                child.expansions()

    def _body(self, document: HereDocument) -> str:
        lines: list[str] = []
        while self.pos < self.end:
            line = self._line(joined=not document.raw)
            if document.strips_tabs:
                line = line.lstrip("\t")
            if line == document.delimiter:
                return "\n".join(lines)
            if line.startswith(document.delimiter) and line[len(document.delimiter)] in ")`":
                raise self.fail("a here-document that may end in the middle of a line")
            lines.append(line)
        raise self.fail(f"a here-document without its end {document.delimiter}")

    def _line(self, *, joined: bool) -> str:
        start = self.pos
        while True:
            end = self.text.find("\n", self.pos)
            end = self.end if end < 0 else end
            line = self.text[start:end]
            self.pos = min(end + 1, self.end)
            if not joined or (len(line) - len(line.rstrip("\\"))) % 2 == 0 or end == self.end:
                return line.replace("\\\n", "") if joined else line
