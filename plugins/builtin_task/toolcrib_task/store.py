"""Remembers tasks beyond the session that started them."""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve

from toolcrib import StateError, TaskInfo, process_started, this_host
from toolcrib_task.prune import prune
from toolcrib_task.restart import Claimed, claim, settle
from toolcrib_task.rows import Mark as Mark
from toolcrib_task.rows import Restored as Restored
from toolcrib_task.rows import Stored as Stored
from toolcrib_task.rows import info_text, is_task_id, mark_text, owner_gone, read_row

if TYPE_CHECKING:
    from toolcrib_task.database import Database

T = TypeVar("T")

DATABASE_NAME = "tasks.db"
_ID_CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
_MAIN_AGENT = "main"
_REST = 4
"""How many times as long as a refusal took the disk is left alone, so that nobody waits for it."""
_WRITE = """
INSERT INTO tasks (task_id, session, agent, workspace, host, pid, started,
                   info, kept, mark, output_bytes, delivered)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (task_id) DO UPDATE SET
    info = excluded.info, kept = excluded.kept, mark = excluded.mark,
    output_bytes = excluded.output_bytes, delivered = excluded.delivered
WHERE host = excluded.host AND pid = excluded.pid AND started = excluded.started
"""


class TaskStore:
    """The tasks of one agent in the state folder `folder`, which all sessions of a user share.

    Nothing here fails because the disk does, but for `all`. What cannot be written is told once to
    the log `toolcrib`, and written with the next change that can be.
    """

    def __init__(self, folder: Path, *, session: str, agent: str, workspace: str) -> None:
        self._folder = folder
        self._file = folder / DATABASE_NAME
        self._session = session
        self._agent = agent
        self._workspace = _plain(workspace)
        self._rows: dict[str, Restored] = {}
        self._unwritten: dict[str, None] = {}
        self._database: Database | None = None
        self._told = False
        self._rests_until = 0.0

    def new_id(self, prefix: str) -> str:
        """An id that no task has, on no disk and in no row; ValueError for an odd prefix."""
        while True:
            task_id = f"{prefix}-" + "".join(secrets.choice(_ID_CHARACTERS) for _ in range(8))
            if not os.path.lexists(self.place(task_id)) and not self._has_row(task_id):
                return task_id

    def place(self, task_id: str) -> Path:
        """The folder of a task, which need not exist; ValueError when that can be no id."""
        if not is_task_id(task_id):
            raise ValueError(f"{task_id!r} is no id of a task")
        return self._folder / task_id

    def add(self, info: TaskInfo, *, kept: bool, mark: Mark | None) -> None:
        """Write a task down for the first time."""
        self._put(Restored(info=info, kept=kept, mark=mark))
        self._write()

    def update(self, info: TaskInfo, *, output_bytes: int | None = None) -> None:
        """Write down what has changed of a task that was added or taken over."""
        row = self._rows.get(info.task_id)
        if row is not None:
            size = row.output_bytes if output_bytes is None else output_bytes
            self._put(evolve(row, info=info, output_bytes=size))
            self._write()

    def forget(self, task_id: str) -> None:
        """Take back that a task was written down: it could not begin."""

        def write(database: Database) -> None:
            database.connection.execute("DELETE FROM tasks WHERE task_id = ?", (task_id,))

        self._rows.pop(task_id, None)
        self._unwritten.pop(task_id, None)
        self._do(write, None)

    def leave(self, task_id: str) -> None:
        """Leave a task as it is written down: it does not change any more."""
        self._rows.pop(task_id, None)
        self._unwritten.pop(task_id, None)

    def delivered(self, task_ids: Iterable[str], value: bool = True) -> None:
        """Note whether the ends of these tasks have been told."""
        for task_id in task_ids:
            if (row := self._rows.get(task_id)) is not None:
                self._put(evolve(row, delivered=value))
        self._write()

    def stop_requested(self, task_id: str) -> str | None:
        """The reason that somebody else has left why a task is to stop."""

        def read(database: Database) -> str | None:
            row = database.connection.execute(
                "SELECT stop_requested FROM tasks WHERE task_id = ?", (task_id,)
            ).fetchone()
            return row[0] if row else None

        return self._do(read, None) if self._exists() else None

    def request_stop(self, task_id: str, reason: str) -> None:
        """Leave word for whoever looks after a task why it is stopped."""

        def write(database: Database) -> None:
            database.connection.execute(
                "UPDATE tasks SET stop_requested = ? WHERE task_id = ?", (_plain(reason), task_id)
            )

        if self._exists():
            self._do(write, None)

    def take_over(self) -> list[Restored]:
        """The tasks that earlier sessions in the workspace have left, as they are now.

        Only the main agent gets any, those of other agents of these sessions too; what is left of
        tasks that should not have outlived their session is ended.
        """
        if self._agent != _MAIN_AGENT or not self._exists():
            return []

        def take(database: Database) -> list[Claimed]:
            return claim(database, self._workspace, (self._session, self._agent, *self._owner))

        claimed: list[Claimed] = self._do(take, [])
        restored = settle(claimed, self.place)
        for (before, _), after in zip(claimed, restored, strict=True):
            self._rows[after.info.task_id] = before
            if after != before:
                self._put(after)
        self._write()
        return restored

    def all(self) -> list[Stored]:
        """The tasks of all sessions of the user, in the order in which they were written down.

        Raises StateError when they cannot be read: people must not take that for none.
        """

        def read(database: Database) -> list[Stored]:
            rows = database.connection.execute(
                "SELECT session, agent, workspace, host, pid, started,"
                " info, kept, mark, output_bytes, delivered FROM tasks ORDER BY number"
            ).fetchall()
            return [stored for row in rows if (stored := _stored(row)) is not None]

        return self._attempt(read) if self._exists() else []

    def prune(self) -> None:
        """Remove what is too old, or too much, and that no session looks after."""
        if os.path.isdir(self._folder):
            self._do(lambda database: prune(database, self._folder, self._session), None)

    def finds_again(self, task_id: str) -> bool:
        """Whether sessions to come will find a task: it is written down, if need be now."""

        self._rests_until = 0.0
        self._write()
        return task_id not in self._unwritten and self._has_row(task_id)

    def release(self, kept: Iterable[str]) -> None:
        """Leave everything to the sessions to come; the tasks named in `kept` go on."""
        staying = frozenset(kept)
        for row in tuple(self._rows.values()):
            if row.info.active and row.kept != (row.info.task_id in staying):
                self._put(evolve(row, kept=not row.kept))
        if self._rows:
            self._rests_until = 0.0
            self._do(lambda database: database.be_patient(), None)
            self._write()
            self._do(self._disown, None)
            self._rows.clear()
            self._unwritten.clear()

    def close(self) -> None:
        """Close the file; it is opened again when something is to be written."""
        database, self._database = self._database, None
        if database is not None:
            try:
                database.close()
            except StateError as error:
                self._tell(error)

    @cached_property
    def _owner(self) -> tuple[str, int, str]:
        pid = os.getpid()
        return this_host(), pid, process_started(pid) or ""

    def _exists(self) -> bool:
        """Whether there may be a file: where nobody may look there can be one."""
        try:
            os.stat(self._file)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        return True

    def _has_row(self, task_id: str) -> bool:
        if self._database is None:
            return False

        def read(database: Database) -> bool:
            found = database.connection.execute(
                "SELECT 1 FROM tasks WHERE task_id = ?", (task_id,)
            ).fetchone()
            return found is not None

        return self._do(read, False)

    def _put(self, row: Restored) -> None:
        self._rows[row.info.task_id] = row
        self._unwritten[row.info.task_id] = None

    def _write(self) -> None:
        if self._unwritten:
            self._do(self._write_rows, None)

    def _write_rows(self, database: Database) -> None:
        identity = (self._session, self._agent, self._workspace, *self._owner)
        rows = [_values(self._rows[task_id], identity) for task_id in self._unwritten]
        if len(rows) == 1:
            database.connection.execute(_WRITE, rows[0])
        else:
            with database.transaction() as connection:
                connection.executemany(_WRITE, rows)
        self._unwritten.clear()

    def _disown(self, database: Database) -> None:
        database.connection.execute(
            "UPDATE tasks SET host = NULL, pid = NULL, started = NULL"
            " WHERE session = ? AND agent = ? AND host = ? AND pid = ? AND started = ?",
            (self._session, self._agent, *self._owner),
        )

    def _do(self, action: Callable[[Database], T], otherwise: T) -> T:
        began = time.monotonic()
        if began < self._rests_until:
            return otherwise
        try:
            return self._attempt(action)
        except StateError as error:
            now = time.monotonic()
            self._rests_until = now + _REST * (now - began)
            self._tell(error)
            return otherwise

    def _attempt(self, action: Callable[[Database], T]) -> T:
        from toolcrib_task.database import BrokenDatabase, move_aside

        try:
            return self._try(action)
        except BrokenDatabase as error:
            if self._database is not None:
                move_aside(self._file, self._database.identity, error)
            return self._try(action)

    def _try(self, action: Callable[[Database], T]) -> T:
        from toolcrib_task.database import usable

        database = self._opened()
        with usable(self._file):
            return action(database)

    def _opened(self) -> Database:
        """The open database; a new one with all rows of this session when the file is gone."""
        if self._database is not None and not self._database.in_place():
            self.close()
            self._unwritten = dict.fromkeys(self._rows)
        if self._database is None:
            from toolcrib_task.database import open_database

            self._database = open_database(self._file)
        return self._database

    def _tell(self, error: StateError) -> None:
        if not self._told:
            self._told = True
            logging.getLogger("toolcrib").warning(
                "background tasks are known until the session ends only: %s", error
            )


def _values(row: Restored, identity: tuple[object, ...]) -> tuple[object, ...]:
    return (
        row.info.task_id,
        *identity,
        info_text(row.info),
        row.kept,
        mark_text(row.mark),
        row.output_bytes,
        row.delivered,
    )


def _stored(row: tuple[Any, ...]) -> Stored | None:
    session, agent, workspace, host, pid, started, *values = row
    try:
        restored = read_row(*values)
    except ValueError:
        return None
    return Stored(
        info=restored.info,
        delivered=restored.delivered,
        kept=restored.kept,
        mark=restored.mark,
        output_bytes=restored.output_bytes,
        session=session,
        agent=agent,
        workspace=workspace,
        owner_alive=not owner_gone(host, pid, started),
    )


def _plain(text: str) -> str:
    """A text that SQLite takes: names of files may hold what is no text."""
    return text.encode("utf-8", "backslashreplace").decode()
