"""Removes tasks that nobody needs any more, with their files."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from toolcrib import this_host
from toolcrib_task.rows import is_task_id, owner_gone, read_row

if TYPE_CHECKING:
    from toolcrib_task.database import Database

KEPT_S = 30 * 86_400
"""How long a task is known that no session has."""
KEPT_BYTES = 1 << 30
"""How much the files of tasks may take; of those that are over, the oldest go first."""
KEPT_TASKS = 1_000
"""How many tasks are known that no session has and whose end was told, the latest ones."""
IDLE_S = 86_400
"""How long a folder without a row is kept: a call may still be running that fills its log."""
_ALL = (
    "SELECT task_id, session, host, pid, started,"
    " info, kept, mark, output_bytes, delivered FROM tasks ORDER BY number"
)


@frozen
class _Row:
    task_id: str
    old: bool
    over: bool
    told: bool


def prune(database: Database, folder: Path, session: str, *, kept_bytes: int = KEPT_BYTES) -> None:
    """Remove tasks by age and by size; those that a living session has stay in any case.

    Those of `session` stay as well, whatever the clock says. Rows go before folders, so that nobody
    takes over a task whose files are going; a folder that stays behind is removed by a later call.
    """
    sizes = dict(_folders(folder))
    with database.transaction() as connection:
        rows = connection.execute(_ALL).fetchall()
        unknown = sizes.keys() - {task_id for task_id, *_ in rows}
        idle = {name: sizes.pop(name) for name in unknown if _idle(folder / name)}
        free = [row for values in rows if (row := _free(values, session)) is not None]
        gone, emptied = _choose(free, sizes, kept_bytes)
        connection.executemany(
            "DELETE FROM tasks WHERE task_id = ?", [(task_id,) for task_id in gone]
        )
    for name in (*idle, *((gone | emptied) & sizes.keys())):
        shutil.rmtree(folder / name, ignore_errors=True)
    for file in folder.glob(f"{database.file.name}.broken-*"):
        with contextlib.suppress(OSError):
            if _age(os.stat(file).st_mtime) > KEPT_S:
                file.unlink()


def _free(values: tuple[Any, ...], session: str) -> _Row | None:
    """A row that may go; None when a session has it, or its process runs on."""
    task_id, last_session, host, pid, started, *record = values
    gone = owner_gone(host, pid, started)
    try:
        row = read_row(*record)
    except ValueError:
        return _Row(task_id, old=True, over=True, told=True) if gone else None
    info = row.info
    old = _age(info.ended_at or info.started_at) > KEPT_S
    if last_session == session or not (gone or (old and host != this_host())):
        return None
    if info.active and row.mark is not None and row.mark.alive():
        return None
    told = row.delivered or info.suppressed
    return _Row(task_id, old=old, over=not info.active, told=told)


def _choose(
    free: Collection[_Row], sizes: Mapping[str, int], kept_bytes: int
) -> tuple[set[str], set[str]]:
    """Which tasks go, and of which only the folder, since their ends are still to be told.

    What was told goes first, and the oldest first.
    """
    told = [row for row in free if row.over and row.told]
    gone = {row.task_id for row in free if row.old}
    gone |= {row.task_id for row in told[:-KEPT_TASKS]}
    emptied: set[str] = set()
    excess = sum(size for task_id, size in sizes.items() if task_id not in gone) - kept_bytes
    for row in (*told, *(row for row in free if row.over and not row.told)):
        if excess > 0 and row.task_id in sizes and row.task_id not in gone:
            excess -= sizes[row.task_id]
            (gone if row.told else emptied).add(row.task_id)
    return gone, emptied


def _folders(folder: Path) -> Iterator[tuple[str, int]]:
    """The folders of tasks, and how many bytes each of them takes."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_task_id(entry.name) and entry.is_dir(follow_symlinks=False):
                yield entry.name, _size(entry.path)


def _size(folder: str) -> int:
    size = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            size += entry.stat(follow_symlinks=False).st_blocks * 512
    return size


def _idle(folder: Path) -> bool:
    try:
        changed = [entry.stat().st_mtime for entry in (folder, *folder.iterdir())]
    except OSError:
        return False
    return _age(max(changed)) > IDLE_S


def _age(stamp: float) -> float:
    return time.time() - stamp
