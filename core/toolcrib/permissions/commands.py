"""Which rules speak of the commands of a script, and which commands no rule allows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, islice

from attrs import evolve

from toolcrib.paths import Workspace, is_secret_store, is_sensitive_file
from toolcrib.permissions.disk import Links, braces
from toolcrib.permissions.touched import Match
from toolcrib.rules import match_path_rule
from toolcrib.rules.glob import compile_or_none
from toolcrib.rules.negation import apply_negated, without_marks
from toolcrib.shell.effects import effects_of
from toolcrib.shell.model import UNKNOWN, Assignment, CommandAnalysis, Redirect, SimpleCommand

HARMLESS = frozenset(
    ("true", "false", ":", "cd", "pwd", "echo", "test", "[", "exit", "return", "break", "continue")
)
"""Programs of the shell itself that need no rule: they only speak, or steer the script."""
_HARMLESS_VARIABLE = re.compile(
    r"(LANG|LANGUAGE|LC_[A-Z]+|TZ|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR(_FORCE)?|CI)"
)
_SCRIPT_VARIABLE = re.compile(r"(?!npm_|.*_proxy$)[a-z][a-z0-9_]*")
"""What a script calls its own variables; names in capitals may steer programs."""
_STEERING = frozenset(("printf", "set", "read", "sleep", "type", "wait", "shift"))
"""Programs that need no rule either, so long as what they are told changes nothing."""
_HARMLESS_TARGETS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr"))
_RUN_WHAT_THEY_ARE_TOLD = frozenset(
    ("find", "xargs", "env", "sudo", "doas", "sh", "bash", "dash", "zsh", "ksh", "ash", "eval")
)
_GIT_VALUES = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"))
_RUNNERS = (
    *((name, "run") for name in ("uv", "poetry", "pdm", "hatch", "pipenv", "rye", "pixi", "conda")),
    *((name, "exec") for name in ("npm", "pnpm", "yarn", "bundle", "mise", "asdf")),
    *((name,) for name in ("npx", "pnpx", "bunx", "uvx", "chronic")),
)
"""Programs that run the command behind them. A rule that allows one vouches for what it runs."""
_MOST_ALTERNATIVES = 64
_META = re.compile(r"[\\*?\[\]{}()!+@|]")


class Script:
    """A script in the spellings that rules may be about, worked out once."""

    def __init__(self, analysis: CommandAnalysis) -> None:
        self.analysis = analysis
        self._texts = [_spellings(command) for command in analysis.commands]
        self._inner = [tuple(_inner_spellings(command)) for command in analysis.commands]
        self._unknown = [c for c in analysis.commands if UNKNOWN in c.text]

    def spoken_of(self, pattern: str) -> Match:
        """Whether a deny or ask pattern speaks of the script or any command in it.

        Quotes, escapes, the folder of a program and what stands around a command do not count.
        Where an expansion decides what runs, the answer is 'perhaps'.
        """
        plain, negated = without_marks(pattern)
        glob = compile_or_none(plain, segmented=False)
        covers = glob.matches if glob is not None else (lambda text: text == plain)
        if not plain:
            return Match.NO if negated else Match.YES
        if negated:
            found = any(not any(map(covers, texts)) for texts in self._texts)
        else:
            found = covers(self.analysis.text) or any(
                covers(text) for texts in (*self._texts, *self._inner) for text in texts
            )
        if found:
            return Match.YES
        if self.analysis.unanalysable:
            return Match.PERHAPS
        unknown = negated or any(_might_speak_of(plain, command) for command in self._unknown)
        return Match.PERHAPS if self._unknown and unknown else Match.NO


def _spellings(command: SimpleCommand) -> tuple[str, ...]:
    """The ways to write a command that a rule may be about."""
    text = command.text
    texts = [text]
    if command.source != text:
        texts.append(command.source)
    if command.assignments:
        texts.append(command.words_text)
    if command.program is not None and command.words[0].text != command.program:
        texts.append(" ".join([command.program, *(word.text for word in command.words[1:])]))
    return tuple(filter(None, texts))


def _inner_spellings(command: SimpleCommand) -> Iterator[str]:
    """A command of git without the options in front of it, and what a runner runs."""
    words = [command.program or "", *(word.text for word in command.words[1:])]
    if words[0] == "git":
        at = 1
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _GIT_VALUES else 1
        if at > 1:
            yield " ".join(["git", *words[at:]])
    for runner in _RUNNERS:
        if tuple(words[: len(runner)]) == runner:
            rest = words[len(runner) :]
            yield " ".join(dropwhile(lambda text: text.startswith("-"), rest))


def _might_speak_of(pattern: str, command: SimpleCommand) -> bool:
    """Whether a pattern could cover a command once its unknown parts are known.

    The known beginning and end of both have to agree.
    """
    if not command.words:  # it sets a variable, and runs nothing
        return False
    rest = [word.text for word in command.words[1:]]
    named = [" ".join([command.program, *rest])] if command.program else []
    texts = {command.text, command.words_text, *named}
    alternatives = list(islice(braces(pattern), _MOST_ALTERNATIVES + 1))
    if len(alternatives) > _MOST_ALTERNATIVES:
        return True
    return any(_may_meet(one, text) for one in alternatives for text in texts)


def _may_meet(pattern: str, text: str) -> bool:
    first, *_, last = _META.split(pattern) if _META.search(pattern) else (pattern, pattern)
    if pattern.endswith(tuple("*?])")):
        last = ""
    start, end = text.partition(UNKNOWN)[0], text.rpartition(UNKNOWN)[2]
    if UNKNOWN not in text:
        start = end = text
    # An unquoted unknown may vanish, and the space before it then ends nothing.
    start = start.rstrip(" ")
    return (first.startswith(start) or start.startswith(first.rstrip(" "))) and (
        last.endswith(end) or end.endswith(last)
    )


class Allowance:
    """What the allow rules cover of scripts.

    Args:
        texts: the patterns of rules about shell commands; None covers every command.
        writable: the patterns of rules that allow writing to paths; None covers every path.
        only_in_root: the rules hold only for commands that run in the root of the workspace.
    """

    def __init__(
        self,
        texts: Iterable[str | None],
        writable: Iterable[str | None],
        workspace: Workspace,
        *,
        only_in_root: bool = False,
    ) -> None:
        self._texts = tuple(texts)
        self._only_in_root = only_in_root
        self._writable = tuple(writable)
        self._workspace = workspace

    def covers_all(self, analysis: CommandAnalysis) -> bool:
        """Whether nothing of the script needs a question."""
        if None in self._texts or self.holds_exactly(analysis.text):
            return True
        return not analysis.unanalysable and not self.uncovered(analysis)

    def uncovered(self, analysis: CommandAnalysis) -> list[SimpleCommand]:
        """The commands that no rule allows."""
        return [command for command in analysis.commands if not self.covers(command)]

    def holds_exactly(self, text: str) -> bool:
        """Whether a rule is about this very text."""
        for pattern in self._texts:
            if pattern == text:
                return True
            glob = compile_or_none(pattern, segmented=False) if pattern is not None else None
            if glob is not None and glob.literal == text:
                return True
        return False

    def speaks_of(self, command: SimpleCommand) -> bool:
        """Whether a rule's pattern matches a command, whatever else it needs."""
        return self.holds_exactly(command.source) or any(
            pattern is None or self._matches(pattern, command) for pattern in self._texts
        )

    def covers(self, command: SimpleCommand) -> bool:
        """Whether a command needs no question."""
        if None in self._texts:
            return True
        in_root = command.cwd == self._workspace.root
        if in_root and command.self_contained and self.holds_exactly(command.source):
            return True
        if not all(self._may_redirect(r, command.cwd) for r in command.redirects):
            return False
        if not command.words:
            return all(map(_is_plain, command.assignments))
        if command.program is None:
            return False
        if command.transparent:
            return all(map(_is_plain, command.assignments))
        if command.program in _RUN_WHAT_THEY_ARE_TOLD and UNKNOWN in command.text:
            return False
        if command.words[0].text in HARMLESS and all(map(_is_plain, command.assignments)):
            return not any(word.text == "-v" for word in command.words)
        if len(command.words) == 1 and command.words[0].text == "cat" and not command.assignments:
            return True  # it passes on what it is given, which was looked at above
        if command.words[0].text in _STEERING and _only_steers(command):
            return True
        if self._only_in_root and not (in_root and command.self_contained):
            return False
        return any(
            self._matches(pattern, command) for pattern in self._texts if pattern is not None
        )

    def lacking(self, command: SimpleCommand) -> str | None:
        """What keeps a command from being allowed by a rule that covers its words, or None."""
        bare = evolve(command, assignments=(), redirects=())
        if not self.covers(bare):
            return None
        for redirect in command.redirects:
            if not self._may_redirect(redirect, command.cwd):
                target = redirect.target.source if redirect.target else ""
                verb = "reads" if redirect.kind == "read" else "writes"
                return f"it {verb} {target}"
        return f"it sets {', '.join(a.name for a in command.assignments)}"

    def _matches(self, pattern: str, command: SimpleCommand) -> bool:
        if _covers_text(pattern, command.text):
            return True
        if not command.assignments or not all(map(_is_harmless, command.assignments)):
            return False
        return _covers_text(pattern, command.words_text)

    def _may_redirect(self, redirect: Redirect, cwd: str | None) -> bool:
        target = redirect.target
        if target is None:
            return True
        if not target.literal:
            return False
        if target.text in _HARMLESS_TARGETS:
            return True
        if cwd is None and not target.text.startswith("/"):
            return False
        path = target.text if target.text.startswith("/") else f"{cwd}/{target.text}"
        if redirect.kind == "read":
            spellings = Links(self._workspace).spellings(path)
            return not any(is_sensitive_file(p) or is_secret_store(p) for p in spellings)
        return any(
            pattern is None or self._covers_path(pattern, path) for pattern in self._writable
        )

    def _covers_path(self, pattern: str, path: str) -> bool:
        return all(
            match_path_rule(
                pattern, each, cwd=self._workspace.root, home_dir=self._workspace.home_dir
            )
            for each in Links(self._workspace).spellings(path)
        )


