"""What a declared path really is: symbolic links followed, hard links told apart from copies."""

from __future__ import annotations

import os
import stat


class PathIdentity:
    """Looks paths up once; made anew for each batch, since links may change in between."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def of(self, path: str) -> tuple[str | None, str | None]:
        """The real path, and `device:inode` for a file that has several names.

        Files that do not exist yet have the real path of their folder and their own name. Both
        are None for a path that cannot be looked up.
        """
        parent, name = os.path.split(path.rstrip("/") or "/")
        try:
            real = os.path.join(self._real_parent(parent), name)
            status = os.lstat(real)
            if stat.S_ISLNK(status.st_mode):
                real = os.path.realpath(real)
                status = os.stat(real)
        except FileNotFoundError:
            return real, None
        except (OSError, ValueError):
            return None, None
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            return real, f"{status.st_dev}:{status.st_ino}"
        return real, None

    def _real_parent(self, parent: str) -> str:
        known = self._parents.get(parent)
        if known is None:
            known = self._parents[parent] = os.path.realpath(parent)
        return known
