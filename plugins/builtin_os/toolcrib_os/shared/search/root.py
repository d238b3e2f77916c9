"""Where a search begins, which of its findings may be shown, and under what names."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable

from attrs import define, field, frozen

from toolcrib import PathSecurityError, ResolvedPath, Workspace, is_sensitive_file
from toolcrib_os.shared.fserrors import fs_failure
from toolcrib_os.shared.opening import NotAFileError, open_regular
from toolcrib_os.shared.search.request import ignore_base
from toolcrib_os.shared.search.texts import plural

_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_HEAD_BYTES = 1 << 16


class RootError(Exception):
    """The folder or file to search cannot be searched; the text is for the model."""


@frozen
class SearchRoot:
    """A folder to search, or a single file.

    Attributes:
        folder: absolute, without links.
        file: the name of the file in `folder`, when only that is searched.
        base: where ignore files begin to count; see `ignore_base`.
        repository: whether `base` is the root of a repository.
        prefix: what goes before a name found to show it: nothing for the workspace's root.
        outside: whether it lies outside the workspace.
    """

    folder: str
    file: str | None
    base: str
    repository: bool
    prefix: str
    outside: bool

    def shown(self, name: str) -> str:
        """A name found as the model reads it: usable as a path where it has no odd characters."""
        path = self.prefix + name
        return path if path.isprintable() else _ODD.sub(_escape, path)


def open_root(workspace: Workspace, resolved: ResolvedPath) -> SearchRoot:
    """Look at what a search begins with.

    Raises:
        RootError: it is missing, or no folder or ordinary file, or a file that holds secrets, or
            its links lead out of the workspace.
    """
    try:
        real = workspace.locate(resolved, "search", check_sensitive=False)
        mode = os.stat(real).st_mode
    except PathSecurityError as error:
        raise RootError(str(error)) from None
    except (OSError, ValueError) as error:
        raise RootError(fs_failure("search", resolved.raw, error)) from None
    lexical = resolved.path.rstrip("/") or "/"
    workspace_root = os.path.realpath(workspace.root)
    if stat.S_ISDIR(mode):
        shown = workspace.display(lexical)
        prefix = "" if shown == "." else shown.rstrip("/") + "/"
        base, repository = ignore_base(real, workspace_root)
        return SearchRoot(real, None, base, repository, prefix, resolved.outside_workspace)
    if not stat.S_ISREG(mode):
        raise RootError(f"cannot search {resolved.raw!r}: it is neither a folder nor a file")
    if is_sensitive_file(lexical) or is_sensitive_file(real):
        raise RootError(
            f"cannot search {resolved.raw!r}: it looks like a sensitive file (environment, "
            "credentials or private key)"
        )
    folder, name = os.path.split(real)
    # The name shown is the one asked for, also when that is a link to the file.
    prefix = workspace.display(lexical)[: -len(os.path.basename(lexical))]
    return SearchRoot(folder, name, folder, False, prefix, resolved.outside_workspace)


@define
class Shield:
    """Tells what may be shown, and counts what may not.

    Attributes:
        follow: links were followed, so that a harmless name can lead to a secret, or out of the
            workspace.
        withheld: tells which absolute paths permission rules keep from the model.
        secrets: how many findings were held back because their files hold secrets.
        outside: how many because they lie outside the workspace.
        by_rule: how many because of permission rules.
    """

    root: SearchRoot
    workspace: Workspace
    follow: bool = False
    withheld: Callable[[str], bool] | None = None
    secrets: int = 0
    outside: int = 0
    by_rule: int = 0
    _prefix: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._prefix = self.root.folder.rstrip("/") + "/"

    def allows(self, name: str) -> bool:
        """Whether a name found may be shown."""
        path = self._prefix + name
        if is_sensitive_file(path):
            self.secrets += 1
            return False
        if self.workspace.hidden and self.workspace.hides(path):
            return False
        if self.withheld is not None and self.withheld(path):
            self.by_rule += 1
            return False
        return not self.follow or self._leads_to_allowed(name)

    def _leads_to_allowed(self, name: str) -> bool:
        path = ResolvedPath(name, self._prefix + name, self.root.outside)
        try:
            real = self.workspace.locate(path, "search")
        except PathSecurityError as error:
            if error.code == "PATH_SENSITIVE":
                self.secrets += 1
            else:
                self.outside += 1
            return False
        if self.withheld is not None and self.withheld(real):
            self.by_rule += 1
            return False
        return os.path.lexists(real)

    def warnings(self, found: Iterable[str]) -> tuple[str, ...]:
        """Those, each of which begins with a path, that are not about what is hidden."""
        return tuple(
            warning
            for warning in found
            if not self.workspace.hides(self._prefix + warning.rpartition(": ")[0])
        )

    def notices(self) -> list[str]:
        """What was held back, in words."""
        notices = []
        if self.secrets:
            notices.append(f"{plural(self.secrets, 'sensitive file')} left out.")
        if self.outside:
            files = plural(self.outside, "file")
            notices.append(f"{files} outside the workspace, reached through links, left out.")
        if self.by_rule:
            files = plural(self.by_rule, "file")
            notices.append(f"{files} left out because of permission rules.")
        return notices


def looks_binary(root: SearchRoot) -> bool:
    """Whether the single file to search holds null bytes near its beginning, as no text does.

    Raises:
        RootError: it cannot be read.
    """
    path = os.path.join(root.folder, root.file or "")
    try:
        descriptor, _ = open_regular(path)
        try:
            head = os.read(descriptor, _HEAD_BYTES)
        finally:
            os.close(descriptor)
    except NotAFileError as error:
        raise RootError(f"cannot search {root.shown(root.file or '')!r}: {error}") from None
    except (OSError, ValueError) as error:
        raise RootError(fs_failure("search", root.shown(root.file or ""), error)) from None
    return b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff"))


def modified(path: str) -> int:
    """When a file was changed, in nanoseconds; 0 for one that is gone by now."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return repr(match[0])[1:-1]
