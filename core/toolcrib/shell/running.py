"""Adds a simple command to what was found, and with it everything that it would run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from toolcrib.shell.builtins import check_builtin
from toolcrib.shell.folders import GONE, Folder, below, changed, known
from toolcrib.shell.wrappers import unwrap

if TYPE_CHECKING:
    from toolcrib.shell.model import SimpleCommand
    from toolcrib.shell.simple import CommandReader
    from toolcrib.shell.wrappers import Unwrapped

Outcome = tuple[Folder, Folder]


def run(command: SimpleCommand, reader: CommandReader) -> Outcome:
    """Add the command; the folders in which it leaves the shell if it succeeds, and if it fails."""
    findings = reader.findings
    here = reader.cwd
    for assignment in command.assignments:
        findings.assign_word(assignment)
    if not command.words:
        findings.add(command)
        return here, here
    name = command.program
    if name is None:
        findings.note(f"the program is not known: {command.words[0].source or '{}'}")
        findings.add(command)
        reader.moved = True
        return None, None
    unwrapped = unwrap(command.words)
    if unwrapped is not None:
        return _run_inside(command, name, unwrapped, reader)
    findings.add(command)
    if command.words[0].text != name:
        return here, here
    check_builtin(name, command.words, findings)
    return _builtin_outcome(command, name, reader)


def _builtin_outcome(command: SimpleCommand, name: str, reader: CommandReader) -> Outcome:
    here = reader.cwd
    if name in ("cd", "pushd", "popd"):
        reader.moved = True
        home = reader.scope.home_dir
        if len(command.words) == 1:
            reader.findings.home_used = True
        return changed(here, command.words, home), here
    if name in (".", "source"):
        reader.moved = True
        return None, None
    if name == "exit" and not command.redirects and not command.assignments:
        codes = [word.text for word in command.words[1:]]
        if not codes or (len(codes) == 1 and codes[0].isascii() and codes[0].isdigit()):
            return GONE, GONE
    return here, here


def _run_inside(
    command: SimpleCommand, name: str, unwrapped: Unwrapped, reader: CommandReader
) -> Outcome:
    findings = reader.findings
    index = len(findings.commands)
    findings.add(command)
    if unwrapped.problem:
        findings.note(unwrapped.problem)
    if unwrapped.same_shell and unwrapped.problem:
        reader.moved = True
    before, moved, outcome = reader.cwd, reader.moved, (reader.cwd, reader.cwd)
    folder = unwrapped.folder
    inside = None
    if folder is not None:
        inside = before if folder == "." else below(before, folder, physical=True)
    via = (*command.via, name)
    reader.cwd = inside
    for words in unwrapped.commands:
        inner = evolve(
            command,
            words=words,
            assignments=(*command.assignments, *unwrapped.assignments),
            cwd=known(inside),
            via=via,
            transparent=False,
        )
        with reader.nested():
            outcome = run(inner, reader)
    if unwrapped.script is not None:
        outcome = _run_script(command, unwrapped, reader, inside, via)
    reader.cwd = before
    if unwrapped.transparent and len(findings.commands) > index + 1:
        findings.commands[index] = evolve(command, transparent=True)
    if unwrapped.same_shell:
        return outcome
    reader.moved = moved
    return before, before


def _run_script(
    command: SimpleCommand,
    unwrapped: Unwrapped,
    reader: CommandReader,
    cwd: Folder,
    via: tuple[str, ...],
) -> Outcome:
    findings = reader.findings
    first = len(findings.commands)
    scope = reader.scope
    if unwrapped.posix is not None:
        scope = evolve(scope, posix=unwrapped.posix)
    child = reader.child(unwrapped.script or "", cwd=cwd, scope=scope, via=via)
    if unwrapped.same_shell:
        child.read_all()
    else:
        with reader.apart():
            findings.settled = set()
            child.read_all()
    for index in range(first, len(findings.commands)):
        own = findings.commands[index]
        findings.commands[index] = evolve(
            own,
            assignments=(*command.assignments, *unwrapped.assignments, *own.assignments),
            redirects=(*own.redirects, *command.redirects),
            self_contained=own.self_contained and not (command.redirects or command.assignments),
        )
    if unwrapped.folder is None and child.moved:
        findings.cwd_lost = True
    reader.moved = reader.moved or child.moved
    return child.outcome
