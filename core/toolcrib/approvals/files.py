"""Changes a configuration file of the user's in one step, or leaves it as it was."""

from __future__ import annotations

import codecs
import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from toolcrib.config.sources import MAX_PROJECT_BYTES
from toolcrib.errors import ConfigError, Notice
from toolcrib.locking import lock

_LOCK_S = 5.0
"""How long another process of toolcrib may take for its change."""


def edit_file(file: Path, edit: Callable[[str], str], *, new_mode: int | None = None) -> str:
    """Replace the text of a file by what `edit` makes of it, and give the new text.

    The new content is complete on disk before it takes the place of the old one, in one step; mode
    and byte order mark stay, and a link still points to the file. Nobody else's change is lost:
    processes of toolcrib wait for one another, and a change by any other program in the meantime
    is an error.

    Args:
        new_mode: the file must not exist yet, its folder must; it is made with this mode.

    Raises:
        ConfigError: the file is no regular file, too big, not UTF-8, or changed in the meantime.
        OSError: it cannot be read or written; FileExistsError when it exists and ought not to.
    """
    target = Path(os.path.realpath(file))
    with _locked(target.parent):
        before = b"" if new_mode is not None else _content(target, file)
        after = _edited(before, edit, file)
        if after != before or new_mode is not None:
            _replace(target, before, after, new_mode=new_mode, named=file)
    return after.decode("utf-8-sig")


def _content(target: Path, named: Path) -> bytes:
    """What is in the file; what comes with a workspace may be a pipe, or have no end."""
    status = target.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError(Notice(file=str(named), text="is not a regular file"))
    if status.st_size > MAX_PROJECT_BYTES:
        text = f"has {status.st_size} bytes, the most are {MAX_PROJECT_BYTES}"
        raise ConfigError(Notice(file=str(named), text=text))
    return target.read_bytes()


def _edited(before: bytes, edit: Callable[[str], str], file: Path) -> bytes:
    mark = codecs.BOM_UTF8 if before.startswith(codecs.BOM_UTF8) else b""
    try:
        text = before.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = before.count(b"\n", 0, error.start) + 1
        raise ConfigError(Notice(file=str(file), line=line, text="is not UTF-8 text")) from None
    return mark + edit(text).encode("utf-8")


def _replace(
    target: Path, before: bytes, after: bytes, *, new_mode: int | None, named: Path
) -> None:
    import tempfile  # not to be waited for when nothing is written

    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    try:
        with open(handle, "wb") as out:
            out.write(after)
            out.flush()
            mode = stat.S_IMODE(target.stat().st_mode) if new_mode is None else new_mode
            os.fchmod(out.fileno(), mode)
            os.fsync(out.fileno())
        if new_mode is not None:
            os.link(temporary, target)  # unlike a rename, it replaces nothing
        elif target.read_bytes() != before:
            text = "was changed by another program in the meantime, so nothing was written"
            raise ConfigError(Notice(file=str(named), text=text))
        else:
            os.replace(temporary, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename last; a file system that cannot do so has done its best already."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder of a configuration file against other processes of toolcrib."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            mine = lock(descriptor, _LOCK_S)
        except OSError:  # no locks on this file system; a change in between is noticed all the same
            mine = True
        if not mine:
            text = f"another process has been changing {str(folder)!r} for {_LOCK_S:g} s"
            raise TimeoutError(text)
        yield
    finally:
        os.close(descriptor)
