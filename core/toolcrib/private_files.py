"""Files of the user's state that nobody else may read, changed in one step, one after another."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from toolcrib.errors import StateError

LOCK_S = 10.0
"""Seconds that another process may take for its change."""


def read_private_file(file: Path, *, limit_bytes: int) -> bytes | None:
    """What is in the file; None when there is none.

    Raises:
        StateError: it is no regular file of this user, is larger than the limit, or cannot be read.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"cannot read {str(file)!r}: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid not in (os.geteuid(), 0):
            raise StateError(f"{str(file)!r} is not a regular file of this user")
        with open(descriptor, "rb", closefd=False) as opened:
            data = opened.read(limit_bytes + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit_bytes:
        raise StateError(f"{str(file)!r} is larger than {limit_bytes} bytes")
    return data


def change_private_file(
    file: Path, change: Callable[[bytes | None], bytes | None], *, limit_bytes: int
) -> bytes | None:
    """Replace the content of a file by what `change` makes of it, and give what is there now.

    `change` gets None when there is no file yet; None from it leaves everything as it is. The new
    content is whole on the disk before it takes the place of the old; the mode is 0600, that of
    a new folder 0700. Other processes wait for their turn.

    Raises:
        StateError: it cannot be read, locked or written, or would be larger than the limit.
    """
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(file):
            before = read_private_file(file, limit_bytes=limit_bytes)
            after = change(before)
            if after is None or after == before:
                return before
            if len(after) > limit_bytes:
                raise StateError(f"{str(file)!r} would be larger than {limit_bytes} bytes")
            _replace(file, after)
            return after
    except OSError as error:
        raise StateError(f"cannot write {str(file)!r}: {error.strerror or error}") from None


def _replace(file: Path, content: bytes) -> None:
    import tempfile

    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with open(descriptor, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold a file against other processes of toolcrib, by one beside it that stays."""
    from toolcrib.locking import lock

    beside = file.parent / f".{file.name}.lock"
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(beside, flags, 0o600)
    try:
        if not lock(descriptor, LOCK_S):
            raise StateError(f"another process has been changing {str(file)!r} for {LOCK_S:g} s")
        yield
    finally:
        os.close(descriptor)
