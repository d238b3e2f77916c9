"""The workspace: what lies inside, and a second look at the disk before a path is used."""

from __future__ import annotations

import errno
import os
from functools import cached_property
from posixpath import dirname, normpath

from attrs import field, frozen
from attrs.converters import optional

from toolcrib.errors import PathSecurityError
from toolcrib.paths.resolve import (
    Operation,
    ResolvedPath,
    containment_prefix,
    resolve_within,
    sensitive_error,
)
from toolcrib.paths.sensitive import is_sensitive_file


def _absolute_dir(directory: str) -> str:
    if not directory.startswith("/"):
        raise ValueError(f"a workspace directory must be absolute, and {directory!r} is not")
    return containment_prefix(directory)[:-1] or "/"


def _absolute_dirs(directories: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_absolute_dir, directories))


@frozen
class Workspace:
    """The directories that tools work in.

    Attributes:
        root: absolute; relative paths start here.
        additional_dirs: absolute directories that count as inside too.
        home_dir: absolute; what `~` stands for. Without it, `~` is an ordinary name.
        hidden: absolute paths of files and directories that tools see nothing of.
        shown: absolute paths in a hidden directory that are seen after all; of `hidden` and
            `shown`, the deepest path that holds another decides over it.
        writable: absolute paths; only what lies at or below them may be written. None allows any.
        read_only: absolute paths that may not be written, whatever `writable` says.

    Raises:
        ValueError: a directory is not absolute.
    """

    root: str = field(converter=_absolute_dir)
    additional_dirs: tuple[str, ...] = field(default=(), converter=_absolute_dirs)
    home_dir: str | None = None
    hidden: tuple[str, ...] = field(default=(), converter=_absolute_dirs, kw_only=True)
    writable: tuple[str, ...] | None = field(
        default=None, converter=optional(_absolute_dirs), kw_only=True
    )
    shown: tuple[str, ...] = field(default=(), converter=_absolute_dirs, kw_only=True)
    read_only: tuple[str, ...] = field(default=(), converter=_absolute_dirs, kw_only=True)

    def resolve(
        self, path: str, operation: Operation, *, check_sensitive: bool = True
    ) -> ResolvedPath:
        """Resolve a tool's path argument without touching a file.

        Raises:
            PathSecurityError: as `resolve_path_access` does, and for what is hidden.
        """
        resolved = resolve_within(
            path, self.root, self._prefixes, operation, self.home_dir, check_sensitive
        )
        if self.hidden and self.hides(resolved.path):
            raise _hidden_error(path)
        return resolved

    def locate(
        self, resolved: ResolvedPath, operation: Operation, *, check_sensitive: bool = True
    ) -> str:
        """Follow the links of a resolved path, and give the real path to work on.

        To be called just before the file is used. What does not exist yet is taken as it is spelled
        below the longest part that exists.

        Raises:
            PathSecurityError: the links lead to a secret, out of the workspace, to what is hidden,
                in a circle or, for a write, to nothing or to what may only be read.
        """
        real = _real_path(resolved, operation)
        if self.hidden and self.hides(real):
            raise _hidden_error(resolved.raw)
        if check_sensitive and is_sensitive_file(real):
            raise sensitive_error(resolved.raw, real if real != resolved.path else None)
        if not resolved.outside_workspace and not f"{real}/".startswith(self._real_prefixes):
            raise PathSecurityError(
                f"path {resolved.raw!r} is a link that leads outside the workspace, to {real!r}: "
                "give that path itself, or ask the user to add its directory to the workspace",
                code="PATH_OUTSIDE_WORKSPACE",
                path=resolved.raw,
            )
        if operation == "write" and not self.may_write(real):
            raise self._read_only_error(resolved.raw, real)
        return real

    def hides(self, path: str) -> bool:
        """Tell whether an absolute path is hidden from tools, judged by its text alone."""
        whole = f"{path}/"
        if not whole.startswith(self._hidden_prefixes):
            return False
        shown = [len(prefix) for prefix in self._shown_prefixes if whole.startswith(prefix)]
        hidden = [len(prefix) for prefix in self._hidden_prefixes if whole.startswith(prefix)]
        return max(hidden) > max(shown, default=0)

    def may_write(self, path: str) -> bool:
        """Tell whether an absolute real path is where tools may write."""
        whole = f"{path}/"
        if self.read_only and whole.startswith(self._read_only_prefixes):
            return False
        return self.writable is None or whole.startswith(self._writable_prefixes)

    def contains(self, path: str) -> bool:
        """Tell whether an absolute path lies inside, judged by its text alone."""
        return f"{normpath(path)}/".startswith(self._prefixes)

    def display(self, path: str) -> str:
        """Give an absolute path as a person reads it: relative to the root when below it."""
        for prefix in (self._prefixes[0], self._real_prefixes[0]):
            if path.startswith(prefix) and path != "/":
                return path[len(prefix) :] or "."
            if path == prefix[:-1] or path == prefix:
                return "."
        return path

    def _read_only_error(self, raw: str, real: str) -> PathSecurityError:
        if self.read_only and f"{real}/".startswith(self._read_only_prefixes):
            reason = "protects it, since programs outside would trust it: ask the user to change it"
        else:
            places = ", ".join(map(repr, self.writable or ())) or "no place"
            reason = f"allows writing only in {places}"
        return PathSecurityError(
            f"path {raw!r} may be read but not written: the runtime that tools act in {reason}",
            code="PATH_READ_ONLY",
            path=raw,
        )

    @cached_property
    def _prefixes(self) -> tuple[str, ...]:
        return tuple(map(containment_prefix, (self.root, *self.additional_dirs)))

    @cached_property
    def _real_prefixes(self) -> tuple[str, ...]:
        roots = map(os.path.realpath, (self.root, *self.additional_dirs))
        return tuple(map(containment_prefix, roots))

    @cached_property
    def _hidden_prefixes(self) -> tuple[str, ...]:
        """Of the paths as they are spelled, and as they are without links."""
        return _spelled_and_real(self.hidden)

    @cached_property
    def _shown_prefixes(self) -> tuple[str, ...]:
        return _spelled_and_real(self.shown)

    @cached_property
    def _read_only_prefixes(self) -> tuple[str, ...]:
        return _spelled_and_real(self.read_only)

    @cached_property
    def _writable_prefixes(self) -> tuple[str, ...]:
        return tuple(map(containment_prefix, map(os.path.realpath, self.writable or ())))