def _covers_text(pattern: str, text: str) -> bool:
    """Whether a pattern covers a command as it stands: `./make` is another program than `make`."""

    def covers(plain: str) -> bool:
        glob = compile_or_none(plain, segmented=False)
        return plain == text or (glob is not None and glob.matches(text))

    return apply_negated(pattern, covers)


def _only_steers(command: SimpleCommand) -> bool:
    """Whether a program of the shell only speaks, waits, or sets what the script calls its own."""
    words = command.words[1:]
    names = [word.text for word in words if command.program == "read"]
    own = all(n.startswith("-") or _SCRIPT_VARIABLE.fullmatch(n) for n in names)
    return own and effects_of(command, None)[1]


def _is_harmless(assignment: Assignment) -> bool:
    """A variable that no program takes orders from."""
    return _HARMLESS_VARIABLE.fullmatch(assignment.name) is not None and assignment.value.literal


def _is_plain(assignment: Assignment) -> bool:
    return _SCRIPT_VARIABLE.fullmatch(assignment.name) is not None or _is_harmless(assignment)


def shown(commands: Sequence[SimpleCommand], most: int = 3) -> str:
    """Commands as a person is told of them."""
    sources = list(dict.fromkeys(command.source for command in commands))
    more = len(sources) - most
    return ", ".join(repr(_cut(source)) for source in sources[:most]) + (
        f" and {more} more" if more > 0 else ""
    )


def _cut(text: str, most: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."
