"""The table of approvals that hold for a session, which all sessions of a user share."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from attrs import frozen

from toolcrib.errors import StateError
from toolcrib.processes.identity import process_started, this_host

_SCHEMA = """
CREATE TABLE IF NOT EXISTS approvals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL,
    workspace TEXT NOT NULL,
    tool TEXT NOT NULL,
    agent TEXT NOT NULL,
    rule TEXT NOT NULL,
    since REAL NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started TEXT NOT NULL,
    UNIQUE (session, rule)
)
"""
_COLUMNS = ("id", "session", "workspace", "tool", "agent", "rule", "since")
_BUSY_S = 0.5
_FOREIGN_DAYS = 30
"""How long an approval is kept whose process cannot be looked up from here."""


@frozen(kw_only=True)
class Approval:
    """A rule that holds for a session; `since` is in seconds of the epoch."""

    id: int
    session: str
    workspace: str
    tool: str
    agent: str
    rule: str
    since: float


class ApprovalTable:
    """An open table; everything raises StateError when the file cannot be used.

    The rows tell people what holds, and let them take it back. They grant nothing by themselves: a
    session trusts its own memory, so whoever can write the file cannot widen what it may do.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        with _usable(file):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _keep_private(file)
            status = os.stat(file)
            self._identity = (status.st_dev, status.st_ino)
            self._connection = sqlite3.connect(
                file, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
            )
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.execute(_SCHEMA)
            except BaseException:
                self._connection.close()
                raise

    def version(self) -> int | None:
        """A number that another process's change of the table changes; None: the file is gone."""
        with _usable(self.file):
            try:
                status = os.stat(self.file)
            except FileNotFoundError:
                return None
            if (status.st_dev, status.st_ino) != self._identity:
                return None
            row = self._connection.execute("PRAGMA data_version").fetchone()
        return int(row[0])

    def add(self, *, session: str, workspace: str, tool: str, agent: str, rule: str) -> int:
        """Write an approval of this process down and give its id."""
        pid = os.getpid()
        row = (
            session,
            workspace,
            tool,
            agent,
            rule,
            time.time(),
            this_host(),
            pid,
            process_started(pid),
        )
        with _usable(self.file):
            number = self._connection.execute(
                "INSERT OR REPLACE INTO approvals"
                " (session, workspace, tool, agent, rule, since, host, pid, started)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            ).lastrowid
        assert number is not None
        return number

    def ids(self, session: str) -> frozenset[int]:
        """The ids of a session's approvals."""
        with _usable(self.file):
            rows = self._connection.execute(
                "SELECT id FROM approvals WHERE session = ?", (session,)
            ).fetchall()
        return frozenset(number for (number,) in rows)

    def living(self) -> list[Approval]:
        """All approvals in the order they were given; those of processes that are gone go too."""
        with _usable(self.file):
            rows = self._connection.execute(
                f"SELECT {', '.join(_COLUMNS)}, host, pid, started FROM approvals ORDER BY id"
            ).fetchall()
        living: list[Approval] = []
        gone: list[int] = []
        for *values, host, pid, start in rows:
            approval = Approval(**dict(zip(_COLUMNS, values, strict=True)))
            if _lives(host, pid, start, approval.since):
                living.append(approval)
            else:
                gone.append(approval.id)
        self.remove(gone)
        return living

    def remove(self, ids: Collection[int]) -> None:
        """Take approvals back."""
        if ids:
            with _usable(self.file):
                self._connection.executemany(
                    "DELETE FROM approvals WHERE id = ?", [(number,) for number in ids]
                )

    def remove_session(self, session: str) -> None:
        """Take all approvals of a session back."""
        with _usable(self.file):
            self._connection.execute("DELETE FROM approvals WHERE session = ?", (session,))

    def close(self) -> None:
        with _usable(self.file):
            self._connection.close()


def living_approvals(file: Path) -> list[Approval]:
    """What holds in the sessions that run now; raises StateError when the file cannot be used."""
    if not file.exists():
        return []
    table = ApprovalTable(file)
    try:
        return table.living()
    finally:
        table.close()


def revoke_approvals(file: Path, ids: Collection[int]) -> None:
    """Take approvals back from running sessions; raises StateError."""
    table = ApprovalTable(file)
    try:
        table.remove(ids)
    finally:
        table.close()


def _keep_private(file: Path) -> None:
    """Make the file, or close it to others; SQLite gives the files beside it the same mode.

    A file that exists is not opened: closing it again would drop the locks that SQLite holds on it
    for the other sessions of this process.
    """
    try:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if file.stat().st_mode & 0o077:
            file.chmod(0o600)


def _lives(host: str, pid: int, start: str, since: float) -> bool:
    if host == this_host():
        return process_started(pid) == start
    return time.time() - since < _FOREIGN_DAYS * 86_400


@contextlib.contextmanager
def _usable(file: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StateError(f"{file} cannot be used: {error}") from error
