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
    """

    paths: frozenset[str]

    @classmethod
    def of(cls, workspace_root: str | Path, environ: Mapping[str, str]) -> OwnFiles:
        """The files of a session; what does not exist yet counts too."""
        named = (
            Path(workspace_root) / FILE_NAME,
            user_file(environ)[0].absolute(),
            state_folder(environ),
        )
        spelt = {os.path.normpath(path) for path in named} | set(map(os.path.realpath, named))
        return cls(frozenset(path.casefold() for path in spelt))

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
                if recursive and own.startswith(f"{folded.rstrip('/')}/"):
                    return True
        return False
