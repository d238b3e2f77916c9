"""The files by which toolcrib itself is told what tools may do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from toolcrib.config.folders import state_folder
from toolcrib.config.load import FILE_NAME, user_file


@frozen
class OwnFiles:
    """The configuration of the user and of a workspace, and the folder of what is remembered.

    Whoever writes there decides about permissions, so no tool may do so without being asked about
    it, whatever else it may write.

    Attributes:
        paths: absolute, as they are named and as they really are, without case.
        at_stake: those that a change of a whole folder may change: they are there now, or count as
            soon as they are.
    """

    paths: frozenset[str]
    at_stake: frozenset[str]

    @classmethod
    def of(
        cls, workspace_root: str | Path, environ: Mapping[str, str], *, trusted: bool
    ) -> OwnFiles:
        """The files of a session; what does not exist yet counts too.

        Args:
            trusted: the workspace's file may widen what tools may do.
        """
        project = _spellings(Path(workspace_root) / FILE_NAME)
        user = _spellings(user_file(environ)[0].absolute())
        state = _spellings(state_folder(environ))
        there = {path for path in project | user | state if os.path.lexists(path)}
        return cls(
            frozenset(map(str.casefold, project | user | state)),
            frozenset(map(str.casefold, there | project if trusted else there)),
        )

    def controls(self, path: str, *, recursive: bool = False) -> bool:
        """Whether writing to an absolute path writes there, by its name or where it leads.

        Args:
            recursive: all that lies below the path is written or removed too.
        """
        for spelling in {os.path.normpath(path), os.path.realpath(path)}:
            folded = spelling.casefold()
            for own in self.paths:
                if folded == own or folded.startswith(f"{own}/"):
                    return True
            below = f"{folded.rstrip('/')}/"
            if recursive and any(own.startswith(below) for own in self.at_stake):
                return True
        return False


def _spellings(path: Path) -> set[str]:
    return {os.path.normpath(path), os.path.realpath(path)}
