"""What a declared path really is: symbolic links followed, hard links told apart from copies."""

from __future__ import annotations

import os
import stat


class PathIdentity:
    """Looks paths up once; made anew for each batch, since links may change in between."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def of(self, path: str) -> tuple[str | None, str | None]:
        """The real path if there can be one, and `device:inode` of a file with several names.

        Files that do not exist yet have the real path of their folder and their own name.
        """
        real: str | None = None
        try:
            real = self._real_name(path)
            status = os.lstat(real)
            if stat.S_ISLNK(status.st_mode):
                real = os.path.realpath(real)
                status = os.stat(real)
        except (OSError, ValueError):
            return real, None
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            return real, f"{status.st_dev}:{status.st_ino}"
        return real, None

    def _real_name(self, path: str) -> str:
        """The path with the links of its folder followed, not yet its own."""
        parent, name = os.path.split(path.rstrip("/") or "/")
        if name in ("", ".", ".."):
            return os.path.realpath(path)
        real = self._parents.get(parent)
        if real is None:
            real = self._parents[parent] = os.path.realpath(parent)
        return os.path.join(real, name)