def _spelled_and_real(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(containment_prefix, (*paths, *map(os.path.realpath, paths))))


def _hidden_error(raw: str) -> PathSecurityError:
    return PathSecurityError(
        f"path {raw!r} is hidden by the runtime that tools act in: work without it, or ask the "
        "user for what you need to know from it",
        code="PATH_HIDDEN",
        path=raw,
    )


def _real_path(resolved: ResolvedPath, operation: Operation) -> str:
    path = resolved.path
    try:
        real = os.path.realpath(path, strict=True)
    except (FileNotFoundError, NotADirectoryError):
        if operation == "write":
            _refuse_dangling(resolved)
        real = os.path.realpath(path)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
            raise PathSecurityError(
                f"path {resolved.raw!r} cannot be followed: {os.strerror(error.errno)}",
                code="PATH_INVALID",
                path=resolved.raw,
            ) from None
        # A directory on the way may not be searched: whoever opens the file meets the same error.
        real = os.path.realpath(path)
    if operation == "write" and path.endswith("/") and not os.path.isdir(real):
        raise PathSecurityError(
            f"path {resolved.raw!r} ends in a slash, so it names a directory: leave the slash off "
            "to write a file",
            code="PATH_INVALID",
            path=resolved.raw,
        )
    return real


def _refuse_dangling(resolved: ResolvedPath) -> None:
    """Refuse a path whose longest existing part is a link to nothing."""
    probe = resolved.path.rstrip("/")
    while not os.path.lexists(probe):
        probe = dirname(probe)
    if not os.path.exists(probe):
        raise PathSecurityError(
            f"path {resolved.raw!r} goes through the link {probe!r} to {os.readlink(probe)!r}, "
            "which does not exist: give the path of the file itself, or remove the link first",
            code="PATH_INVALID",
            path=resolved.raw,
        )
