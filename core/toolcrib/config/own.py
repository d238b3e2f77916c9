"""The files by which toolcrib itself is told what tools may do."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from toolcrib.config.folders import config_folder, state_folder
from toolcrib.config.load import FILE_NAME, user_file
from toolcrib.paths import repository_root
from toolcrib.paths.real import real_path

_SHARED_SERVERS = ".mcp.json"
"""The MCP servers of a repository, which are programs that a session starts."""


@frozen
class OwnFiles:
    """The configuration of the user and of a workspace, and the folder of what is remembered.

    Whoever writes there decides about permissions, so no tool may do so without being asked about
    it, whatever else it may write.

    Attributes:
        paths: absolute, as they are named and as they really are, without case.
        at_stake: those that a change of a whole folder may change: they are there now, or count as
            soon as they are.
        identities: device and inode of each, for a hard link to one is the file too.
    """

    paths: frozenset[str]
    at_stake: frozenset[str]
    identities: frozenset[tuple[int, int]]

    @classmethod
    def of(
        cls, workspace_root: str | Path, environ: Mapping[str, str], *, trusted: bool
    ) -> OwnFiles:
        """The files of a session; what does not exist yet counts too.

        Args:
            trusted: the workspace's file may widen what tools may do.
        """
        folder = state_folder(environ)
        project: set[str] = set()
        for file in workspace_files(workspace_root):
            project |= _spellings(file)
        users = _spellings(user_file(environ)[0].absolute())
        users |= _spellings(config_folder(environ) / "mcp.json")
        everything = project | users | _spellings(folder)
        there = {path for path in everything if os.path.lexists(path)}
        return cls(
            frozenset(map(str.casefold, everything)),
            frozenset(map(str.casefold, there | project if trusted else there)),
            frozenset(filter(None, map(_identity, [*there, *_files_in(folder)]))),
        )

    def controls(self, path: str, *, recursive: bool = False) -> bool:
        """Whether writing to an absolute path writes there, by its name or where it leads.

        Args:
            recursive: all that lies below the path is written or removed too.
        """
        for spelling in {os.path.normpath(path), real_path(path)}:
            folded = spelling.casefold()
            if any(folded == own or folded.startswith(f"{own}/") for own in self.paths):
                return True
            below = f"{folded.rstrip('/')}/"
            if recursive and any(own.startswith(below) for own in self.at_stake):
                return True
        return _identity(path, linked=True) in self.identities


def workspace_files(root: str | Path) -> tuple[Path, ...]:
    """What widens what tools may do once a workspace is trusted, whether it exists or not."""
    folder = Path(root)
    names = (FILE_NAME, _SHARED_SERVERS, ".toolcrib/mcp.json")
    return (*(folder / name for name in names), repository_root(folder) / _SHARED_SERVERS)


def _identity(path: str, *, linked: bool = False) -> tuple[int, int] | None:
    """What tells one file from another, whatever it is called; None for a folder.

    Args:
        linked: only of a file that has several names.
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    if stat.S_ISDIR(found.st_mode) or (linked and found.st_nlink < 2):
        return None
    return found.st_dev, found.st_ino


def _files_in(folder: Path) -> list[str]:
    try:
        return [entry.path for entry in os.scandir(folder)]
    except OSError:
        return []


def _spellings(path: Path) -> set[str]:
    return {os.path.normpath(path), os.path.realpath(path)}
