"""The files of a workspace that hold secrets by their names, found again wherever they go."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from attrs import define, field

from toolcrib import is_sensitive_file

_LOOKED_AT = 4000
"""How many names in the workspace are looked at for secrets."""
_NOT_LOOKED_INTO = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})

_Identity = tuple[int, int, int]


@define
class WorkspaceSecrets:
    """Looks for secrets before each command.

    Files far down are still refused by the file tools, which judge each path by itself. What was
    found once stays known, so that no command brings it out of sight by moving the folders around
    it, or by making so many files that it is not reached any more.
    """

    root: str
    _known: dict[str, _Identity] = field(factory=dict, init=False)

    def look(self) -> tuple[str, ...]:
        """The paths of what is there now."""
        found = dict(_identified(_named_like_secrets(self.root)))
        left = {path: seen for path, seen in self._known.items() if path not in found}
        found |= {path: seen for path, seen in _identified(left) if seen == left[path]}
        moved = {seen for path, seen in left.items() if path not in found} - set(found.values())
        if moved:
            found |= _search(self.root, moved)
        self._known = found
        return tuple(found)


def _named_like_secrets(root: str) -> Iterator[str]:
    """The nearest first, not all of a huge workspace."""
    left = _LOOKED_AT
    level = [root]
    while level and left > 0:
        below: list[str] = []
        for folder in level:
            entries = _entries(folder)
            left -= len(entries)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _NOT_LOOKED_INTO:
                        below.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and is_sensitive_file(entry.path):
                    yield entry.path
            if left <= 0:
                break
        level = below


def _search(root: str, wanted: set[_Identity]) -> dict[str, _Identity]:
    """Where files are now, by everything there is in a folder."""
    inodes = {identity[0] for identity in wanted}
    folders = [root]
    found: dict[str, _Identity] = {}
    while folders:
        for entry in _entries(folders.pop()):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif entry.inode() in inodes:
                seen = dict(_identified([entry.path]))
                found |= {path: now for path, now in seen.items() if now in wanted}
    return found


def _identified(paths: Iterable[str]) -> Iterator[tuple[str, _Identity]]:
    """What tells a file from others that get its name, or its number, later."""
    for path in paths:
        with suppress(OSError):
            status = os.lstat(path)
            yield path, (status.st_ino, status.st_mtime_ns, status.st_size)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
