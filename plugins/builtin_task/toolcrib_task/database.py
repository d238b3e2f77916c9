"""The file in which all sessions of a user write their tasks down."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from toolcrib import StateError

VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (
    number INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    workspace TEXT NOT NULL,
    host TEXT,
    pid INTEGER,
    started TEXT,
    info TEXT NOT NULL,
    kept INTEGER NOT NULL,
    mark TEXT,
    output_bytes INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    stop_requested TEXT
)
"""
_BUSY_S = 0.5
"""How long others who write are waited for, in the middle of a session."""
_LAST_BUSY_S = 5.0
"""And at its end, when nothing can be written later."""
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class BrokenDatabase(StateError):
    """The file holds no database any more, so that nothing can be got out of it."""


class Database:
    """An open database; everything raises StateError when it cannot be used.

    A row is owned by the process (`host`, `pid`, `started`) whose session looks after the task, by
    nobody when these are null.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        with usable(file):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _close_to_others(file.parent, 0o700)
            _make_private(file)
            self.identity = _identity(file)
            self.connection = sqlite3.connect(
                file, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self.connection.close()
                raise

    def in_place(self) -> bool:
        """Whether the file is still where it was opened."""
        return _identity(self.file) == self.identity

    def be_patient(self) -> None:
        """Wait longer for others from now on."""
        with usable(self.file):
            self.connection.execute(f"PRAGMA busy_timeout = {round(_LAST_BUSY_S * 1000)}")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and no other session meanwhile."""
        with usable(self.file):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            finally:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")

    def close(self) -> None:
        with usable(self.file):
            self.connection.close()

    def _prepare(self) -> None:
        connection = self.connection
        connection.text_factory = _text
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise StateError(
                f"{self.file} was made by a newer version of toolcrib; background tasks are not "
                "written down until this one is as new"
            )
        connection.execute("PRAGMA synchronous = NORMAL")
        self._keep_log()
        if version < VERSION:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("COMMIT")

    def _keep_log(self) -> None:
        # When two sessions make the file at once, SQLite does not wait here by itself.
        deadline = time.monotonic() + _BUSY_S
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if (
                    error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY
                    or time.monotonic() > deadline
                ):
                    raise
            time.sleep(0.002)


@contextlib.contextmanager
def usable(file: Path) -> Iterator[None]:
    """Turn what SQLite and the disk complain of into a StateError."""
    try:
        yield
    except sqlite3.Error as error:
        broken = getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN
        kind = BrokenDatabase if broken else StateError
        raise kind(f"{file} cannot be used: {error}") from error
    except (OSError, ValueError) as error:
        raise StateError(f"{file} cannot be used: {error}") from error


def open_database(file: Path) -> Database:
    """Open the file; a broken one is put aside, and a new one made in its place."""
    identity = _identity(file)
    try:
        return Database(file)
    except BrokenDatabase as error:
        move_aside(file, identity, error)
        return Database(file)


def move_aside(file: Path, identity: tuple[int, int] | None, reason: StateError) -> None:
    """Put a broken database out of the way, unless another session has done so already."""
    aside = file.with_name(f"{file.name}.broken-{time.time_ns():x}")
    with usable(file), _alone(file.parent):
        if _identity(file) != identity:
            return
        # The file itself goes last: what is left of its log must not get into the next one.
        for suffix in ("-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                os.rename(f"{file}{suffix}", f"{aside}{suffix}")
    logging.getLogger("toolcrib").warning(
        "%s; it is now %s, and the tasks of earlier sessions are not known", reason, aside
    )


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other sessions from doing the same in the folder at once."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _make_private(file: Path) -> None:
    """Make the file, or close it to others; SQLite gives the files beside it the same mode.

    A file that exists is not opened: closing it again would drop the locks that SQLite holds on it
    for the other sessions of this process.
    """
    try:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        _close_to_others(file, 0o600)


def _close_to_others(path: Path, mode: int) -> None:
    if path.stat().st_mode & 0o077:
        path.chmod(mode)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
