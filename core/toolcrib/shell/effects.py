"""The paths that a command reads and writes, and whether it is known to change nothing.

Whatever is not certain counts as a change. A program that is not in the tables may touch anything;
of what it is given, that which looks like a path counts as read, so that no secret is handed over
unseen. It does not count as written: every test run would seem to write its sources.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from posixpath import dirname

from toolcrib.shell.model import UNKNOWN, Assignment, PathEffect, SimpleCommand, Word
from toolcrib.shell.options import Arguments, is_one, may_be_option, read_arguments
from toolcrib.shell.programs import PROGRAMS, WRAPPERS, Program
from toolcrib.shell.special import SPECIAL
from toolcrib.shell.touched import Touched, folder_of

_TRUSTED_FOLDERS = frozenset(
    ("", "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin")
)
_SINKS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/full"))
_SOCKETS = ("/dev/tcp/", "/dev/udp/")
# Names that only say how output looks; any other one may tell a program what to run.
_HARMLESS_NAME = re.compile(
    r"LANG|LANGUAGE|LC_[A-Z]+|TZ|NO_COLOR|CLICOLOR|FORCE_COLOR|COLUMNS|LINES|GIT_OPTIONAL_LOCKS"
)
_PAGER_NAMES = frozenset(("PAGER", "GIT_PAGER", "MANPAGER"))
_EDITORS = frozenset(("nano", "vi", "vim", "nvim", "ex", "ed", "emacs"))
_BRACED_NAMES = re.compile(r"--include=([\w.*?-]*)(?:\{([\w.*?,-]+)\}([\w.*?-]*))?")
_PRIVATE_NAME = re.compile(r"[a-z_][a-z0-9_]*")


def effects_of(command: SimpleCommand, home_dir: str | None) -> tuple[tuple[PathEffect, ...], bool]:
    """What a command touches, and whether it is known to change nothing.

    Changing nothing also means to talk to no other machine and to run nothing that is not itself a
    command of the script.

    Args:
        home_dir: absolute; what `~` stands for. Without it, such paths are not known.
    """
    touched = Touched(command, home_dir)
    reads_line = command.program == "read"
    harmless = all(_is_harmless(a) or (reads_line and a.name == "IFS") for a in command.assignments)
    if command.words:
        harmless = _program_effects(touched) and harmless
    for redirect in command.redirects:
        if redirect.target is not None:
            if redirect.kind in ("read", "readwrite"):
                touched.read(redirect.target, by="<")
            if redirect.kind in ("write", "readwrite"):
                touched.write(redirect.target, by=">")
    effects = tuple(dict.fromkeys(touched.effects))
    return effects, harmless and all(map(_changes_nothing, effects))


def _changes_nothing(effect: PathEffect) -> bool:
    if effect.path is not None and effect.path.startswith(_SOCKETS):
        return False
    return effect.operation != "write" or effect.path in _SINKS


def _is_harmless(assignment: Assignment) -> bool:
    name = assignment.name
    if name in _PAGER_NAMES:
        return assignment.value.text in ("", "cat")
    # No program looks for a name in small letters, but for those of proxies.
    private = _PRIVATE_NAME.fullmatch(name) and not name.endswith("_proxy")
    return bool(private or _HARMLESS_NAME.fullmatch(name))


def _program_effects(touched: Touched) -> bool:
    """Note what a program touches by its operands; tell whether it is known to be harmless."""
    command = touched.command
    name, words = command.program, command.words[1:]
    trusted = name is not None and dirname(command.words[0].text) in _TRUSTED_FOLDERS
    if command.transparent and name not in WRAPPERS:
        return True
    if name is not None and name in SPECIAL:
        return SPECIAL[name](touched, words) and trusted
    if name is None or name not in PROGRAMS:
        for word in words:
            touched.read_if_path(word)
        return False
    program = PROGRAMS[name]
    arguments = read_arguments(words, program)
    listed_effects(touched, arguments, program)
    return command.transparent or (trusted and is_harmless(arguments, program))


def is_harmless(arguments: Arguments, program: Program) -> bool:
    """Whether a program with such arguments changes nothing but the paths noted as written."""
    if program.harmless != "listed":
        return program.harmless == "always"
    doubtful = arguments.strangers or arguments.abbreviated or not arguments.certain
    return not doubtful and not arguments.names & (program.changes | program.change_values)


def listed_effects(touched: Touched, arguments: Arguments, program: Program) -> None:
    """Note what a program that the tables describe reads and writes."""
    for word in arguments.values(program.reads):
        touched.read(word)
    for word in arguments.values(program.lists):
        touched.read(word)
        touched.read_unknown(word)
    for word in arguments.values(program.writes):
        touched.write(word)
    for word in arguments.strangers:
        touched.read_if_path(word)
    operands = arguments.operands
    if program.skip and not arguments.names & program.given_by:
        if arguments.strangers:  # one of them may have taken what looks like an operand
            for word in operands[: program.skip]:
                touched.read_if_path(word)
        operands = operands[program.skip :]
    recursive = "*" in program.recursive or bool(arguments.names & program.recursive)
    recursive = recursive and not arguments.names & program.names_only
    if not operands and (program.folder or (recursive and program.role == "read")):
        operands = (touched.cwd,)
    _ROLES[program.role](touched, operands, arguments, program, recursive)


_RoleEffects = Callable[[Touched, tuple[Word, ...], Arguments, Program, bool], None]


def _nothing(
    touched: Touched, operands: tuple[Word, ...], _a: Arguments, program: Program, _r: bool
) -> None:
    """What `curl` downloads has the name that the address ends with."""
    name = touched.command.program
    for word in _a.values(program.into):
        touched.write(word)
    if (name == "wget" and not _a.names & {"-O", "--output-document"}) or (
        name == "curl" and _a.names & program.changes
    ):
        folder = next(_a.values(program.into), touched.cwd)
        for word in operands:
            touched.write_into(folder, word)
    if name == "curl":
        for word in _a.values(program.values):
            if word.text.startswith("@") or "=@" in word.text or UNKNOWN in word.text:
                touched.read_if_path(word)
    if name in ("curl", "wget"):
        for word in operands:
            if word.text.startswith("file:"):
                touched.read_if_path(word)


def _read(
    touched: Touched, operands: tuple[Word, ...], arguments: Arguments, program: Program, r: bool
) -> None:
    if arguments.names & program.names_only:
        _list(touched, operands, arguments, program, r)
        return
    hidden = "*" in program.shows_hidden or bool(
        arguments.strangers or arguments.names & program.shows_hidden
    )
    names = _included(touched.command, arguments) if r else ()
    for word in operands:
        touched.read(word, recursive=r, hidden=hidden, names=names)


def _included(command: SimpleCommand, arguments: Arguments) -> tuple[str, ...]:
    """The names of files that `grep` is told to look into; nothing when it looks into others too.

    It looks into a file that no pattern names, unless the first of the patterns includes.
    """
    told = [o for o in arguments.options if o.name in ("--include", "--exclude", "--exclude-from")]
    names = [_names_in(o.value) for o in told if o.name == "--include" and o.value is not None]
    # Unquoted, such a pattern stands for itself, or for others that begin like it.
    certain = not any(
        may_be_option(w) and not w.source.startswith("--include=") for w in command.words[1:]
    )
    doubtful = arguments.strangers or arguments.abbreviated or not certain
    if doubtful or not told or told[0].name != "--include" or not all(names):
        return ()
    return tuple(name for several in names for name in several)


def _names_in(value: Word) -> list[str]:
    """The patterns that the value of an option is once the shell has expanded its braces."""
    if value.literal:
        return [] if set(value.text) & set("[\\") else [value.text]
    found = _BRACED_NAMES.fullmatch(value.source)
    if found is None:
        return []
    before, inside, after = found.groups(default="")
    return [f"{before}{each}{after}" for each in inside.split(",")]


def _list(
    touched: Touched, operands: tuple[Word, ...], _a: Arguments, _p: Program, _r: bool
) -> None:
    for word in operands:
        touched.list(word)


def _write(
    touched: Touched, operands: tuple[Word, ...], arguments: Arguments, program: Program, r: bool
) -> None:
    for word in operands:
        touched.write(word, recursive=r)
        if touched.command.program in _EDITORS:
            touched.read(word)
    if touched.command.program == "patch" and not operands:
        # The names stand in the patch.
        touched.write_unknown(next(arguments.values(program.into), touched.cwd))


def _first(
    touched: Touched, operands: tuple[Word, ...], arguments: Arguments, program: Program, _r: bool
) -> None:
    script_given = bool(arguments.names & program.given_by)
    if operands and not script_given:
        touched.read(operands[0])
        operands = operands[1:]
    for word in operands:
        touched.read_if_path(word)


def _in_and_out(
    touched: Touched, operands: tuple[Word, ...], _a: Arguments, _p: Program, _r: bool
) -> None:
    for word in operands[:1]:
        touched.read(word)
    spread = any(not is_one(word) for word in operands[:1])
    outputs = operands[1:2] or (operands[:1] if spread else ())
    for word in outputs:
        touched.write(word)
    if touched.command.program == "split":
        prefix = outputs[0] if outputs else Word("x", "x")
        if prefix.literal:
            touched.write(Word(prefix.source, UNKNOWN, f"{prefix.text}*"))


def _compress(
    touched: Touched, operands: tuple[Word, ...], arguments: Arguments, _p: Program, recursive: bool
) -> None:
    only_shows = arguments.names & {"-c", "--stdout", "--to-stdout", "-t", "-l", "--list"}
    for word in operands:
        touched.read(word, recursive=recursive)
        if not only_shows:
            touched.write(word, recursive=recursive)
            touched.write_unknown(word)


def _copy(
    touched: Touched, operands: tuple[Word, ...], arguments: Arguments, program: Program, r: bool
) -> None:
    sources, folders = _sources(operands, arguments, program)
    if program.changes & arguments.names:  # `install -d` makes folders
        for word in operands:
            touched.write(word)
        return
    for word in sources:
        touched.read(word, recursive=r)
        if touched.command.program == "cp" and arguments.names & {"-l", "--link"}:
            touched.write(word, recursive=r)
    _arrive(touched, sources, folders, recursive=r)


def _move(
    touched: Touched, operands: tuple[Word, ...], arguments: Arguments, program: Program, _r: bool
) -> None:
    sources, folders = _sources(operands, arguments, program)
    for word in sources:
        touched.read(word, recursive=True)
        touched.write(word, recursive=True)
    _arrive(touched, sources, folders, recursive=True)


def _link(
    touched: Touched, operands: tuple[Word, ...], arguments: Arguments, program: Program, _r: bool
) -> None:
    sources, folders = _sources(operands, arguments, program)
    if len(operands) == 1:
        sources, folders = operands, (touched.cwd,)
    for word in sources:
        touched.read(word)
        if not arguments.names & {"-s", "--symbolic"}:
            touched.write(word)  # who writes to one name of a file writes to the other
        # What a symbolic link says counts from where it lies.
        elif word.literal and not word.text.startswith(("/", "~")):
            for folder in folders:
                if folder.literal:
                    for base in (folder, folder_of(folder)):
                        touched.read(Word(word.source, f"{base.text}/{word.text}"))
    _arrive(touched, sources, folders, recursive=False)


def _sources(
    operands: tuple[Word, ...], arguments: Arguments, program: Program
) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """What is copied, and where to."""
    folders = tuple(arguments.values(program.into))
    if folders:
        return operands, folders[-1:]
    return operands[:-1], operands[-1:]


def _arrive(
    touched: Touched, sources: tuple[Word, ...], folders: tuple[Word, ...], *, recursive: bool
) -> None:
    """Note that something comes to lie at a place, or in it if that is a folder."""
    for folder in folders:
        touched.write(folder)
        for word in sources:
            touched.write_into(folder, word, recursive=recursive)


_ROLES: dict[str, _RoleEffects] = {
    "none": _nothing,
    "read": _read,
    "list": _list,
    "write": _write,
    "first": _first,
    "in-out": _in_and_out,
    "compress": _compress,
    "copy": _copy,
    "move": _move,
    "link": _link,
}
