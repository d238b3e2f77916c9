"""Notices that a configuration file has changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import monotonic

from toolcrib.config.load import FILE_NAME, user_file
from toolcrib.config.trust import TrustStore

EVERY_S = 1.0
"""The files are looked at at most this often, in seconds."""


class ConfigWatch:
    """Looks at the files that decide the settings of a workspace, whether they exist yet or not."""

    def __init__(self, workspace: str | Path, environ: Mapping[str, str]) -> None:
        self._files: list[str | os.PathLike[str]] = [
            user_file(environ)[0],
            Path(workspace) / FILE_NAME,
            TrustStore.of_user(environ).file,
        ]
        self._known = self._states()
        self._next = monotonic() + EVERY_S

    def add(self, files: Iterable[str | os.PathLike[str]]) -> None:
        """Look at these too, from how they are now."""
        new = [file for file in files if file not in self._files]
        self._files += new
        self._known += tuple(map(_state, new))

    def changed(self) -> bool:
        """Whether a file is not as it was when this was last true; cheap when asked often."""
        now = monotonic()
        if now < self._next:
            return False
        self._next = now + EVERY_S
        states = self._states()
        if states == self._known:
            return False
        self._known = states
        return True

    def _states(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(map(_state, self._files))


def _state(file: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    try:
        stat = os.stat(file)
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
