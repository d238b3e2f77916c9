"""From the path that a model wrote to an absolute path, or the reason why it is refused."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from posixpath import normpath
from typing import Literal

from attrs import frozen

from toolcrib.errors import PathSecurityError
from toolcrib.paths.sensitive import is_sensitive_file

Operation = Literal["read", "write", "search"]

MAX_PATH_BYTES = 4096

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_TO_DO = {"read": "read a file", "write": "write or edit a file", "search": "search"}


@frozen
class ResolvedPath:
    """A path argument, made absolute and normalised without a look at the disk.

    Attributes:
        raw: the path as it was given.
        path: absolute; a trailing slash stays.
        outside_workspace: whether it lies outside the workspace and its additional directories.
    """

    raw: str
    path: str
    outside_workspace: bool


def resolve_path_access(
    path: str,
    *,
    cwd: str,
    workspace_dir: str,
    additional_dirs: Sequence[str] = (),
    operation: Operation,
    home_dir: str | None,
    check_sensitive: bool = True,
) -> ResolvedPath:
    """Resolve the path argument of a tool; touches no file.

    Args:
        path: relative to `cwd`, absolute, `~`, `~/...` or a `file://` URL.
        cwd: absolute.
        workspace_dir: absolute; what lies in it or in `additional_dirs` is inside.
        additional_dirs: absolute directories that count as inside.
        operation: what the tool is going to do, for the words of the error.
        home_dir: what `~` stands for; without it, `~` is an ordinary name.
        check_sensitive: refuse files that hold secrets.

    Raises:
        PathSecurityError: the path is no path, names a secret, or is relative and leads out of the
            workspace.
    """
    prefixes = tuple(map(containment_prefix, (workspace_dir, *additional_dirs)))
    return resolve_within(path, cwd, prefixes, operation, home_dir, check_sensitive)


def containment_prefix(directory: str) -> str:
    """Give the text that every path in `directory` starts with, once it ends in a slash."""
    return normpath(directory).rstrip("/") + "/"


def resolve_within(
    raw: str,
    cwd: str,
    prefixes: tuple[str, ...],
    operation: Operation,
    home_dir: str | None,
    check_sensitive: bool,
) -> ResolvedPath:
    """Do what `resolve_path_access` does, with the inside given as containment prefixes."""
    spelled = _spelled_plainly(raw)
    if home_dir is not None and (spelled == "~" or spelled.startswith("~/")):
        spelled = home_dir + spelled[1:]
    relative = not spelled.startswith("/")
    if relative and not cwd.startswith("/"):
        raise _invalid(
            f"path {raw!r} is relative, and the working directory {cwd!r} is not absolute: "
            "give an absolute path",
            raw,
        )
    path = _normalised(f"{cwd}/{spelled}" if relative else spelled)
    if check_sensitive and is_sensitive_file(path):
        raise sensitive_error(raw)
    outside = not f"{path}/".startswith(prefixes)
    if outside and relative:
        raise PathSecurityError(
            f"path {raw!r} is not absolute and leads outside the working directory {cwd!r}: "
            f"to {_TO_DO[operation]} outside it, give an absolute path",
            code="PATH_OUTSIDE_WORKSPACE",
            path=raw,
        )
    return ResolvedPath(raw, path, outside)


def sensitive_error(raw: str, real: str | None = None) -> PathSecurityError:
    """Word the refusal of a secret; `real` is where a link led to, if one did."""
    leads = f" leads to {real!r}, which" if real is not None else ""
    return PathSecurityError(
        f"path {raw!r}{leads} looks like a sensitive file (environment, credentials or private "
        "key), which tools may not open: ask the user for what you need to know from it",
        code="PATH_SENSITIVE",
        path=raw,
    )


def _spelled_plainly(raw: str) -> str:
    """Refuse what cannot be a path, and turn a `file://` URL into one."""
    if not raw:
        raise _invalid("the path is empty: give the path of a file or directory", raw)
    path = _without_scheme(raw) if "://" in raw else raw
    if not path.isprintable():
        control = _CONTROL.search(path)
        if control is not None:
            raise _invalid(
                f"path {_shown(raw)} holds the control character {control[0]!r}: remove it", raw
            )
    if len(path) * 4 > MAX_PATH_BYTES or not path.isascii():
        _check_encoded(path, raw)
    return path


def _check_encoded(path: str, raw: str) -> None:
    try:
        size = len(os.fsencode(path))
    except UnicodeEncodeError as error:
        raise _invalid(
            f"path {_shown(raw)} holds {path[error.start]!r}, which no file name can hold", raw
        ) from None
    if size > MAX_PATH_BYTES:
        raise _invalid(
            f"path {_shown(raw)} is {size} bytes long, more than the {MAX_PATH_BYTES} that are "
            "possible: give a shorter one",
            raw,
        )


def _without_scheme(raw: str) -> str:
    match = _SCHEME.match(raw)
    if match is None:
        return raw
    scheme = match[1].lower()
    if scheme == "file":
        host, slash, rest = raw[match.end() :].partition("/")
        if slash and host.lower() in ("", "localhost"):
            from urllib.parse import unquote

            return "/" + unquote(rest, errors="surrogateescape")
        raise _invalid(f"{raw!r} names a file on another host: give the path of a local file", raw)
    if scheme in ("http", "https", "ftp"):
        raise _invalid(f"{raw!r} is a URL, not a path: use a tool that fetches URLs", raw)
    if scheme == "attachment":
        raise _invalid(
            f"{raw!r} is an attachment, not a path: use a tool whose description says that it "
            "opens attachments",
            raw,
        )
    raise _invalid(
        f"{raw!r} is a URL of the unknown scheme {scheme!r}, not a path; if it is the name of a "
        f"file, write './{raw}'",
        raw,
    )


def _normalised(path: str) -> str:
    """Collapse dots and slashes by the text alone; a trailing slash stays."""
    normal = normpath(path)
    if normal.startswith("//"):
        normal = normal[1:]
    return f"{normal}/" if path.endswith("/") and normal != "/" else normal


def _invalid(message: str, raw: str) -> PathSecurityError:
    return PathSecurityError(message, code="PATH_INVALID", path=raw)


def _shown(raw: str) -> str:
    return repr(raw if len(raw) <= 200 else f"{raw[:100]}...{raw[-80:]}")
