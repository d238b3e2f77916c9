"""What becomes of the tasks of sessions that are gone."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from toolcrib import TaskInfo, TaskStatus
from toolcrib_task.log import EXIT_NAME, LOG_NAME
from toolcrib_task.rows import Mark, Restored, owner_gone, read_row

if TYPE_CHECKING:
    from toolcrib_task.database import Database

READABLE = 50
"""How many tasks can still be read whose end was told in an earlier session, the latest ones."""


def claim(
    database: Database, workspace: str, identity: tuple[str, str, str, int, str]
) -> list[tuple[Restored, str | None]]:
    """Make the rows of a workspace ours that no living session has.

    `identity` is ours: session, agent, host, process id and start. Each row comes with the reason
    why somebody wanted it to stop. What happens here happens at once, so that of two sessions only
    one gets a row.
    """
    with database.transaction() as connection:
        owners = connection.execute(
            "SELECT DISTINCT host, pid, started FROM tasks WHERE workspace = ?", (workspace,)
        ).fetchall()
        gone = [owner for owner in owners if owner_gone(*owner)]
        rows = []
        for owner in gone:
            rows += connection.execute(
                "SELECT number, stop_requested, info, kept, mark, output_bytes, delivered"
                " FROM tasks WHERE workspace = ? AND host IS ? AND pid IS ? AND started IS ?",
                (workspace, *owner),
            ).fetchall()
        claimed: list[tuple[Restored, str | None]] = []
        numbers: list[int] = []
        told = 0
        for number, asked, *values in sorted(rows, reverse=True):
            try:
                row = read_row(*values)
            except ValueError:
                continue
            over = not row.info.active and (row.delivered or row.info.suppressed)
            told += over
            if not over or told <= READABLE:
                numbers.append(number)
                claimed.append((row, asked))
        connection.executemany(
            "UPDATE tasks SET session = ?, agent = ?, host = ?, pid = ?, started = ?"
            " WHERE number = ?",
            [(*identity, number) for number in numbers],
        )
    return claimed[::-1]


def settle(row: Restored, folder: Path, asked: str | None) -> Restored:
    """A task as it is now that nobody has looked after for a while.

    One that should not have outlived its session is ended. `asked` is why somebody wanted it to
    stop.
    """
    if not row.info.active:
        return row
    # Looked at before the file is: it is there when the process is gone.
    alive = row.mark is not None and row.mark.alive()
    size = max(row.output_bytes, _size(folder / LOG_NAME))
    if row.kept and alive:
        return evolve(row, output_bytes=size)
    ended = _ended_by_itself(row.info, folder, asked) if row.kept else None
    if ended is None:
        ended = _lost(row, alive)
    return evolve(row, info=ended, output_bytes=size)


def _ended_by_itself(info: TaskInfo, folder: Path, asked: str | None) -> TaskInfo | None:
    found = read_exit(folder)
    if found is None:
        return None
    code, ended_at = found
    status: TaskStatus = "completed" if code == 0 else "failed" if asked is None else "killed"
    return evolve(
        info,
        status=status,
        stop_reason=asked if status == "killed" else None,
        ended_at=max(info.started_at, ended_at),
        details={**info.details, "exit_code": code},
    )


def _lost(row: Restored, alive: bool) -> TaskInfo:
    stopped = row.mark is not None and not row.kept and _end_leftovers(row.mark)
    if stopped:
        reason = "the session that looked after it ended unexpectedly, so it was stopped afterwards"
    elif row.kept:
        reason = "it ended without leaving an exit code while no session looked after it"
    else:
        reason = "the session that looked after it ended unexpectedly; how it ended is not known"
    ended_at = max(row.info.started_at, time.time())
    return evolve(row.info, status="lost", stop_reason=reason, ended_at=ended_at)


def _end_leftovers(mark: Mark) -> bool:
    """End what is left of the processes of a task, and tell whether there was anything."""
    tree = mark.tree()
    found = bool(tree.alive())
    tree.kill()
    return found


def read_exit(folder: Path) -> tuple[int, float] | None:
    """The exit code that a kept task has left in its folder, and when; None without one."""
    try:
        with open(folder / EXIT_NAME, "rb") as file:
            return int(file.read(16)), os.fstat(file.fileno()).st_mtime
    except (OSError, ValueError):
        return None


def _size(file: Path) -> int:
    try:
        return os.stat(file).st_size
    except OSError:
        return 0
