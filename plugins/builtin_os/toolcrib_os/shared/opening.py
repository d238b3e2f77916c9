"""Opening files to read without ever waiting for anyone, and without following late links."""

from __future__ import annotations

import os
import stat

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK | os.O_NOFOLLOW


class NotAFileError(Exception):
    """The path is a directory, pipe, socket or device; `kind` says which."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"is a {kind}, not a file")
        self.kind = kind


def open_regular(real_path: str) -> tuple[int, os.stat_result]:
    """Open a regular file for reading; the caller closes the descriptor.

    Args:
        real_path: absolute and free of links; a link that took the place of the file since is
            refused.

    Raises:
        NotAFileError: it is something else; pipes and devices are not even opened.
        OSError: it does not exist or may not be read.
    """
    require_regular(os.lstat(real_path))
    descriptor = os.open(real_path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        require_regular(status)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, status


def require_regular(status: os.stat_result) -> None:
    """Raise NotAFileError for anything but a regular file; links pass, for `open` to refuse."""
    mode = status.st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
        raise NotAFileError(_kind(mode))


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISFIFO(mode):
        return "named pipe"
    return "socket" if stat.S_ISSOCK(mode) else "device"
