"""What a parse has found so far, shared by the parsers of a script and of the scripts inside it."""

from __future__ import annotations

import re

from attrs import define, field, frozen

from toolcrib.shell.model import Assignment, SimpleCommand, Word

MAX_COMMANDS = 10_000
MAX_DEPTH = 24

_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_COUNTED = re.compile(
    r"\$\(\([^()]*(\([^()]*\)[^()]*)*\)\)|\$\{#\w+(\[[@*]\])?\}|\$[#?$!]", re.ASCII
)
_SPECIAL_NUMBERS = frozenset({"RANDOM", "SRANDOM", "SECONDS", "LINENO", "BASHPID", "PPID", "UID"})
_SHELL_NAMES = re.compile(
    r"PATH|CDPATH|ENV|PS[0-4]|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|BASH_\w*|EXECIGNORE|POSIXLY_CORRECT"
    r"|GLOBIGNORE|FUNCNEST|(LD|DYLD)_\w+",
    re.ASCII,
)


class Unparsable(Exception):
    """The script cannot be followed from here on."""


@frozen
class Scope:
    """How the scripts of one analysis are run."""

    home_dir: str | None
    posix: bool = False
    """Read it as any POSIX shell would, and refuse what only some of them know."""


@define
class Findings:
    """The commands of a script and the first reason why they may not be all."""

    commands: list[SimpleCommand] = field(factory=list)
    problem: str | None = None
    numbers: set[str] = field(factory=set)
    """Variables whose text is evaluated as arithmetic, which may run commands."""
    settled: set[str] = field(factory=set)
    """Variables that are certain to have been set to a number before the position."""
    assigned: dict[str, bool] = field(factory=dict)
    """Variables that are set, and whether always to a number."""
    functions: set[str] = field(factory=set)
    recursive: set[str] = field(factory=set)
    """Functions that call themselves."""
    home_used: bool = False
    cwd_lost: bool = False

    def note(self, reason: str) -> None:
        if self.problem is None:
            self.problem = "".join(char if char.isprintable() else " " for char in reason)

    def add(self, command: SimpleCommand) -> None:
        if len(self.commands) >= MAX_COMMANDS:
            raise Unparsable(f"more than {MAX_COMMANDS} commands")
        self.commands.append(command)

    def assign(self, name: str, *, number: bool) -> None:
        self.assigned[name] = self.assigned.get(name, True) and number
        if not number:
            self.settled.discard(name)
        if _SHELL_NAMES.fullmatch(name):
            self.note(f"{name} changes how the shell runs later commands")

    def evaluate(self, name: str) -> None:
        """The text of a variable is evaluated as arithmetic."""
        self.numbers.add(name)
        if name not in self.settled and name not in _SPECIAL_NUMBERS:
            self.note(f"the text of {name} is evaluated, and it is not known")

    def assign_word(self, assignment: Assignment) -> None:
        self.assign(assignment.name, number=is_number(assignment.value))

    def close(self) -> None:
        """Judge what only the whole script tells."""
        for name in sorted(self.numbers):
            if not self.assigned.get(name, True):
                self.note(f"the text of {name} is evaluated, and it is not known")
        if self.home_used and "HOME" in self.assigned:
            self.note("HOME is changed, and with it what ~ stands for")


def is_number(word: Word) -> bool:
    """Whether arithmetic on the word's text can run nothing."""
    source = word.source.removeprefix('"').removesuffix('"')
    return bool(_NUMBER.fullmatch(word.text) or _COUNTED.fullmatch(source))
