"""Tells what a script would do before it runs."""

from __future__ import annotations

import re

from attrs import evolve

from toolcrib.shell.alone import stands_alone
from toolcrib.shell.builtins import BUILTINS
from toolcrib.shell.danger import danger_in
from toolcrib.shell.effects import effects_of
from toolcrib.shell.findings import Findings, Scope, Unparsable
from toolcrib.shell.links import makes_links, through_links
from toolcrib.shell.model import CommandAnalysis, PathEffect
from toolcrib.shell.parse import ScriptReader
from toolcrib.shell.wrappers import WRAPPERS

MAX_CHARACTERS = 100_000
_FORK_BOMB = re.compile(r"([^\s;&|(){}]{1,40})\s*\(\s*\)\s*\{\s*\1\s*\|\s*\1\s*&")
_LOCALE = ("LANG", "LC_ALL", "LC_CTYPE")


def analyse_command(
    text: str, *, cwd: str, home_dir: str | None = None, root: str | None = None
) -> CommandAnalysis:
    """Read a script as bash would, and tell everything that is known of it; never raises.

    Args:
        text: the script.
        cwd: the absolute folder that it starts in.
        home_dir: what `~` stands for; None when that is not known.
        root: the folder of the workspace, which must not be deleted as a whole.
    """
    findings = _found(text, cwd, home_dir)
    effects: list[PathEffect] = []
    links: list[tuple[PathEffect, ...]] = []
    read_only = findings.problem is None
    for command in findings.commands:
        touched, harmless = effects_of(command, home_dir)
        effects.extend(touched)
        read_only = read_only and harmless
        if makes_links(command):
            links.append(touched)
    if links:
        effects.extend(through_links(effects, links))
    commands = tuple(findings.commands)
    return CommandAnalysis(
        text=text,
        cwd=cwd,
        commands=commands,
        effects=tuple(effects),
        unanalysable=findings.problem,
        dangerous=_bomb(text, findings) or danger_in(commands, home_dir=home_dir, root=root),
        read_only=read_only,
    )


def _bomb(text: str, findings: Findings) -> str | None:
    """A function that starts itself over and over; `:` is no name that the parser takes."""
    found = _FORK_BOMB.search(text)
    names = sorted(findings.recursive) or ([found[1]] if found else [])
    return f"{names[0]}: calls itself, which may start processes without end" if names else None


def _found(text: str, cwd: str, home_dir: str | None) -> Findings:
    findings = Findings()
    if len(text) > MAX_CHARACTERS:
        findings.note(f"the script has more than {MAX_CHARACTERS} characters")
        text = text[:MAX_CHARACTERS]
    try:
        ScriptReader(text, findings, Scope(home_dir), cwd=cwd).read_all()
    except (RecursionError, Unparsable) as problem:
        findings.note(str(problem))
    if hidden := findings.functions & (BUILTINS | WRAPPERS):
        findings.note(f"a function replaces {min(hidden)}")
    if not text.isascii() and not findings.assigned.keys().isdisjoint(_LOCALE):
        findings.note("the locale is changed, and with it what the characters are")
    findings.close()
    if findings.cwd_lost:
        findings.commands = [evolve(command, cwd=None) for command in findings.commands]
    findings.commands = [
        command
        if stands_alone(command, findings.assigned)
        else evolve(command, self_contained=False)
        for command in findings.commands
    ]
    return findings
