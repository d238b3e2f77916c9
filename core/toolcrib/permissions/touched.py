"""The paths that a call touches, and whether a rule about paths speaks of them."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from fnmatch import fnmatchcase
from posixpath import basename

from attrs import evolve

from toolcrib.accesses import FileAccess
from toolcrib.contract.call import ToolCall
from toolcrib.contract.execution import RunnableExecution
from toolcrib.paths import Workspace, is_secret_store, is_sensitive_file
from toolcrib.permissions.disk import Links, expanded, holds
from toolcrib.permissions.ruleset import Operation, PreparedRule
from toolcrib.rules import match_path_rule
from toolcrib.shell.model import PathEffect

_HARMLESS = frozenset(
    ("/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/full")
)


class Match(IntEnum):
    """How sure it is that a rule or pattern speaks of a call; `NO` is false."""

    NO = 0
    PERHAPS = 1
    YES = 2


def touches_path(call: ToolCall, pattern: str, operation: Operation) -> Match:
    """How sure it is that a call reads or writes a path, for a plugin's `check_permission`.

    The shell commands of a call count as its declared accesses do. `Match.NO` is false, and
    `Match.PERHAPS` is true like `Match.YES`, so that who denies what this tells denies in doubt.
    What a tool that declares no accesses does, and an interpreter that a command starts, is not
    known and counts as nothing.

    Args:
        call: one that was resolved.
        pattern: as in a rule `Write(pattern)`: relative ones start at the workspace, `**` goes
            across folders, links are followed.
    """
    session, execution = call.session, call.execution
    assert session is not None and execution is not None
    workspace = session.workspace
    links = Links(workspace)
    matches = (
        _covered(effect, pattern, workspace, links)
        for effect in effects_of(execution)
        if effect.operation == operation
    )
    unknown = execution.analysis is not None and execution.analysis.unanalysable
    return max(matches, default=Match.NO) or (Match.PERHAPS if unknown else Match.NO)


def effects_of(execution: RunnableExecution) -> tuple[PathEffect, ...]:
    """What a call reads and writes, by its shell command or by what its tool declares."""
    if execution.analysis is not None:
        effects = [e for e in execution.analysis.effects if e.path not in _HARMLESS]
        return (*effects, *(evolve(e, path=e.through) for e in effects if e.through))
    found = []
    for item in execution.accesses.items if execution.accesses else ():
        if isinstance(item, FileAccess):
            effect = PathEffect(
                operation="write" if item.writes else "read",
                path=item.path.rstrip("/") or "/",
                recursive=item.recursive,
                word=item.path,
            )
            found.append(effect)
            if item.operation == "readwrite":
                found.append(evolve(effect, operation="read"))
    return tuple(found)


def speaks_of(rule: PreparedRule, effect: PathEffect, workspace: Workspace, links: Links) -> Match:
    """Whether a rule about paths speaks of what is done to one."""
    if effect.operation not in rule.operations:
        return Match.NO
    pattern = rule.pattern
    if pattern is None:  # a bare rule is about the tool; only writing is meant whoever does it
        return Match.YES if effect.operation == "write" else Match.NO
    return _covered(effect, pattern, workspace, links)


def _covered(effect: PathEffect, pattern: str, workspace: Workspace, links: Links) -> Match:
    """Whether an effect is on a path that a pattern covers."""

    def covered(path: str) -> bool:
        return match_path_rule(pattern, path, cwd=workspace.root, home_dir=workspace.home_dir)

    def covered_really(path: str) -> bool:
        return any(map(covered, links.spellings(path)))

    return touches(effect, covered_really, below=covered)


def secret_in(effects: tuple[PathEffect, ...], links: Links) -> str | None:
    """The first path that holds or may hold secrets, or None.

    An operand that is not known is none: a script that names no file is not a question each time.
    """

    def is_secret_really(path: str) -> bool:
        return _is_secret(path) or _is_secret(links.real(path))

    for effect in effects:
        if effect.path is None or effect.operation == "list":
            continue
        if effect.operation == "write":  # what is shown matters, not what a whole folder holds
            effect = evolve(effect, recursive=False)
        if touches(effect, is_secret_really, below=_is_secret) is not Match.NO:
            return effect.word or effect.path
    return None


def _is_secret(path: str) -> bool:
    return is_sensitive_file(path) or is_secret_store(path)


def touches(
    effect: PathEffect, wanted: Callable[[str], bool], *, below: Callable[[str], bool]
) -> Match:
    """Whether an effect is on a path that is wanted; `below` judges the many paths in a folder."""
    if effect.path is None:
        return Match.PERHAPS
    if effect.glob:
        paths = expanded(effect.path)
        if paths is None or any(map(wanted, paths)):
            return Match.PERHAPS
    elif wanted(effect.path):
        return Match.YES
    else:
        paths = [effect.path]
    if not effect.recursive:
        return Match.NO

    def meant(path: str) -> bool:
        return not effect.names or any(fnmatchcase(basename(path), n) for n in effect.names)

    for root in paths:
        found = holds(root, lambda path: meant(path) and below(path), hidden=effect.hidden)
        if found and effect.operation == "write":
            return Match.YES
        if found is not False:
            return Match.PERHAPS
    return Match.NO
