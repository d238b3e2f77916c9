"""Writes what the user allows for good into the right `toolcrib.toml`, and takes it out again."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from toolcrib.approvals.files import edit_file
from toolcrib.approvals.toml_rules import CannotEdit, allow_rules, line_of, with_rule, without_rule
from toolcrib.config.lines import index_lines
from toolcrib.config.load import FILE_NAME, is_trusted, same_file, user_file
from toolcrib.config.own import workspace_files
from toolcrib.config.trust import TrustStore
from toolcrib.contract.interaction import ApprovalScope
from toolcrib.errors import ConfigError, Notice, RuleError
from toolcrib.rules import parse_rule
from toolcrib.rules.rule import escape

PersistentScope = Literal["project", "user"]


def offered_scopes(
    workspace_root: str | Path, environ: Mapping[str, str]
) -> tuple[ApprovalScope, ...]:
    """The answers to an approval that make sense here: `once` and `session` always do.

    `project` needs a workspace that is trusted, or can be and holds nothing that would count then;
    both it and `user` need a file that can be written.
    """
    scopes: list[ApprovalScope] = ["once", "session"]
    project = Path(workspace_root) / FILE_NAME
    own, named = user_file(environ)
    if not same_file(project, own) and _may_write(project) and _may_widen(project, environ):
        scopes.append("project")
    if _may_write(own) and (own.exists() or not named):
        scopes.append("user")
    return tuple(scopes)


def remember_rule(
    pattern: str,
    *,
    scope: PersistentScope,
    workspace_root: str | Path,
    environ: Mapping[str, str],
    about_path: bool = False,
) -> str:
    """Write an allow rule into the configuration and give its place, `file:line`.

    Everything else in the file stays as it is. A rule that is there already is not written again.
    For a project without a `toolcrib.toml` the file is made and the workspace trusted: the user
    has just said what may be done there, and nobody else has said anything, nor brought servers.

    Args:
        scope: `user` is the file that `TOOLCRIB_CONFIG` names, or that in the user's folder.
        about_path: the tool's rules are about paths; one in the workspace becomes relative there.

    Raises:
        RuleError: the pattern is no rule, or one that would allow every call without saying so.
        ConfigError: the file is not valid, has no place for the rule, or changed meanwhile; or the
            workspace is not trusted.
        OSError: the file cannot be read or written.
    """
    pattern = pattern.strip()
    _require_allowable(pattern)
    if scope == "user":
        file, named = user_file(environ)
        if not named:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not named and not file.exists():
            with suppress(FileExistsError):  # another process was faster
                return _add(pattern, file, new_mode=0o600)
        return _add(pattern, file)
    file = Path(workspace_root) / FILE_NAME
    if about_path:
        pattern = _relative(pattern, os.path.normpath(workspace_root))
    brought = _brought(file.parent)
    if file not in brought and (not brought or is_trusted(workspace_root, environ)):
        return _start_project(pattern, file, environ)
    if not is_trusted(workspace_root, environ):
        text = "the workspace is not trusted, so its file may allow nothing; see `toolcrib trust`"
        raise ConfigError(Notice(file=str(brought[0]), text=text))
    return _add(pattern, file)


def forget_rule(
    pattern: str,
    *,
    scope: PersistentScope,
    workspace_root: str | Path,
    environ: Mapping[str, str],
) -> tuple[str, ...]:
    """Take an allow rule out of the configuration and give the places where it stood.

    Rules that deny or ask, and those of profiles, are left alone. Empty when no rule has this
    pattern.

    Raises:
        ConfigError: the file is not valid, the rule cannot be taken out, or the file changed.
        OSError: the file cannot be read or written.
    """
    file = user_file(environ)[0] if scope == "user" else Path(workspace_root) / FILE_NAME
    pattern = pattern.strip()
    places: list[str] = []

    def edit(text: str) -> str:
        lines = index_lines(text)
        places[:] = [
            f"{file}:{lines[path]}" for path, found in allow_rules(text) if found == pattern
        ]
        return without_rule(text, pattern)

    try:
        _edit(file, edit, pattern)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return tuple(places)


def _start_project(pattern: str, file: Path, environ: Mapping[str, str]) -> str:
    if not _is_own_folder(file.parent):
        text = "others may write in this folder, so it cannot be trusted with a file that allows"
        raise ConfigError(Notice(file=str(file), text=text))
    try:
        place = _add(pattern, file, new_mode=0o644)
    except FileExistsError:
        text = "was made by another program in the meantime, so it is not trusted"
        raise ConfigError(Notice(file=str(file), text=text)) from None
    try:
        TrustStore.of_user(environ).trust(file.parent)
    except OSError:
        file.unlink()  # it would look like one that came with the workspace
        raise
    return place


def _add(pattern: str, file: Path, *, new_mode: int | None = None) -> str:
    def edit(text: str) -> str:
        known = any(found == pattern for _, found in allow_rules(text))
        return text if known else with_rule(text, pattern)

    text = _edit(file, edit, pattern, new_mode=new_mode)
    return f"{file}:{line_of(text, pattern)}"


def _edit(
    file: Path, edit: Callable[[str], str], pattern: str, *, new_mode: int | None = None
) -> str:
    try:
        return edit_file(file, edit, new_mode=new_mode)
    except tomllib.TOMLDecodeError as error:
        text = f"is not valid TOML, so the rule {pattern!r} was not changed in it: {error}"
        raise ConfigError(Notice(file=str(file), text=text)) from None
    except CannotEdit:
        text = (
            f"the rule {pattern!r} cannot be changed in the way that the file is written: edit it"
        )
        raise ConfigError(Notice(file=str(file), key="permission", text=text)) from None


def _require_allowable(pattern: str) -> None:
    rule = parse_rule(pattern)
    if rule.arg_pattern is None and pattern.endswith(")"):
        raise RuleError(
            f"{pattern!r} would allow every call; write {rule.tool_name!r} if that is meant"
        )
    try:
        pattern.encode("utf-8")
    except UnicodeEncodeError:
        raise RuleError(f"the rule {pattern!r} is not Unicode text: no file can hold it") from None


def _relative(pattern: str, root: str) -> str:
    """The rule with its path from the workspace on, when it lies in there."""
    rule = parse_rule(pattern)
    below = f"{escape(root.rstrip('/'))}/"
    path = rule.arg_pattern or ""
    if not path.startswith(below) or not (inside := path[len(below) :].lstrip("/")):
        return pattern
    plain = inside[0].isalnum() or inside[0] in "._-"
    return f"{rule.tool_name}({'' if plain else './'}{inside})"


def _may_widen(file: Path, environ: Mapping[str, str]) -> bool:
    if is_trusted(file.parent, environ):
        return True
    return not _brought(file.parent) and _is_own_folder(file.parent)


def _brought(folder: Path) -> list[Path]:
    """The files in a workspace that would count as soon as it is trusted."""
    return [file for file in workspace_files(folder) if os.path.lexists(file)]


def _is_own_folder(folder: Path) -> bool:
    """Whether only the user decides what lies in the folder."""
    try:
        status = folder.stat()
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not status.st_mode & stat.S_IWOTH


def _may_write(file: Path) -> bool:
    """Whether a file can be put here, by what its folder or the nearest one above says."""
    target = Path(os.path.realpath(file))
    if target.exists():
        return target.is_file() and os.access(target, os.W_OK) and _is_open(target.parent)
    folder = target.parent
    while not os.path.lexists(folder):
        folder = folder.parent
    return _is_open(folder)


def _is_open(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
