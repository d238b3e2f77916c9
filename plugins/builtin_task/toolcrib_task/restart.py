"""What becomes of the tasks of sessions that are gone."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Set
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve

from toolcrib import TaskStatus
from toolcrib_task.log import EXIT_NAME, LOG_NAME
from toolcrib_task.rows import Mark, Restored, owner_gone, read_row

if TYPE_CHECKING:
    from toolcrib_task.database import Database

R = TypeVar("R", bound=Restored)

READABLE = 50
"""How many tasks can still be read whose end was told in an earlier session, the latest ones."""

_ROUNDS = 10
_DYING_S = 0.01
"""How long a process that was killed may take to be gone before it is killed again."""

Claimed = tuple[Restored, str | None]
"""A row, and the reason why somebody wanted its task to stop."""


def claim(
    database: Database, workspace: str, identity: tuple[str, str, str, int, str]
) -> list[Claimed]:
    """Make the rows of a workspace ours that no living session has.

    `identity` is ours: session, agent, host, process id and start. It happens at once, so that of
    two sessions only one gets a row.
    """
    with database.transaction() as connection:
        owners = connection.execute(
            "SELECT DISTINCT host, pid, started FROM tasks WHERE workspace = ?", (workspace,)
        ).fetchall()
        rows: list[tuple[Any, ...]] = []
        for owner in owners:
            if owner_gone(*owner):
                rows += connection.execute(
                    "SELECT number, stop_requested, info, kept, mark, output_bytes, delivered"
                    " FROM tasks WHERE workspace = ? AND host IS ? AND pid IS ? AND started IS ?",
                    (workspace, *owner),
                ).fetchall()
        wanted = _wanted(rows)
        connection.executemany(
            "UPDATE tasks SET session = ?, agent = ?, host = ?, pid = ?, started = ?"
            " WHERE number = ?",
            [(*identity, number) for number in wanted],
        )
    return list(wanted.values())


def _wanted(rows: Iterable[tuple[Any, ...]]) -> dict[int, Claimed]:
    """By number, in the order in which they were written down: what is not over and told yet.

    Of the others the latest ones, to be read.
    """
    wanted: dict[int, Claimed] = {}
    told = 0
    for number, asked, *values in sorted(rows, key=itemgetter(0), reverse=True):
        *_, delivered = values
        if delivered and told >= READABLE:
            continue
        try:
            row = read_row(*values)
        except ValueError:
            continue
        over = not row.info.active and (row.delivered or row.info.suppressed)
        told += over
        if not ((over and told > READABLE) or _is_around_us(row)):
            wanted[number] = row, asked
    return dict(reversed(wanted.items()))


def _is_around_us(row: Restored) -> bool:
    """Whether this process is part of a task that it is about to end."""
    return row.info.active and row.mark is not None and row.mark.token in os.environ.values()


def settle(claimed: Iterable[Claimed], place: Callable[[str], Path]) -> list[Restored]:
    """The tasks as they are now, after nobody has looked after them for a while.

    Those that should not have outlived their session are ended. `place` gives their folders.
    """
    rows = list(claimed)
    ended = end_left([row.mark for row, _ in rows if row.mark and _should_be_over(row)])
    return [settled(row, place(row.info.task_id), asked, ended) for row, asked in rows]


def _should_be_over(row: Restored) -> bool:
    """Whether nothing of a task may run any more, and be it what it has left behind."""
    alive = row.kept and row.mark is not None and row.mark.alive()
    return row.info.active and not alive


def settled(row: R, folder: Path, asked: str | None, ended: Set[str] = frozenset()) -> R:
    """One task that nobody looks after, as it is now.

    `asked` is the reason why somebody wanted it to stop, `ended` has the tokens of what was ended.
    """
    if not row.info.active:
        return row
    # Looked at before the file is: that is there when the process is gone.
    alive = row.kept and row.mark is not None and row.mark.alive()
    size = max(row.output_bytes, _size(folder / LOG_NAME))
    if alive:
        return evolve(row, output_bytes=size)
    found = read_exit(folder) if row.kept else None
    stopped = row.mark is not None and row.mark.token in ended
    status, reason = _how_it_ended(None if found is None else found[0], asked, row.kept, stopped)
    details = dict(row.info.details)
    ended_at = time.time()
    if found is not None:
        details["exit_code"], ended_at = found
    info = evolve(
        row.info,
        status=status,
        stop_reason=reason,
        ended_at=max(row.info.started_at, ended_at),
        details=details,
    )
    return evolve(row, info=info, output_bytes=size)


def _how_it_ended(
    code: int | None, asked: str | None, kept: bool, stopped: bool
) -> tuple[TaskStatus, str | None]:
    if asked is not None:
        return "killed", asked
    if code is not None:
        return "failed" if code else "completed", None
    if kept:
        return "lost", "it left no exit code while no session looked after it"
    if stopped:
        return "lost", "its session ended unexpectedly; it still ran, and was stopped afterwards"
    return "lost", "its session ended unexpectedly, so nobody saw how it ended"


def end_left(marks: Iterable[Mark]) -> set[str]:
    """End what is left of the processes of tasks; the tokens of those of which there was anything.

    All are ended together, since each look at the processes of the system takes its time.
    """
    trees = {mark.token: mark.tree() for mark in marks}
    found: set[str] = set()
    for _ in range(_ROUNDS):
        since = time.monotonic()
        alive = {token: tree.alive(since) for token, tree in trees.items()}
        pids = {pid for those in alive.values() for pid in those}
        if not pids:
            break
        found |= {token for token, those in alive.items() if those}
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_DYING_S)
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
