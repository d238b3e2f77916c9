"""Change a file so that anyone who looks, also after a crash, sees its old or its new content."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress

from attrs import frozen

from toolcrib_os.shared.opening import NotAFileError, Place, kind_of, place_of

MAX_BYTES = 64 * 1024 * 1024
"""Size up to which a file is taken into memory to be changed."""

# A file that is a mount point, as in containers, can be written but not renamed over.
_RENAME_FORBIDDEN = (errno.EPERM, errno.EACCES, errno.EBUSY, errno.EXDEV)

BeforeCommit = Callable[[], None]
"""Called just before the first byte that others can see; an exception calls the change off."""


class FileChangedError(Exception):
    """Somebody else changed the file since it was looked at; nothing was written."""


class FileTooBigError(Exception):
    """The file has `size` bytes, more than are taken into memory."""

    def __init__(self, size: int) -> None:
        super().__init__(f"it has {size} bytes")
        self.size = size


@frozen
class Sight:
    """What a regular file was when it was looked at, and what is kept when it is replaced."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    mode: int
    owner: int
    group: int
    links: int

    @staticmethod
    def of(info: os.stat_result) -> Sight:
        """Raises NotAFileError for anything but a regular file."""
        if not stat.S_ISREG(info.st_mode):
            raise NotAFileError(kind_of(info.st_mode))
        return Sight(
            info.st_dev,
            info.st_ino,
            info.st_size,
            info.st_mtime_ns,
            stat.S_IMODE(info.st_mode),
            info.st_uid,
            info.st_gid,
            info.st_nlink,
        )

    def same_content(self, other: Sight | None) -> bool:
        """Whether the other is the same file with, by all that is known, the same content."""
        return other is not None and (
            (self.device, self.inode, self.size, self.mtime_ns)
            == (other.device, other.inode, other.size, other.mtime_ns)
        )


def look(path: str) -> Sight | None:
    """What is at a real path; None if nothing is. Raises NotAFileError, OSError."""
    try:
        with place_of(path) as place:
            return _look(place)
    except FileNotFoundError:
        return None


def _look(place: Place) -> Sight | None:
    try:
        return Sight.of(place.status())
    except FileNotFoundError:
        return None


def read_whole(path: str) -> tuple[bytes, Sight]:
    """The content of a regular file and what the file was at that moment.

    Raises:
        FileTooBigError: it has more than `MAX_BYTES`.
        NotAFileError: it is a directory, pipe, device or socket.
        OSError: it cannot be read.
    """
    with place_of(path) as place:
        Sight.of(place.status())  # opening a device can have effects
        file = place.open(os.O_RDONLY)
    try:
        sight = Sight.of(os.fstat(file))
        if sight.size > MAX_BYTES:
            raise FileTooBigError(sight.size)
        return _read_all(file), sight
    finally:
        os.close(file)


def replace_content(
    path: str, data: bytes, *, seen: Sight | None, before_commit: BeforeCommit
) -> None:
    """Give a file new content, or create it with that content.

    A new file beside the old one takes over its mode and, where permitted, its owner, its access
    list and its other attributes, and then its name. The content is written over the old one
    instead where a new file would break something: when the file has several hard links, when
    its directory takes no new files, or when the file is a mount point. In that case a kill can
    leave a mixture, a full disk cannot.

    Args:
        path: a real path: no part of it is a symbolic link.
        seen: what the file was when it was looked at; None if it did not exist.
        before_commit: called when all is ready, just before the change.

    Raises:
        FileChangedError: the file is no longer what was seen.
        NotAFileError: something else has taken the file's place.
        OSError: the file cannot be written; it is as it was.
    """
    with place_of(path, create_folders=seen is None) as place:
        _replace(place, data, seen, before_commit)


def append_content(path: str, data: bytes, *, before_commit: BeforeCommit) -> int:
    """Add bytes at the end of a file that exists; gives the size before.

    Raises:
        NotAFileError: it is no regular file.
        OSError: it cannot be written, or not all of it; the file then has its old size.
    """
    with place_of(path) as place:
        Sight.of(place.status())
        file = place.open(os.O_WRONLY | os.O_APPEND)
    try:
        size = Sight.of(os.fstat(file)).size
        before_commit()
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        except OSError:
            # Unless somebody else has appended meanwhile: theirs must stay.
            if os.fstat(file).st_size == size + len(data) - len(rest):
                with suppress(OSError):  # a file that only grows keeps the part
                    os.ftruncate(file, size)
            raise
        return size
    finally:
        os.close(file)


