"""Opening files to read without ever waiting for anyone, and without following late links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os.path import dirname, join

from attrs import frozen

_NEVER_WAIT = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# A folder may be entered without the right to list it, where the system knows a flag for that.
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


@frozen
class Place:
    """A name in an open folder: it stays there, whatever takes the place of the folders above.

    `path` is for what can only be asked by path.
    """

    path: str
    folder: int
    name: str

    def beside(self, name: str) -> Place:
        return Place(join(dirname(self.path), name), self.folder, name)

    def status(self) -> os.stat_result:
        return os.lstat(self.name, dir_fd=self.folder)

    def writable(self) -> bool:
        return os.access(self.name, os.W_OK, dir_fd=self.folder)

    def open(self, flags: int, mode: int = 0o600) -> int:
        return os.open(self.name, flags | _NEVER_WAIT, mode, dir_fd=self.folder)

    def move_to(self, other: Place) -> None:
        os.replace(self.name, other.name, src_dir_fd=self.folder, dst_dir_fd=other.folder)

    def unlink(self) -> None:
        os.unlink(self.name, dir_fd=self.folder)


@contextmanager
def place_of(real_path: str, *, create_folders: bool = False) -> Iterator[Place]:
    """Go to the folder of a path step by step, so that no link that appeared since is followed.

    Args:
        real_path: absolute and free of links when it was looked up.
        create_folders: make those that are missing.

    Raises:
        OSError: a folder is missing or has been replaced by something else.
    """
    *folders, name = real_path.strip("/").split("/")
    folder = os.open("/", _FOLDER)
    try:
        for inner in folders:
            outer, folder = folder, _enter(folder, inner, create_folders)
            os.close(outer)
        yield Place(real_path, folder, name or ".")
    finally:
        os.close(folder)


def _enter(folder: int, inner: str, create: bool) -> int:
    try:
        return os.open(inner, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):
        os.mkdir(inner, dir_fd=folder)
    return os.open(inner, _FOLDER, dir_fd=folder)


class NotAFileError(Exception):
    """The path leads to something that is no regular file; `kind` says what it is."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"it is a {kind}, not a file")
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
    with place_of(real_path) as place:
        require_regular(place.status())
        descriptor = place.open(os.O_RDONLY)
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
        raise NotAFileError(kind_of(mode))


def kind_of(mode: int) -> str:
    """What something that is no regular file is, in words."""
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISFIFO(mode):
        return "named pipe"
    if stat.S_ISLNK(mode):
        return "symbolic link"
    return "socket" if stat.S_ISSOCK(mode) else "device"
