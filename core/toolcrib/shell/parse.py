"""Reads a script as bash does, and finds every simple command in it.

It is strict: what it does not know for certain makes the script unanalysable. The commands behind
such a place are still looked for, so that rules which forbid can see them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from attrs import evolve

from toolcrib.shell.findings import MAX_DEPTH, Scope, Unparsable
from toolcrib.shell.folders import GONE, Folder, join, known
from toolcrib.shell.model import Redirect, SimpleCommand, Word
from toolcrib.shell.simple import NAME, WORD_END, CommandReader
from toolcrib.shell.words import RESERVED, RESERVED_WORD

_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufdd0\ufeff\ud800-\udfff]")
_RESERVED = re.compile(rf"(?:{RESERVED})(?=[ \t\n;|&()<>]|\Z)")
_CONTINUED_OPTION = re.compile(r"-[-p]?\\\n")
_INTRODUCING = frozenset({"then", "elif", "else", "do", "{"})
_CLOSING = frozenset({"fi", "done", "esac", "}"})
_FUNCTION = re.compile(r"\([ \t]*\)")
_FUNCTION_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*", re.ASCII)
_RESUME = re.compile(r"[;&|\n(){}`]")
_MAX_RESUMED = 100


class ScriptReader(CommandReader):
    """Reads lists of commands."""

    _resuming = False
    """Whether something before the position could not be followed."""

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
            self.here_documents = ()
            self.pos = resume.end()
            self.cwd = None
        self.findings.note("too many places that cannot be followed")

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
        self.newlines()
        word = self._take(*reserved)
        if not word:
            raise self.fail(f"{' or '.join(reserved)} is missing")
        return word

    def _statements(self, closers: frozenset[str], close: str) -> str:
        """Read commands up to a reserved word of `closers` (taken) or to `close` (not taken)."""
        separated = True
        while True:
            self.newlines() if separated else self.blanks()
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
        before, settled = self.cwd, set(self.findings.settled)
        self._and_or()
        self.blanks()
        if self.text.startswith((";;", ";&"), self.pos):
            return False
        separator = self.operator(";", "&")
        if separator == "&":
            self.cwd, self.findings.settled = before, settled
            self.outcome = (before, before)
        return bool(separator)

    def _and_or(self) -> None:
        self._pipeline()
        succeeded, failed = self.outcome
        settled = set(self.findings.settled)
        while True:
            self.blanks()
            operator = self.operator("&&", "||")
            if not operator:
                break
            self.newlines()
            self.cwd = succeeded if operator == "&&" else failed
            if operator == "||":
                self.findings.settled = set(settled)
            self._pipeline()
            then_succeeded, then_failed = self.outcome
            if operator == "&&":
                succeeded, failed = then_succeeded, join(failed, then_failed)
            else:
                succeeded, failed = join(succeeded, then_succeeded), then_failed
        self.outcome = (succeeded, failed)
        self.cwd = join(succeeded, failed)
        self.findings.settled = settled

    def _pipeline(self) -> None:
        negated = prefixed = False
        via = self.via
        while word := self._take("!", "time", "coproc"):
            prefixed = True
            self.blanks()
            if word == "!":
                negated = not negated
            elif word == "time":
                self._time()
            else:
                self.findings.note("coproc, which is not supported")
        if not (prefixed and self._ends_here()):
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
        if _CONTINUED_OPTION.match(self.text, self.pos):
            raise self.fail("a line that is continued in an option")
        for option in ("-p", "--"):
            end = self.pos + len(option)
            if self.text.startswith(option, self.pos) and WORD_END.match(self.text, end):
                self.pos = end
                self.blanks()

    def _ends_here(self) -> bool:
        self.outcome = (self.cwd, self.cwd)
        return self.pos >= self.end or self.text[self.pos] in "\n;"

    def _pipe(self) -> None:
        before, moved, settled = self.cwd, self.moved, set(self.findings.settled)
        self._command()
        self.blanks()
        piped = False
        while not self.text.startswith("||", self.pos) and self.peek() == "|":
            piped = True
            if self.text.startswith("|&", self.pos):
                self.bash_only("|&")
            self.operator("|&", "|")
            self.newlines()
            self.cwd, self.findings.settled = before, set(settled)
            self._command()
            self.blanks()
        if piped:
            self.cwd, self.moved, self.findings.settled = before, moved, settled
            self.outcome = (before, before)

    def _command(self) -> None:
        with self.nested():
            compound = self._compound()
            if compound is None:
                self.simple()
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
            commands[index] = evolve(
                own, redirects=(*own.redirects, *redirects), self_contained=False
            )
        if first == last:
            source = self.text[start : self.pos]
            self.findings.add(
                SimpleCommand(source=source, redirects=redirects, cwd=known(cwd), via=self.via)
            )

    def _redirects(self) -> tuple[Redirect, ...]:
        redirects: list[Redirect] = []
        self.blanks()
        while self.redirect(redirects):
            self.blanks()
        return tuple(redirects)

    def _subshell(self) -> None:
        before, moved = self.cwd, self.moved
        self.pos += 1
        if self.text.startswith("\\\n", self.pos):
            raise self.fail("a line that is continued behind a parenthesis")
        with self.apart():
            self._statements(frozenset(), ")")
        self.pos += 1
        self.cwd, self.moved = before, moved
        self.outcome = (before, before)

    def substitution(self) -> None:
        pending, self.here_documents = self.here_documents, ()
        outcome, via, start = self.outcome, self.via, self.pos
        self.via = ()
        with self.nested():
            self._subshell()
        if self.here_documents or (pending and "\n" in self.text[start : self.pos]):
            raise self.fail("a here-document that begins or ends in a substitution", start)
        self.here_documents = pending
        self.outcome, self.via = outcome, via

    def script_inside(self, script: str) -> None:
        if self.here_documents and "\n" in script:
            raise self.fail("a here-document that begins before a substitution")
        with self.apart():
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
            with self.apart():
                self._statements(frozenset({"then"}), "")
                self.cwd, failed = self.outcome
                word = self._statements(frozenset({"elif", "else", "fi"}), "")
            branches = join(branches, self.cwd)
            self.cwd = failed
        if word == "else":
            with self.apart():
                self._statements(frozenset({"fi"}), "")
        self.cwd = join(branches, self.cwd)
        self.outcome = (self.cwd, self.cwd)

    def _looping(self, body: Callable[[], None]) -> None:
        """Read what may run again in the folder where it has ended."""
        first = len(self.findings.commands)
        before, moved = self.cwd, self.moved
        self.moved = False
        with self.apart():
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
        self.blanks()
        if self.text.startswith("((", self.pos):
            self.bash_only("arithmetic")
            self.pos += 2
            self.arithmetic(semicolons=True)
        else:
            self._for_words()
        self.blanks()
        self.operator(";")
        if self._demand("do", "{") == "do":
            self._looping(self._until("done"))
        else:
            self._looping(self._until("}"))

    def _until(self, closer: str) -> Callable[[], None]:
        def body() -> None:
            self._statements(frozenset({closer}), "")

        return body

    def _for_words(self) -> None:
        name = NAME.match(self.text, self.pos)
        if name is None:
            raise self.fail("a name is missing")
        self.pos = name.end()
        if not WORD_END.match(self.text, self.pos):
            raise self.fail("a name that is not supported", name.start())
        words = []
        self.newlines()
        if self.text.startswith("in", self.pos) and WORD_END.match(self.text, self.pos + 2):
            self.pos += 2
            self.blanks()
            while self.pos < self.end and self.text[self.pos] not in ";\n":
                words.append(self.word())
                self.blanks()
        numbers = bool(words) and all(
            re.fullmatch(r"-?[0-9]{1,18}|\{[0-9]{1,18}\.\.[0-9]{1,18}\}", word.source)
            for word in words
        )
        self.set_by_syntax(name.group(), f"for {name.group()}", number=numbers)
        if numbers:
            self.findings.settled.add(name.group())

    def _case(self) -> None:
        self._demand("case")
        self.blanks()
        self.word()
        self.newlines()
        if not (self.text.startswith("in", self.pos) and WORD_END.match(self.text, self.pos + 2)):
            raise self.fail("in is missing")
        self.pos += 2
        before = after = self.cwd
        while True:
            self.newlines()
            if self._take("esac"):
                break
            self._case_patterns()
            self.cwd = join(before, after)
            with self.apart():
                closed = self._statements(frozenset({"esac"}), ";;")
            after = join(after, self.cwd)
            if closed:
                break
            if self.operator(";;&", ";;", ";&") != ";;":
                self.bash_only(";&")
        self.cwd = after
        self.outcome = (after, after)

    def _case_patterns(self) -> None:
        if self.operator("("):
            self.blanks()
        while True:
            self.word()
            self.blanks()
            if self.operator("|"):
                self.blanks()
            elif self.operator(")"):
                return
            else:
                raise self.fail("a syntax error in a pattern")

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
            self.newlines()
            if self.pos >= self.end:
                raise self.fail("]] is missing", start)
            operator = self.operator("&&", "||", "(", ")") or (
                "" if self.text.startswith(("<(", ">("), self.pos) else self.operator("<", ">")
            )
            if operator:
                previous = operator
                continue
            if self.peek() in ";|&":
                raise self.fail("a syntax error in a test", start)
            word = self.word(regex=previous == "=~")
            if word.text == "]]" and not self.quoted:
                break
            self._check_test(word, previous, words)
            words.append(word)
            previous = word.text
        self.outcome = (self.cwd, self.cwd)

    def _check_test(self, word: Word, previous: str, words: list[Word]) -> None:
        if previous in ("-v", "-R") and not NAME.fullmatch(word.source):
            self.findings.note(f"a test that may evaluate a text: {previous} {word.source}")
        if previous in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge") and len(words) > 1:
            self._compared(words[-2])
            self._compared(word)

    def _compared(self, word: Word) -> None:
        source = word.source.strip('"')
        if re.fullmatch(r"-?[0-9]+|\$\{#\w+(\[[@*]\])?\}|\$[#?$]", source, re.ASCII):
            return
        name = source.removeprefix("$").removeprefix("{").removesuffix("}")
        if not NAME.fullmatch(name):
            self.findings.note(f"arithmetic on {word.source}, whose text is evaluated")
        self.findings.evaluate(name)

    def _function_keyword(self) -> None:
        self._demand("function")
        self.blanks()
        name = self.word()
        self.blanks()
        if found := _FUNCTION.match(self.text, self.pos):
            self.pos = found.end()
        self.function(name)

    def function(self, name: Word) -> None:
        if not _FUNCTION_NAME.fullmatch(name.source) or RESERVED_WORD.fullmatch(name.source):
            raise self.fail(f"a function with the name {name.source}")
        self.findings.functions.add(name.source)
        self.newlines()
        compound = self._compound()
        if compound is None or compound in (self._function_keyword, self._unexpected):
            raise self.fail("a function without a body")
        before, moved = self.cwd, self.moved
        self.cwd, self.moved = None, False
        first = len(self.findings.commands)
        with self.apart():
            self._around(compound)
        if any(c.program == name.source for c in self.findings.commands[first:]):
            self.findings.recursive.add(name.source)
        if self.moved:
            self.findings.cwd_lost = True
        self.cwd, self.moved = before, moved
        self.outcome = (before, before)
