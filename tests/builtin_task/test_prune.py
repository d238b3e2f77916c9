"""Old tasks go, and too many of them, but nothing that somebody still has or waits for."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolcrib import TaskInfo
from toolcrib_task.database import Database
from toolcrib_task.prune import IDLE_S, KEPT_S, KEPT_TASKS, prune
from toolcrib_task.store import Mark, TaskStore

LONG_AGO = KEPT_S + 3600
PIECE = 1 << 16


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TaskStore]:
    """The store of a session that is about to end."""
    store = TaskStore(tmp_path / "tasks", session="s1", agent="main", workspace="/ws")
    yield store
    store.close()


@pytest.fixture
def later(tmp_path: Path) -> Iterator[TaskStore]:
    """The store of another session, in another workspace."""
    store = TaskStore(tmp_path / "tasks", session="s2", agent="main", workspace="/other")
    yield store
    store.close()


def add(
    store: TaskStore,
    *,
    ago: float = 60.0,
    status: str = "completed",
    told: bool = True,
    mark: Mark | None = None,
    size: int = 0,
) -> str:
    task_id = store.new_id("bash")
    stamp = time.time() - ago
    values: dict[str, Any] = {"started_at": stamp, "status": status}
    values["ended_at"] = None if status == "running" else stamp
    info = TaskInfo(task_id=task_id, kind="process", description="", detached=True, **values)
    store.add(info, kept=mark is not None, mark=mark)
    store.delivered([task_id], told)
    store.place(task_id).mkdir()
    (store.place(task_id) / "output.log").write_bytes(b"x" * size)
    return task_id


def left(store: TaskStore) -> tuple[set[str], set[str]]:
    """The tasks that are known, and those that have a folder."""
    known = {stored.info.task_id for stored in store.all()}
    return known, {
        path.name for path in store.place("a-00000000").parent.iterdir() if path.is_dir()
    }


def prune_to(store: TaskStore, kept_bytes: int) -> None:
    folder = store.place("a-00000000").parent
    database = Database(folder / "tasks.db")
    prune(database, folder, "s2", kept_bytes=kept_bytes)
    database.close()


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("status", ["completed", "lost", "running"])
def test_a_task_that_is_too_old_goes_with_its_folder(
    store: TaskStore, later: TaskStore, status: str, told: bool
) -> None:
    add(store, ago=LONG_AGO, status=status, told=told)
    new = add(store, status=status, told=told)
    store.release([])
    later.prune()
    assert left(later) == ({new}, {new})


def test_what_a_session_has_stays_however_old_it_is(store: TaskStore, later: TaskStore) -> None:
    ids = {add(store, ago=LONG_AGO, status=status, size=9) for status in ("running", "failed")}
    later.prune()
    prune_to(later, 0)
    assert left(later) == (ids, ids)


def test_a_session_forgets_nothing_of_its_own_when_the_clock_is_set_forward(
    store: TaskStore,
) -> None:
    task_id = add(store, ago=LONG_AGO)
    store.release([])
    store.prune()
    assert left(store) == ({task_id}, {task_id})


def test_a_task_from_the_future_stays(store: TaskStore, later: TaskStore) -> None:
    task_id = add(store, ago=-10 * LONG_AGO)
    store.release([])
    later.prune()
    assert left(later) == ({task_id}, {task_id})


def test_a_kept_task_stays_as_long_as_it_lives(store: TaskStore, later: TaskStore) -> None:
    process = subprocess.Popen(["sleep", "1000"])
    try:
        mark = Mark.of(process.pid, "no token")
        task_id = add(store, ago=LONG_AGO, status="running", mark=mark, size=9)
        store.release([task_id])
        later.prune()
        prune_to(later, 0)
        assert left(later) == ({task_id}, {task_id})
    finally:
        process.kill()
        process.wait()
    later.prune()
    assert left(later) == (set(), set())


def test_too_much_output_goes_the_oldest_first_and_what_was_told_first(
    store: TaskStore, later: TaskStore
) -> None:
    untold = add(store, told=False, size=PIECE)
    *_, third = (add(store, size=PIECE) for _ in range(3))
    running = add(store, status="running", size=PIECE)
    store.release([])
    prune_to(later, 3 * PIECE)
    assert left(later) == ({untold, third, running}, {untold, third, running})
    prune_to(later, 2 * PIECE)
    assert left(later) == ({untold, running}, {untold, running})
    prune_to(later, 0)
    assert left(later) == ({untold, running}, {running})


def test_old_tasks_make_room_for_the_others(store: TaskStore, later: TaskStore) -> None:
    add(store, ago=LONG_AGO, size=PIECE)
    new = add(store, size=PIECE)
    store.release([])
    prune_to(later, PIECE)
    assert left(later) == ({new}, {new})


def test_a_folder_without_a_row_goes_when_nothing_happens_in_it(
    store: TaskStore, later: TaskStore
) -> None:
    """It is that of a call that fills its log, or of one whose host has died."""
    known = add(store)
    idle, busy, fresh = (store.new_id("bash") for _ in range(3))
    long_ago = time.time() - IDLE_S - 60
    for name in (idle, busy, fresh):
        store.place(name).mkdir()
        (store.place(name) / "output.log").write_bytes(b"x")
    for path in (store.place(idle) / "output.log", store.place(idle), store.place(busy)):
        os.utime(path, (long_ago, long_ago))
    later.prune()
    assert left(later) == ({known}, {known, busy, fresh})


def test_nothing_else_in_the_folder_is_touched(
    store: TaskStore, later: TaskStore, tmp_path: Path
) -> None:
    folder, elsewhere = tmp_path / "tasks", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("precious")
    gone = add(store, ago=LONG_AGO)
    store.release([])
    (store.place(gone) / "output.log").unlink()
    store.place(gone).rmdir()
    store.place(gone).symlink_to(elsewhere)
    (folder / "bash-0000000l").symlink_to(elsewhere)
    (folder / "notes").mkdir()
    (folder / "bash-0000000f").write_text("a file")
    with closing(sqlite3.connect(folder / "tasks.db")) as connection, connection:
        for odd in ("../elsewhere", "notes", "."):
            connection.execute(
                "INSERT INTO tasks (task_id, session, agent, workspace, info, kept, output_bytes,"
                " delivered) VALUES (?, 's', 'main', '/ws', '{}', 0, 0, 1)",
                (odd,),
            )
    connection.close()
    before = time.time() - 2 * KEPT_S
    for path in (folder / "notes", folder / "bash-0000000f", elsewhere, elsewhere / "file"):
        os.utime(path, (before, before))
    later.prune()
    prune_to(later, 0)
    assert (elsewhere / "file").read_text() == "precious"
    assert (folder / "notes").is_dir() and (folder / "bash-0000000f").is_file()
    assert later.all() == []


def test_databases_that_were_put_aside_go_in_the_end(store: TaskStore, later: TaskStore) -> None:
    add(store)
    folder = store.place("a-00000000").parent
    old, new = folder / "tasks.db.broken-1", folder / "tasks.db.broken-2"
    for path in (old, new):
        path.write_text("")
    os.utime(old, (time.time() - LONG_AGO,) * 2)
    later.prune()
    assert not old.exists() and new.exists()


def test_a_task_that_another_session_takes_over_meanwhile_is_whole(
    store: TaskStore, later: TaskStore
) -> None:
    task_id = add(store, ago=LONG_AGO, told=False)
    store.release([])
    taken = TaskStore(store.place(task_id).parent, session="s3", agent="main", workspace="/ws")
    assert len(taken.take_over()) == 1
    later.prune()
    assert left(later) == ({task_id}, {task_id})
    taken.close()


def test_only_so_many_tasks_are_known_whose_end_was_told(
    store: TaskStore, later: TaskStore
) -> None:
    untold = add(store, told=False)
    ids = [add(store) for _ in range(KEPT_TASKS + 5)]
    store.release([])
    later.prune()
    assert left(later)[0] == {untold, *ids[5:]}
