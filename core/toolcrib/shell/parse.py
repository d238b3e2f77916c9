"""Reads a script as bash does, and finds every simple command in it.

It is strict: what it does not know for certain makes the script unanalysable. The commands behind
such a place are still looked for, so that rules which forbid can see them.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from toolcrib.shell.findings import MAX_DEPTH, Findings, Scope, Unparsable
from toolcrib.shell.folders import GONE, Folder, join, known
from toolcrib.shell.model import UNKNOWN, Assignment, Redirect, SimpleCommand, Word
from toolcrib.shell.running import run
from toolcrib.shell.words import WordReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolcrib.shell.words import Quoting

_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufdd0\ufeff\ud800-\udfff]")
_RESERVED_PATTERN = (
    r"if|then|elif|else|fi|case|esac|for|select|while|until|do|done|function|time|coproc"
    r"|\{|\}|!|\[\["
)
_RESERVED = re.compile(rf"(?:{_RESERVED_PATTERN})(?=[ \t\n;|&()<>]|\Z)")
_RESERVED_WORD = re.compile(rf"{_RESERVED_PATTERN}|\]\]|in")
_INTRODUCING = frozenset({"then", "elif", "else", "do", "{"})
_CLOSING = frozenset({"fi", "done", "esac", "}"})
_REDIRECT = re.compile(
    r"([0-9]+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<>|<&|>>|>\||>&|[<>](?!\())|(&>>|&>)", re.ASCII
)
_DUPLICATE = re.compile(r"[0-9]{1,4}-?|-")
_DELIMITER = re.compile(r"([A-Za-z0-9_.+-]+)|\\([A-Za-z0-9_]+)|'([^'\n\\]+)'|\"([^\"\n$`\\]+)\"")
_WORD_END = re.compile(r"[ \t\n;|&()<>]|\Z")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[([A-Za-z0-9_]*)\])?(\+?)=", re.ASCII)
_ELEMENT = re.compile(r"\[([A-Za-z0-9_.-]*)\]\+?=", re.ASCII)
_SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[", re.ASCII)
_FUNCTION = re.compile(r"\([ \t]*\)")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FUNCTION_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*", re.ASCII)
_DECLARING = frozenset({"export", "declare", "local", "readonly", "typeset"})
_RESUME = re.compile(r"[;&|\n(){}]")
_MAX_RESUMED = 100


@frozen
class _HereDocument:
    delimiter: str
    raw: bool
    strips_tabs: bool
    cwd: Folder


class ScriptReader(WordReader):
    """Reads lists of commands at a position of a script."""

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
        super().__init__(text, findings, scope, depth=depth)
        self.cwd = cwd
        self.outcome = (cwd, cwd)
        """The folder behind the last command, when it has succeeded and when it has failed."""
        self.moved = False
        """Whether a `cd` has been read that is not in a subshell."""
        self.via = via
        self._here_documents: list[_HereDocument] = []
        self._resuming = False

    def read_all(self) -> None:
        """Read the whole script; go on behind what cannot be followed."""
        if odd := _ODD.search(self.text):
            self.findings.note(f"the character U+{ord(odd.group()):04X}")
        for _ in range(_MAX_RESUMED):
            start = self.pos
            try:
                self._statements(frozenset(), "")
            except Unparsable as problem:
                self.findings.note(str(problem))
            if self.pos >= self.end:
                return
            resume = _RESUME.search(self.text, max(start, self.pos))
            if resume is None:
                return
            self._resuming = True
            self._here_documents = []
            self.pos = resume.end()
            self.cwd = None
        self.findings.note("too many places that cannot be followed")

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

    # Blanks, comments, reserved words

    def _blanks(self) -> None:
        while self.pos < self.end:
            char = self.text[self.pos]
            if char in " \t":
                self.pos += 1
            elif char == "\\" and self.peek(1) == "\n":
                if self._here_documents:
                    raise self.fail("a line that is continued before a here-document")
                self.pos += 2
            elif char == "#":
                end = self.text.find("\n", self.pos)
                self.pos = self.end if end < 0 else end
            else:
                return

    def _newlines(self) -> None:
        self._blanks()
        while self.pos < self.end and self.text[self.pos] == "\n":
            self.pos += 1
            if self._here_documents:
                self._read_here_documents()
            self._blanks()

    def _operator(self, *operators: str) -> str:
        """Take one of the operators, if one stands here; the longer ones first."""
        for operator in operators:
            if self.text.startswith(operator, self.pos):
                self.pos += len(operator)
                if self.text.startswith("\\\n", self.pos) and operator not in ("&&", "||"):
                    raise self.fail("a line that is continued behind an operator")
                return operator
        return ""

    def _reserved(self) -> str:
        """The reserved word at the position, which is not moved."""
        found = _RESERVED.match(self.text, self.pos)
        return found.group() if found else ""

    def _take(self, *reserved: str) -> str:
        word = self._reserved()
        if word not in reserved or not word:
            return ""
        self.pos += len(word)
        return word

    def _demand(self, *reserved: str) -> str:
        self._newlines()
        word = self._take(*reserved)
        if not word:
            raise self.fail(f"{' or '.join(reserved)} is missing")
        return word

    # Lists

    def _statements(self, closers: frozenset[str], close: str) -> str:
        """Read commands up to a reserved word of `closers` (taken) or to `close` (not taken)."""
        separated = True
        while True:
            self._newlines() if separated else self._blanks()
            if self.pos >= self.end:
                if closers or close:
                    raise self.fail(f"{close or ' or '.join(sorted(closers))} is missing")
                return ""
            char = self.text[self.pos]
            if close and self.text.startswith(close, self.pos):
                return ""
            if char == "\n":
                separated = True
                continue
            word = self._reserved()
            if word in closers:
                self.pos += len(word)
                return word
            if close == ";;" and self.text.startswith(";&", self.pos):
                return ""
            if not separated:
                raise self.fail("a syntax error")
            if self._resuming and (word in _INTRODUCING or word in _CLOSING):
                self.pos += len(word)
                continue
            separated = self._statement()

    def _statement(self) -> bool:
        """Read a list of `&&` and `||`; whether a separator followed."""
        before = self.cwd
        self._and_or()
        self._blanks()
        if self.text.startswith((";;", ";&"), self.pos):
            return False
        separator = self._operator(";", "&")
        if separator == "&":
            self.cwd = before
            self.outcome = (before, before)
        return bool(separator)

    def _and_or(self) -> None:
        self._pipeline()
        succeeded, failed = self.outcome
        while True:
            self._blanks()
            operator = self._operator("&&", "||")
            if not operator:
                break
            self._newlines()
            self.cwd = succeeded if operator == "&&" else failed
            self._pipeline()
            then_succeeded, then_failed = self.outcome
            if operator == "&&":
                succeeded, failed = then_succeeded, join(failed, then_failed)
            else:
                succeeded, failed = join(succeeded, then_succeeded), then_failed
        self.outcome = (succeeded, failed)
        self.cwd = join(succeeded, failed)

    def _pipeline(self) -> None:
        negated = False
        via = self.via
        while word := self._take("!", "time"):
            self._blanks()
            if word == "!":
                negated = not negated
            else:
                self._time()
        if not self._ends_here():
            self._pipe()
        self.via = via
        if negated:
            self.outcome = self.outcome[::-1]

    def _time(self) -> None:
        word = Word("time", "time")
        command = SimpleCommand(
            source="time", words=(word,), cwd=known(self.cwd), via=self.via, transparent=True
        )
        self.findings.add(command)
        self.via = (*self.via, "time")
        for option in ("-p", "--"):
            end = self.pos + len(option)
            if self.text.startswith(option, self.pos) and _WORD_END.match(self.text, end):
                self.pos = end
                self._blanks()

    def _ends_here(self) -> bool:
        self.outcome = (self.cwd, self.cwd)
        return self.pos >= self.end or self.text[self.pos] in "\n;"

    def _pipe(self) -> None:
        before, moved = self.cwd, self.moved
        self._command()
        self._blanks()
        piped = False
        while not self.text.startswith("||", self.pos) and self.peek() == "|":
            piped = True
            if self.text.startswith("|&", self.pos):
                self.bash_only("|&")
            self._operator("|&", "|")
            self._newlines()
            self.cwd = before
            self._command()
            self._blanks()
        if piped:
            self.cwd, self.moved = before, moved
            self.outcome = (before, before)

    # Commands

    def _command(self) -> None:
        with self.nested():
            compound = self._compound()
            if compound is None:
                self._simple()
            else:
                self._around(compound)

    def _compound(self) -> Callable[[], None] | None:
        if self.text.startswith("((", self.pos):
            return self._arithmetic_command
        if self.peek() == "(":
            return self._subshell
        word = self._reserved()
        if not word:
            return None
        if word == "function":
            self.bash_only("function")
        return {
            "{": self._group,
            "if": self._if,
            "while": self._while,
            "until": self._while,
            "for": self._for,
            "select": self._for,
            "case": self._case,
            "[[": self._test,
            "function": self._function_keyword,
        }.get(word, self._unexpected)

    def _unexpected(self) -> None:
        raise self.fail("a syntax error")

    def _around(self, compound: Callable[[], None]) -> None:
        """Read a compound command and the redirections behind it."""
        first = len(self.findings.commands)
        start = self.pos
        compound()
        last = len(self.findings.commands)
        outcome, cwd = self.outcome, self.cwd
        redirects = self._redirects()
        self.outcome, self.cwd = outcome, cwd
        if not redirects:
            return
        commands = self.findings.commands
        for index in range(first, last):
            own = commands[index]
            commands[index] = evolve(own, redirects=(*own.redirects, *redirects))
        if first == last:
            source = self.text[start : self.pos]
            self.findings.add(
                SimpleCommand(source=source, redirects=redirects, cwd=known(cwd), via=self.via)
            )

    def _redirects(self) -> tuple[Redirect, ...]:
        redirects: list[Redirect] = []
        self._blanks()
        while self._redirect(redirects):
            self._blanks()
        return tuple(redirects)

    def _subshell(self) -> None:
        before, moved = self.cwd, self.moved
        self.pos += 1
        self._until_parenthesis()
        self.cwd, self.moved = before, moved
        self.outcome = (before, before)

    def _until_parenthesis(self) -> None:
        self._statements(frozenset(), ")")
        self.pos += 1

    def substitution(self) -> None:
        pending, self._here_documents = self._here_documents, []
        outcome, via, start = self.outcome, self.via, self.pos
        self.via = ()
        if self.text.startswith("\\\n", self.pos + 1):
            raise self.fail("a line that is continued behind a parenthesis")
        with self.nested():
            self._subshell()
        if self._here_documents or (pending and "\n" in self.text[start : self.pos]):
            raise self.fail("a here-document that begins or ends in a substitution", start)
        self._here_documents = pending
        self.outcome, self.via = outcome, via

    def script_inside(self, script: str, *, quoting: Quoting = "") -> None:
        if self._here_documents and "\n" in script:
            raise self.fail("a here-document that begins before a substitution")
        self.child(script, cwd=self.cwd).read_all()

    def child(
        self,
        script: str,
        *,
        cwd: Folder,
        scope: Scope | None = None,
        via: tuple[str, ...] = (),
    ) -> ScriptReader:
        """A reader of another script that runs inside this one."""
        if self.depth >= MAX_DEPTH:
            raise self.fail("commands that are nested too deeply")
        return ScriptReader(
            script, self.findings, scope or self.scope, cwd=cwd, depth=self.depth + 1, via=via
        )

    def _group(self) -> None:
        self._demand("{")
        self._statements(frozenset({"}"}), "")

    def _if(self) -> None:
        self._demand("if")
        branches: Folder = GONE
        word = "elif"
        while word == "elif":
            self._statements(frozenset({"then"}), "")
            self.cwd, failed = self.outcome
            word = self._statements(frozenset({"elif", "else", "fi"}), "")
            branches = join(branches, self.cwd)
            self.cwd = failed
        if word == "else":
            self._statements(frozenset({"fi"}), "")
        self.cwd = join(branches, self.cwd)
        self.outcome = (self.cwd, self.cwd)

    def _looping(self, body: Callable[[], None]) -> None:
        """Read what may run again in the folder where it has ended."""
        first = len(self.findings.commands)
        before, moved = self.cwd, self.moved
        self.moved = False
        body()
        if self.moved:
            commands = self.findings.commands
            for index in range(first, len(commands)):
                commands[index] = evolve(commands[index], cwd=None)
        self.cwd = None if self.moved else before
        self.moved = self.moved or moved
        self.outcome = (self.cwd, self.cwd)

    def _while(self) -> None:
        self._demand("while", "until")

        def body() -> None:
            self._statements(frozenset({"do"}), "")
            self._statements(frozenset({"done"}), "")

        self._looping(body)

    def _for(self) -> None:
        if self._demand("for", "select") == "select":
            self.bash_only("select")
        self._blanks()
        if self.text.startswith("((", self.pos):
            self.bash_only("arithmetic")
            self.pos += 2
            self.arithmetic(semicolons=True)
        else:
            self._for_words()
        self._blanks()
        self._operator(";")
        if self._demand("do", "{") == "do":
            self._looping(self._until("done"))
        else:
            self._looping(self._until("}"))

    def _until(self, closer: str) -> Callable[[], None]:
        def body() -> None:
            self._statements(frozenset({closer}), "")

        return body

    def _for_words(self) -> None:
        name = _NAME.match(self.text, self.pos)
        if name is None:
            raise self.fail("a name is missing")
        self.pos = name.end()
        if not _WORD_END.match(self.text, self.pos):
            raise self.fail("a name that is not supported", name.start())
        words = []
        self._newlines()
        if self.text.startswith("in", self.pos) and _WORD_END.match(self.text, self.pos + 2):
            self.pos += 2
            self._blanks()
            while self.pos < self.end and self.text[self.pos] not in ";\n":
                words.append(self.word())
                self._blanks()
        numbers = bool(words) and all(
            re.fullmatch(r"-?[0-9]{1,18}|\{[0-9]{1,18}\.\.[0-9]{1,18}\}", word.source)
            for word in words
        )
        self.findings.assign(name.group(), number=numbers)

    def _case(self) -> None:
        self._demand("case")
        self._blanks()
        self.word()
        self._newlines()
        if not (self.text.startswith("in", self.pos) and _WORD_END.match(self.text, self.pos + 2)):
            raise self.fail("in is missing")
        self.pos += 2
        before = after = self.cwd
        while True:
            self._newlines()
            if self._take("esac"):
                break
            self._case_patterns()
            self.cwd = join(before, after)
            if self._statements(frozenset({"esac"}), ";;"):
                after = join(after, self.cwd)
                break
            after = join(after, self.cwd)
            if self._operator(";;&", ";;", ";&") != ";;":
                self.bash_only(";&")
        self.cwd = after
        self.outcome = (after, after)

    def _case_patterns(self) -> None:
        if self._operator("("):
            self._blanks()
        while True:
            self.word()
            self._blanks()
            if self._operator("|"):
                self._blanks()
            elif self._operator(")"):
                return
            else:
                raise self.fail("a syntax error in a pattern")

    # Arithmetic and tests

    def _arithmetic_command(self) -> None:
        self.bash_only("arithmetic")
        self.pos += 2
        self.arithmetic()
        self.outcome = (self.cwd, self.cwd)

    def _test(self) -> None:
        self.bash_only("[[")
        start = self.pos
        self.pos += 2
        previous = "[["
        words: list[Word] = []
        while True:
            self._newlines()
            if self.pos >= self.end:
                raise self.fail("]] is missing", start)
            operator = self._operator("&&", "||", "(", ")") or (
                "" if self.text.startswith(("<(", ">("), self.pos) else self._operator("<", ">")
            )
            if operator:
                previous = operator
                continue
            if self.peek() in ";|&":
                raise self.fail("a syntax error in a test", start)
            word = self.word(regex=previous == "=~")
            if word.source == "]]":
                break
            self._check_test(word, previous, words)
            words.append(word)
            previous = word.source
        self.outcome = (self.cwd, self.cwd)

    def _check_test(self, word: Word, previous: str, words: list[Word]) -> None:
        if previous in ("-v", "-R") and not _NAME.fullmatch(word.source):
            self.findings.note(f"a test that may evaluate a text: {previous} {word.source}")
        if previous in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge") and len(words) > 1:
            self._compared(words[-2])
            self._compared(word)

    def _compared(self, word: Word) -> None:
        source = word.source.strip('"')
        if re.fullmatch(r"-?[0-9]+|\$\{#\w+(\[[@*]\])?\}|\$[#?$]", source, re.ASCII):
            return
        name = source.removeprefix("$").removeprefix("{").removesuffix("}")
        if not _NAME.fullmatch(name):
            self.findings.note(f"arithmetic on {word.source}, whose text may run commands")
        self.findings.numbers.add(name)

    # Functions

    def _function_keyword(self) -> None:
        self._demand("function")
        self._blanks()
        name = self.word()
        self._blanks()
        if found := _FUNCTION.match(self.text, self.pos):
            self.pos = found.end()
        self._function(name)

    def _function(self, name: Word) -> None:
        if not _FUNCTION_NAME.fullmatch(name.source) or _RESERVED_WORD.fullmatch(name.source):
            raise self.fail(f"a function with the name {name.source}")
        self.findings.functions.add(name.source)
        self._newlines()
        compound = self._compound()
        if compound is None or compound in (self._function_keyword, self._unexpected):
            raise self.fail("a function without a body")
        before, moved = self.cwd, self.moved
        self.cwd, self.moved = None, False
        self._around(compound)
        if self.moved:
            self.findings.cwd_lost = True
        self.cwd, self.moved = before, moved
        self.outcome = (before, before)

    # Simple commands

    def _simple(self) -> None:
        start = self.pos
        words: list[Word] = []
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        while True:
            self._blanks()
            if self.pos >= self.end:
                break
            if self._redirect(redirects):
                continue
            char = self.text[self.pos]
            if char in "\n;|&)":
                break
            if char == "(":
                if len(words) == 1 and not assignments and not redirects:
                    self._function_behind(words[0])
                    return
                raise self.fail("a syntax error")
            if self._assignment(words, assignments):
                continue
            word = self.word()
            if not words:
                self._check_program(word)
            words.append(word)
        if not words and not assignments and not redirects:
            raise self.fail("a command is missing")
        command = SimpleCommand(
            source=self.text[start : self.pos].strip(),
            words=tuple(words),
            assignments=tuple(assignments),
            redirects=tuple(redirects),
            cwd=known(self.cwd),
            via=self.via,
        )
        self.outcome = run(command, self)

    def _function_behind(self, name: Word) -> None:
        found = _FUNCTION.match(self.text, self.pos)
        if found is None:
            raise self.fail("a syntax error")
        self.pos = found.end()
        self._function(name)

    def _check_program(self, word: Word) -> None:
        """Refuse what would be more than a word without the line that is continued in it."""
        if "\\\n" not in word.source or self.quoted:
            return
        if _RESERVED_WORD.fullmatch(word.text) or _ASSIGNMENT.match(word.text):
            raise self.fail("a line that is continued in a reserved word")

    def _assignment(self, words: list[Word], assignments: list[Assignment]) -> bool:
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
        if subscript and (index := _NAME.match(subscript)):
            self.findings.numbers.add(index.group())
        self.pos = found.end()
        value = self._array() if self.peek() == "(" else self._value()
        assignment = Assignment(name, value)
        assignments.append(assignment)
        self.findings.assign_word(assignment)
        if declares:
            source = self.text[start : self.pos]
            words.append(Word(source, found.group() + value.text))
            if self.scope.posix and not value.literal:
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
            self._newlines()
            if self.peek() == ")":
                self.pos += 1
                break
            if self.pos >= self.end:
                raise self.fail("unterminated array", start)
            if self.peek() == "[":
                element = _ELEMENT.match(self.text, self.pos)
                if element is None:
                    raise self.fail("a subscript that may evaluate a text")
                if index := _NAME.fullmatch(element.group(1)):
                    self.findings.numbers.add(index.group())
                self.pos = element.end()
                if self._value().source:
                    continue
            self.word()
        return Word(self.text[start : self.pos], UNKNOWN)

    # Redirections

    def _redirect(self, redirects: list[Redirect]) -> bool:
        """Read the redirection at the position, if one stands here."""
        found = _REDIRECT.match(self.text, self.pos)
        if found is None:
            return False
        descriptor, operator, both = found.groups()
        operator = operator or both
        if both or operator == "<<<" or (descriptor and descriptor.startswith("{")):
            self.bash_only(operator)
        if descriptor and (len(descriptor) > 4 and descriptor[0] != "{"):
            raise self.fail("a file descriptor that is not supported")
        self.pos = found.end()
        if self.text.startswith("\\\n", self.pos):
            raise self.fail("a line that is continued behind an operator")
        while self.peek() and self.peek() in " \t":
            self.pos += 1
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
        if operator == "<&":
            return Redirect("duplicate")
        if operator == ">&":
            if _DUPLICATE.fullmatch(target.text):
                return Redirect("duplicate")
            self.bash_only(operator)
        if target.source.startswith((">(", "<(")) and len(target.text) == 1:
            return Redirect("duplicate")
        if target.text.startswith(("/dev/tcp/", "/dev/udp/")):
            self.findings.note(f"a connection to the network: {target.source}")
        kind = "readwrite" if operator == "<>" else "read" if operator == "<" else "write"
        return Redirect(kind, target)  # type: ignore[arg-type]

    def _here_document(self, *, strips_tabs: bool) -> None:
        found = _DELIMITER.match(self.text, self.pos)
        if found is None or not _WORD_END.match(self.text, found.end()):
            raise self.fail("a delimiter of a here-document that is not supported")
        self.pos = found.end()
        plain = found.group(1)
        delimiter = plain or next(filter(None, found.groups()))
        self._here_documents.append(_HereDocument(delimiter, plain is None, strips_tabs, self.cwd))

    def _read_here_documents(self) -> None:
        pending, self._here_documents = self._here_documents, []
        for document in pending:
            body = self._body(document)
            if not document.raw and ("$" in body or "`" in body):
                child = self.child(body, cwd=document.cwd)
                child.expansions()

    def _body(self, document: _HereDocument) -> str:
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