def _replace(place: Place, data: bytes, seen: Sight | None, before_commit: BeforeCommit) -> None:
    if seen is not None and not place.writable():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place.path)
    if seen is not None and seen.links > 1:
        _write_over(place, data, seen, before_commit)
        return
    try:
        temporary = _written_beside(place, data, seen)
    except PermissionError:
        if seen is None:
            raise
        _write_over(place, data, seen, before_commit)
        return
    try:
        _check_unchanged(seen, _look(place))
        before_commit()
        temporary.move_to(place)
    except BaseException as error:
        temporary.unlink()
        if seen is None or not isinstance(error, OSError) or error.errno not in _RENAME_FORBIDDEN:
            raise
        _write_over(place, data, seen, before_commit)
        return
    _sync_folder(place)


def _written_beside(place: Place, data: bytes, seen: Sight | None) -> Place:
    """Put the content into a new file in the same directory, safely on disk."""
    temporary = place.beside(f".toolcrib-{secrets.token_hex(8)}.tmp")
    private = 0o666 if seen is None else 0o600
    file = temporary.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, private)
    try:
        try:
            _write_all(file, data, 0)
            if seen is not None:
                _keep_attributes(place.path, file, seen)
            os.fsync(file)
        finally:
            os.close(file)
    except BaseException:
        temporary.unlink()
        raise
    return temporary


def _keep_attributes(path: str, file: int, seen: Sight) -> None:
    own = os.fstat(file)
    mode = seen.mode
    if (own.st_uid, own.st_gid) != (seen.owner, seen.group):
        mode = _keep_owner(file, seen)
    with suppress(PermissionError):  # file systems without modes
        os.fchmod(file, mode)
    if not hasattr(os, "listxattr"):
        return
    # Access lists are among these. Attributes of the system may be closed to us.
    with suppress(OSError):
        for name in os.listxattr(path, follow_symlinks=False):
            with suppress(OSError):
                os.setxattr(file, name, os.getxattr(path, name, follow_symlinks=False))


def _keep_owner(file: int, seen: Sight) -> int:
    """Hand the file to its old owner as far as permitted; gives the mode that is right then."""
    try:
        os.fchown(file, seen.owner, seen.group)
        return seen.mode
    except OSError:
        mode = seen.mode & ~(stat.S_ISUID | stat.S_ISGID)
    try:
        os.fchown(file, -1, seen.group)
        return mode
    except OSError:
        # Another group gets no more than everybody has.
        return (mode & ~0o070) | (mode & 0o007) << 3


def _write_over(place: Place, data: bytes, seen: Sight, before_commit: BeforeCommit) -> None:
    """Write the content into the file itself, so that it is never empty or cut on the way."""
    file = place.open(os.O_RDWR)
    try:
        old = _read_all(file)
        _check_unchanged(seen, Sight.of(os.fstat(file)))
        before_commit()
        new = memoryview(data)
        try:
            # What makes the file longer needs space: it goes first, while all is still there.
            _write_all(file, new[len(old) :], len(old))
            _write_all(file, new[: len(old)], 0)
            os.ftruncate(file, len(data))
            os.fsync(file)
        except OSError:
            _write_all(file, old, 0)
            os.ftruncate(file, len(old))
            raise
    finally:
        os.close(file)


def _check_unchanged(seen: Sight | None, now: Sight | None) -> None:
    if now is not seen and (seen is None or not seen.same_content(now)):
        raise FileChangedError("it was changed by someone else meanwhile")


def _read_all(file: int) -> bytes:
    with open(file, "rb", buffering=0, closefd=False) as stream:
        content: bytes | None = stream.readall()
    if content is None:  # what looks like a file, in /proc for example, can be a stream
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return content


def _write_all(file: int, data: bytes | memoryview, position: int) -> None:
    rest = memoryview(data)
    while rest:
        count = os.pwrite(file, rest, position)
        rest, position = rest[count:], position + count


def _sync_folder(place: Place) -> None:
    """Make a new name last; the content is in place whatever comes of it."""
    with suppress(OSError):
        folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.folder)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
