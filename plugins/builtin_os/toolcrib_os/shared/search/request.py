"""What is to be searched, as both engines understand it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Literal

from attrs import frozen

Mode = Literal["list", "files", "count", "content"]

VERSION_CONTROL = (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")
"""Folders that no search enters."""
MAX_LINE_BYTES = 1_000_000
"""Of a longer line only the beginning is shown."""


@frozen(kw_only=True)
class SearchRequest:
    """One search.

    Attributes:
        mode: `list` files without a look inside, list `files` with a match, `count` the matches of
            each file, or show `content`.
        cwd: the absolute folder to search; all paths found are relative to it.
        file: the name of the only file to search in it.
        base: the folder at or above `cwd` where ignore files begin to count.
        repository: `base` holds a version-controlled tree, so a repository inside starts afresh.
        include_ignored: pay no attention to ignore files.
        follow: enter linked folders and take linked files.
        only: globs of which one has to cover a file; see `narrow`.
        leave_out: globs; what one of them covers is not entered.
        types: globs of file names, of which one has to cover a file.
    """

    mode: Mode
    cwd: str
    base: str
    repository: bool
    file: str | None = None
    include_ignored: bool = False
    follow: bool = False
    only: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    pattern: str = ""
    ignore_case: bool = False
    fixed_strings: bool = False
    word: bool = False
    multiline: bool = False
    only_matching: bool = False
    before: int = 0
    after: int = 0


_SPECIAL = re.compile(r"[\[\]{}\\:!\s]")


def read_alike(globs: Iterable[str]) -> tuple[str, ...] | None:
    """The globs, if both engines read each of them as `PathGlob` does; else None."""
    wanted = tuple(globs)
    if any(map(_SPECIAL.search, wanted)):
        return None
    names = (name for glob in wanted for name in glob.split("/"))
    return None if any("**" in name and name != "**" for name in names) else wanted


def narrow(
    globs: Iterable[str], types: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What to give as `only` and `types` of a request, so that it finds little but the wanted.

    The findings have to be filtered all the same: where the engines read a glob differently it
    is left out, and ripgrep lets files through that an ignore file names as not ignored.
    """
    wanted = read_alike(globs)
    if not wanted:
        return (), types
    if types or any("/" in glob or glob == "**" for glob in wanted):
        return wanted, types
    return (), wanted


def ignore_base(cwd: str, workspace_root: str) -> tuple[str, bool]:
    """Where ignore files begin to count for a search in `cwd`, and whether a repository is there.

    That is the root of the repository, else the root of the workspace, else the folder itself.
    """
    folder = cwd
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder, True
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    inside = f"{cwd}/".startswith(workspace_root.rstrip("/") + "/")
    return (workspace_root if inside else cwd), False
