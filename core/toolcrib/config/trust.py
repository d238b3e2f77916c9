"""Which workspaces the user trusts to widen what tools may do."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from toolcrib.config.folders import state_folder


class TrustStore:
    """The list of trusted workspaces, kept by real path in a file that only the user can read.

    A folder is trusted by itself: neither its parents nor the folders in it are.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    @classmethod
    def of_user(cls, environ: Mapping[str, str]) -> TrustStore:
        return cls(state_folder(environ) / "trusted.json")

    def paths(self) -> frozenset[str]:
        """The trusted workspaces; a file that cannot be understood trusts none."""
        try:
            stored = json.loads(self.file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return frozenset()
        items = stored if isinstance(stored, list) else []
        return frozenset(item for item in items if isinstance(item, str))

    def is_trusted(self, workspace: str | Path) -> bool:
        return os.path.realpath(workspace) in self.paths()

    def trust(self, workspace: str | Path) -> None:
        """Remember the workspace as trusted.

        Raises:
            OSError: the file cannot be written.
        """
        self._write(self.paths() | {os.path.realpath(workspace)})

    def untrust(self, workspace: str | Path) -> None:
        """Forget the workspace.

        Raises:
            OSError: the file cannot be written.
        """
        self._write(self.paths() - {os.path.realpath(workspace)})

    def _write(self, paths: frozenset[str]) -> None:
        import tempfile

        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # mkstemp makes the file 0600 from the start; the rename keeps a reader from seeing half.
        handle, temporary = tempfile.mkstemp(dir=self.file.parent, prefix=".trusted-")
        try:
            with open(handle, "w", encoding="utf-8") as out:
                json.dump(sorted(paths), out, indent=1)
            os.replace(temporary, self.file)
        except BaseException:
            os.unlink(temporary)
            raise
