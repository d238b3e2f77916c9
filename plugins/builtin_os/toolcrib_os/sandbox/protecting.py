"""What in a workspace is only read, because programs outside of the sandbox would trust it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterable, Iterator

from attrs import frozen

from toolcrib_os.sandbox.view import Kind

_FILES = ("toolcrib.toml",)
_FOLDERS = (".toolcrib", ".git")
_GIT_FOLDERS = ("hooks", "modules", "worktrees")
_GIT_READ_ONLY = ("config", *_GIT_FOLDERS, "commondir", "config.worktree")
_GIT_TRAPS = ("commondir", "config.worktree")
"""They make git take its configuration from elsewhere, and cannot be there as placeholders."""
_NOTE = b"# Keeps a sandboxed command that runs now from writing a configuration of its own.\n"


def protected_places(
    root: str, more: Iterable[str], linked: Collection[str]
) -> Iterator[tuple[str, Kind]]:
    """What is there to be protected below a real path, with the folders around it.

    The folders become mount points too, so that nobody moves them away to put up others. What links
    lead to counts only if it is among `linked`: a command can make more of them, and lead the mount
    of another one to whatever it likes.
    """
    for path in _protected_paths(root, more):
        real = os.path.realpath(path)
        if (real == path or real in linked) and os.path.exists(real):
            around = os.path.dirname(real)
            while around != root:
                yield around, "write"
                around = os.path.dirname(around)
            yield real, "read"


def linked_places(root: str, more: Iterable[str]) -> Iterator[str]:
    """Where below a real path links lead that are in the place of something to be protected."""
    for path in _protected_paths(root, more):
        real = os.path.realpath(path)
        if real != path and real.startswith(f"{root}/") and os.path.exists(real):
            yield real


def _protected_paths(root: str, more: Iterable[str]) -> Iterator[str]:
    repository = _is_repository(os.path.join(root, ".git"))
    inner = [f".git/{name}" for name in _GIT_READ_ONLY] if repository else [".git"]
    for name in (*_FILES, ".toolcrib", *inner, *more):
        yield os.path.join(root, name)


def protected_names(root: str, more: Iterable[str]) -> Iterator[str]:
    """The paths that file tools must not write, whether they are there or not."""
    git = [f".git/{name}" for name in _GIT_READ_ONLY]
    for name in (*_FILES, ".toolcrib", *git, *more):
        yield os.path.join(root, name)


def traps(root: str, more: Iterable[str]) -> tuple[str, ...]:
    """Paths that are not there, and must not appear while a command runs."""
    names = [f".git/{name}" for name in _GIT_TRAPS]
    paths = [os.path.join(root, name) for name in (*names, *more)]
    return tuple(path for path in paths if not os.path.lexists(path))


def wanted_placeholders(root: str) -> Iterator[tuple[str, bool]]:
    """What has to be there so that it can be protected, and whether it is a folder."""
    yield from ((os.path.join(root, name), False) for name in _FILES)
    yield from ((os.path.join(root, name), True) for name in _FOLDERS)
    if _is_repository(os.path.join(root, ".git")):
        yield from ((os.path.join(root, ".git", name), True) for name in _GIT_FOLDERS)


def _is_repository(git: str) -> bool:
    return os.path.isfile(os.path.join(git, "config"))


def missing_files(root: str) -> Iterator[str]:
    """Files of which searches would find the placeholders."""
    for name in _FILES:
        path = os.path.join(root, name)
        if not os.path.lexists(path) or _is_placeholder(path):
            yield path


@frozen
class Placeholder:
    """An empty thing in the place of one that is missing; several processes may hold it.

    Whoever lets go of it last removes it, if it still is what it was made as. An empty folder that
    was there before stays, since it may be somebody's; only for `.git` it cannot mean anything.
    """

    path: str
    descriptor: int
    removable: bool

    @staticmethod
    def hold(path: str, *, folder: bool) -> Placeholder | None:
        """Put something there if there is nothing; None when something else is there."""
        removable = not folder or os.path.basename(path) == ".git"
        for _ in range(10):
            try:
                _make(path, folder)
                removable = True
            except OSError:
                pass  # it exists, or nobody of this user can make it
            if not _is_placeholder(path):
                return None
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError:
                continue
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            held = Placeholder(path, descriptor, removable)
            if held.there:
                return held
            os.close(descriptor)  # its last holder has just removed it
        return None

    @property
    def there(self) -> bool:
        try:
            return os.path.samestat(os.lstat(self.path), os.fstat(self.descriptor))
        except OSError:
            return False

    def release(self) -> None:
        """Let go of it, and remove it when nobody else holds it."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self.removable and self.there and _is_placeholder(self.path):
                (os.rmdir if os.path.isdir(self.path) else os.unlink)(self.path)
        except OSError:
            pass  # somebody else holds it or has filled it
        finally:
            os.close(self.descriptor)


def _make(path: str, folder: bool) -> None:
    if folder:
        os.mkdir(path)
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        os.write(descriptor, _NOTE)
    finally:
        os.close(descriptor)


def _is_placeholder(path: str) -> bool:
    try:
        if os.path.islink(path):
            return False
        if os.path.isdir(path):
            return not os.listdir(path)
        with open(path, "rb") as file:
            return file.read(len(_NOTE) + 1) == _NOTE
    except OSError:
        return False
