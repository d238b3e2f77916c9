"""Tasks outlive the session in a file that all sessions share, whatever happens to that file."""

from __future__ import annotations

import json
import logging
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from attrs import asdict
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib import StateError, TaskInfo, redacted
from toolcrib_task.rows import STATUSES
from toolcrib_task.store import Mark, Restored, TaskStore

FIRST, SECOND = "bash-00000001", "bash-00000002"


def task(task_id: str = FIRST, status: str = "running", **more: Any) -> TaskInfo:
    values: dict[str, Any] = {
        "kind": "process",
        "description": "a build",
        "detached": True,
        "started_at": 1e9,
        "details": {"command": "make", "pid": 7, "exit_code": None},
    }
    return TaskInfo(task_id=task_id, status=status, **(values | more))  # type: ignore[arg-type]


Opening = Callable[..., TaskStore]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "tasks"


@pytest.fixture
def opened(folder: Path) -> Iterator[Opening]:
    """Stores of sessions in one state folder."""
    stores: list[TaskStore] = []

    def open_one(session: str = "s1", agent: str = "main", workspace: str = "/ws") -> TaskStore:
        store = TaskStore(folder, session=session, agent=agent, workspace=workspace)
        stores.append(store)
        return store

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What was said in the log."""
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("toolcrib")
    log.addHandler(handler)
    yield messages
    log.removeHandler(handler)


def test_nothing_is_made_before_there_is_a_task(opened: Opening, folder: Path) -> None:
    store = opened()
    assert store.take_over() == [] and store.all() == []
    store.new_id("bash")
    store.stop_requested(FIRST)
    store.request_stop(FIRST, "no")
    store.delivered([FIRST])
    store.update(task(status="completed"))
    store.prune()
    store.release([])
    assert not folder.exists()


def test_a_session_without_tasks_does_without_sqlite() -> None:
    code = """
        import sys
        from pathlib import Path
        from toolcrib_task.store import TaskStore
        store = TaskStore(Path("/nowhere"), session="s", agent="main", workspace="/ws")
        store.take_over(), store.new_id("bash"), store.release([]), store.close()
        sys.exit("sqlite3" in sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)


def test_a_task_is_known_with_all_its_changes(opened: Opening) -> None:
    store, mark = opened(), Mark(pid=7, started="then", token="t")
    store.add(task(), kept=True, mark=mark)
    (stored,) = opened("other").all()
    assert stored.info == task()
    assert (stored.session, stored.agent, stored.workspace) == ("s1", "main", "/ws")
    assert (stored.kept, stored.mark, stored.delivered) == (True, mark, False)
    assert (stored.output_bytes, stored.owner_alive) == (0, True)
    done = task(status="failed", ended_at=1e9 + 1, stop_reason="why", suppressed=True)
    store.update(done, output_bytes=12)
    store.update(done)
    store.delivered([FIRST])
    (stored,) = opened("other").all()
    assert (stored.info, stored.output_bytes, stored.delivered) == (done, 12, True)
    store.delivered([FIRST], False)
    assert not opened("other").all()[0].delivered


def test_a_task_that_could_not_begin_is_forgotten(opened: Opening) -> None:
    store = opened()
    store.add(task(FIRST), kept=False, mark=Mark.of_unstarted(FIRST))
    store.add(task(SECOND), kept=False, mark=None)
    store.forget(FIRST)
    store.update(task(FIRST))
    assert [stored.info.task_id for stored in opened("s2").all()] == [SECOND]


def test_tasks_are_listed_as_they_were_written_down_whatever_the_clock_says(
    opened: Opening,
) -> None:
    store = opened()
    for number, started_at in enumerate((3e9, 1e9, 2e9, -5.0)):
        store.add(task(f"bash-0000000{number}", started_at=started_at), kept=False, mark=None)
    assert [stored.info.task_id[-1] for stored in store.all()] == ["0", "1", "2", "3"]


def test_files_and_folders_are_for_the_user_alone(opened: Opening, folder: Path) -> None:
    opened().add(task(), kept=False, mark=None)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_what_others_could_read_is_closed_to_them(opened: Opening, folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o755)
    (folder / "tasks.db").touch(mode=0o644)
    opened().add(task(), kept=False, mark=None)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "tasks.db").stat().st_mode & 0o777 == 0o600


def test_somebody_else_can_leave_word_why_a_task_is_to_stop(opened: Opening) -> None:
    store = opened()
    store.add(task(), kept=False, mark=None)
    assert store.stop_requested(FIRST) is None
    opened("people").request_stop(FIRST, "too \udcff slow")
    assert "slow" in (store.stop_requested(FIRST) or "")
    store.update(task(status="killed"))
    assert "slow" in (store.stop_requested(FIRST) or "")


@pytest.mark.parametrize("task_id", ["../x", "../bash-00000001", "bash-0000000A", "", "bash", "/"])
@pytest.mark.parametrize("ending", ["", "\n", "\0"])
def test_what_is_no_id_has_no_place(opened: Opening, task_id: str, ending: str) -> None:
    with pytest.raises(ValueError, match="id"):
        opened().place(task_id + ending)


@pytest.mark.parametrize("prefix", ["", "..", "a/b", "A", "a_b", "a-", "ä"])
def test_an_odd_prefix_makes_no_id(opened: Opening, prefix: str) -> None:
    with pytest.raises(ValueError, match="id"):
        opened().new_id(prefix)


def test_ids_are_new(opened: Opening, folder: Path) -> None:
    store = opened()
    ids = {store.new_id("sub-agent") for _ in range(200)}
    assert len(ids) == 200
    assert all(store.place(task_id) == folder / task_id for task_id in ids)


def test_an_id_is_given_to_one_task_only(opened: Opening) -> None:
    """Should two sessions draw the same one, the row stays what it was."""
    opened("s1").add(task(description="first"), kept=False, mark=None)
    (restored,) = opened("s1").all()
    with closing(sqlite3.connect(opened()._folder / "tasks.db")) as connection, connection:
        connection.execute("UPDATE tasks SET pid = 1")
    connection.close()
    opened("s2").add(task(description="second"), kept=False, mark=None)
    assert opened("s3").all()[0].info == restored.info


_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_SECONDS = st.floats(-1e12, 1e12)


def _has_no_secrets(info: TaskInfo) -> bool:
    """Whether nothing in it, like the value of TOKEN, is kept from the disk."""
    values = asdict(info)
    return bool(redacted(values) == values)


_INFOS = st.builds(
    TaskInfo,
    task_id=st.just(FIRST),
    kind=_TEXT,
    description=_TEXT,
    status=st.sampled_from(sorted(STATUSES)),
    detached=st.booleans(),
    started_at=_SECONDS,
    ended_at=st.none() | _SECONDS,
    stop_reason=st.none() | _TEXT,
    suppressed=st.booleans(),
    timeout_s=st.none() | _SECONDS,
    details=st.dictionaries(_TEXT, _JSON, max_size=3),
).filter(_has_no_secrets)
_MARKS = st.builds(Mark, pid=st.integers(0, 1 << 22), started=st.none() | _TEXT, token=_TEXT)


@settings(max_examples=60, deadline=None)
@given(info=_INFOS, later=_INFOS, kept=st.booleans(), mark=st.none() | _MARKS, workspace=_TEXT)
def test_every_record_comes_back_as_it_was(
    info: TaskInfo, later: TaskInfo, kept: bool, mark: Mark | None, workspace: str
) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store, following = (
            stack.enter_context(
                closing(TaskStore(folder, session=session, agent="main", workspace=workspace))
            )
            for session in "st"
        )
        store.add(info, kept=kept, mark=mark)
        (stored,) = store.all()
        assert (stored.info, stored.kept, stored.mark) == (info, kept, mark)
        store.update(later, output_bytes=5)
        assert store.all()[0].info == later
        ended = not later.active
        store.release([FIRST] if kept else [])
        (restored,) = following.take_over()
        if ended:
            assert restored == Restored(info=later, kept=kept, mark=mark, output_bytes=5)
        else:
            assert restored.info.status == "lost"
        assert following.take_over() == []


def test_details_that_are_no_json_do_no_harm(opened: Opening) -> None:
    store = opened()
    store.add(task(details={"path": Path("/x"), ("a", 1): 2}), kept=False, mark=None)
    assert store.all()[0].info.details == {"path": "/x"}


@pytest.mark.parametrize(
    "garbled",
    [
        "",
        "null",
        "[]",
        "{}",
        "{" * 5000,
        "[" * 200_000,
        json.dumps({"task_id": FIRST}),
        b"\xff\xfe",
        None,
        "status",
        "started_at",
        "details",
        "more",
        "task_id",
    ],
)
def test_a_garbled_row_hides_no_other(opened: Opening, folder: Path, garbled: Any) -> None:
    store = opened()
    store.add(task(FIRST), kept=False, mark=None)
    store.add(task(SECOND, status="completed", ended_at=2e9), kept=False, mark=None)
    store.release([])
    with closing(sqlite3.connect(folder / "tasks.db")) as connection, connection:
        if garbled in ("status", "started_at", "details", "more", "task_id"):
            connection.execute(
                "UPDATE tasks SET info = json_set(info, ?, 'odd') WHERE task_id = ?",
                (f"$.{garbled}", FIRST),
            )
        elif garbled is None:
            connection.execute("UPDATE tasks SET mark = '{\"pid\": 1}' WHERE task_id = ?", (FIRST,))
        else:
            connection.execute("UPDATE tasks SET info = ? WHERE task_id = ?", (garbled, FIRST))
    connection.close()
    following = opened("s2")
    assert [stored.info.task_id for stored in following.all()] == [SECOND]
    assert [restored.info.task_id for restored in following.take_over()] == [SECOND]
    following.prune()
    assert [stored.info.task_id for stored in opened("s3").all()] == [SECOND]


_RUBBISH = b"\x00\xff no database " * 1000


@pytest.mark.parametrize("trouble", ["rubbish", "cut off", "pages"])
def test_a_broken_file_is_put_aside_and_said_so(
    opened: Opening, folder: Path, said: list[str], trouble: str
) -> None:
    before = opened()
    for number in range(60):
        before.add(task(f"bash-100000{number:02}"), kept=False, mark=None)
    before.release([])
    before.close()
    file = folder / "tasks.db"
    content = file.read_bytes()
    if trouble == "rubbish":
        content = _RUBBISH
    elif trouble == "cut off":
        content = content[: len(content) // 2 + 100]
    else:
        content = content[:4096] + os.urandom(len(content) - 4096)
    file.write_bytes(content)
    store = opened("s2")
    store.take_over()
    store.add(task(SECOND), kept=False, mark=None)
    store.update(task(SECOND, status="completed", ended_at=2e9))
    assert [stored.info.status for stored in opened("s3").all()] == ["completed"]
    (aside,) = (
        path
        for path in folder.glob("tasks.db.broken-*")
        if "-wal" not in path.name and "-shm" not in path.name
    )
    assert aside.read_bytes() == content
    assert aside.stat().st_mode & 0o777 == 0o600
    assert len(said) == 1 and str(aside) in said[0]


def test_sessions_that_have_the_broken_file_open_write_their_tasks_again(
    opened: Opening, folder: Path
) -> None:
    store = opened()
    for number in range(40):
        store.add(task(f"bash-100000{number:02}"), kept=False, mark=None)
    for name in ("tasks.db", "tasks.db-wal"):
        with open(folder / name, "r+b") as out:
            out.write(os.urandom((folder / name).stat().st_size))
    other = opened("s2")
    other.add(task(SECOND), kept=False, mark=None)
    for number in range(40):
        store.update(task(f"bash-100000{number:02}", status="completed"))
    other.update(task(SECOND))
    statuses = [stored.info.status for stored in opened("s3").all()]
    assert sorted(statuses) == ["completed"] * 40 + ["running"]


def test_sessions_that_find_it_broken_at_once_agree_on_a_new_one(
    folder: Path, opened: Opening
) -> None:
    code = """
        import sys, time
        from pathlib import Path
        from toolcrib import TaskInfo
        from toolcrib_task.store import TaskStore
        store = TaskStore(Path(sys.argv[1]), session=sys.argv[2], agent="main", workspace="/ws")
        sys.stdin.readline()
        for number in range(10):
            info = TaskInfo(task_id=f"bash-0000{sys.argv[2]}{number:03}", kind="process",
                            description="", status="running", detached=True, started_at=0.0)
            store.add(info, kept=False, mark=None)
            time.sleep(0.01)
        store.release([])
        store.close()
    """
    folder.mkdir(parents=True)
    (folder / "tasks.db").write_bytes(_RUBBISH)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(folder), str(number)],
            stdin=subprocess.PIPE,
        )
        for number in range(4)
    ]
    time.sleep(0.5)
    for process in processes:
        process.communicate(b"\n", timeout=60)
    assert len(list(folder.glob("tasks.db.broken-*"))) == 1
    assert len(opened().all()) == 40


def test_a_file_of_a_newer_version_is_left_alone(
    opened: Opening, folder: Path, said: list[str]
) -> None:
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "tasks.db")) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
        connection.execute("CREATE TABLE tasks (other TEXT)")
    connection.close()
    content = (folder / "tasks.db").read_bytes()
    store = opened()
    assert store.take_over() == []
    store.add(task(), kept=False, mark=None)
    store.update(task(status="completed"))
    store.prune()
    store.release([])
    store.close()
    assert (folder / "tasks.db").read_bytes() == content
    assert [path.name for path in folder.iterdir()] == ["tasks.db"]
    assert len(said) == 1 and "newer" in said[0]


@pytest.mark.parametrize("trouble", ["a folder", "no folder", "no disk", "another table"])
def test_without_the_file_all_goes_on(
    folder: Path, tmp_path: Path, said: list[str], trouble: str
) -> None:
    folder.mkdir(parents=True)
    if trouble == "a folder":
        (folder / "tasks.db").mkdir()
    elif trouble == "no folder":
        (tmp_path / "plain").write_text("")
        folder = tmp_path / "plain" / "tasks"
    elif trouble == "no disk":
        folder = Path("/proc/sys/tasks")
    else:
        with closing(sqlite3.connect(folder / "tasks.db")) as connection, connection:
            connection.execute("CREATE TABLE tasks (other TEXT)")
        connection.close()
    store = TaskStore(folder, session="s", agent="main", workspace="/ws")
    store.take_over()
    task_id = store.new_id("bash")
    store.add(task(task_id), kept=True, mark=None)
    store.update(task(task_id, status="completed"), output_bytes=1)
    store.delivered([task_id])
    store.stop_requested(task_id)
    store.request_stop(task_id, "because")
    if trouble in ("a folder", "another table"):
        with pytest.raises(StateError, match=re.escape(str(folder))):
            store.all()
    store.prune()
    store.release([task_id])
    store.close()
    assert len(said) == 1 and str(folder) in said[0]


@pytest.mark.parametrize("mode", [0o500, 0], ids=["only read", "not even looked into"])
def test_a_state_folder_that_cannot_be_written_is_no_obstacle(mode: int) -> None:
    code = """
        import logging, os, sys
        from pathlib import Path
        from toolcrib import TaskInfo
        import toolcrib_task.database
        from toolcrib_task.store import TaskStore
        os.setuid(int(sys.argv[2]))
        logging.basicConfig(stream=sys.stdout)
        store = TaskStore(Path(sys.argv[1]), session="s", agent="main", workspace="/ws")
        store.take_over()
        info = TaskInfo(task_id=store.new_id("bash"), kind="process", description="",
                        status="running", detached=True, started_at=0.0)
        store.add(info, kept=False, mark=None)
        store.update(info), store.prune(), store.release([]), store.close()
    """
    with tempfile.TemporaryDirectory() as name:  # where another user gets to
        os.chmod(name, 0o755)
        state = Path(name) / "tasks"
        before = TaskStore(state, session="s0", agent="main", workspace="/ws")
        before.add(task(), kept=False, mark=None)
        before.release([])
        before.close()
        user = os.geteuid() or 65534  # root may write everywhere
        os.chown(state / "tasks.db", user, -1)
        os.chown(state, user, -1)
        os.chmod(state / "tasks.db", 0o400)
        os.chmod(state, mode)
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), str(state), str(user)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        os.chmod(state, 0o700)
        assert (done.returncode, done.stderr) == (0, "")
        assert len(done.stdout.splitlines()) == 1 and str(state) in done.stdout
        assert {path.name for path in state.iterdir()} == {"tasks.db"}


def test_a_full_disk_is_no_obstacle_and_what_it_refused_is_written_later(folder: Path) -> None:
    code = """
        import resource, signal, sys
        from pathlib import Path
        from toolcrib import TaskInfo
        from toolcrib_task.store import TaskStore
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        store = TaskStore(Path(sys.argv[1]), session="s", agent="main", workspace="/ws")
        def task(number, status):
            return TaskInfo(task_id=f"bash-00000{number:03}", kind="process", description="x" * 500,
                            status=status, detached=True, started_at=0.0)
        store.add(task(0, "running"), kept=False, mark=None)
        most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, most[1]))
        for number in range(1, 100):
            store.add(task(number, "running"), kept=False, mark=None)
            store.update(task(number, "completed"))
        store.update(task(0, "failed"))
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
        print(len(store.all()))
        store.release([])
        store.close()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 100
    store = TaskStore(folder, session="s2", agent="main", workspace="/ws")
    statuses = [stored.info.status for stored in store.all()]
    assert sorted(statuses) == ["completed"] * 99 + ["failed"]
    store.close()


def test_a_locked_file_holds_nobody_up_and_nothing_is_lost(
    opened: Opening, folder: Path, said: list[str]
) -> None:
    store = opened()
    store.add(task(), kept=False, mark=None)
    locker = sqlite3.connect(folder / "tasks.db", isolation_level=None)
    locker.execute("BEGIN EXCLUSIVE")
    began = time.monotonic()
    for number in range(50):
        store.add(task(f"bash-000001{number:02}"), kept=False, mark=None)
    assert time.monotonic() - began < 25  # it would take that long to wait for each
    locker.execute("ROLLBACK")
    locker.close()
    store.release([])
    assert len(opened("s2").all()) == 51
    assert len(said) == 1


def test_a_file_that_was_removed_is_written_again(opened: Opening, folder: Path) -> None:
    store = opened()
    store.add(task(FIRST), kept=False, mark=None)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    store.add(task(SECOND), kept=False, mark=None)
    assert [stored.info.task_id for stored in opened("s2").all()] == [FIRST, SECOND]


def test_many_processes_write_at_the_same_time(folder: Path, opened: Opening) -> None:
    code = """
        import sys
        from pathlib import Path
        from toolcrib import TaskInfo
        from toolcrib_task.store import TaskStore
        store = TaskStore(Path(sys.argv[1]), session=sys.argv[2], agent="main", workspace="/ws")
        for number in range(50):
            for status in ("running", "completed"):
                info = TaskInfo(task_id=f"bash-0000{sys.argv[2]}{number:03}", kind="process",
                                description="", status=status, detached=True, started_at=0.0)
                if status == "running":
                    store.add(info, kept=False, mark=None)
                else:
                    store.update(info, output_bytes=number)
        store.close()
    """
    processes = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), str(folder), str(number)])
        for number in range(4)
    ]
    for process in processes:
        assert process.wait(timeout=60) == 0
    stored = opened().all()
    assert len(stored) == 200
    assert {one.info.status for one in stored} == {"completed"}


def test_the_last_word_waits_for_somebody_else_who_writes(folder: Path, opened: Opening) -> None:
    store = opened()
    store.add(task(), kept=False, mark=None)
    other = sqlite3.connect(folder / "tasks.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    store.update(task(status="completed"))
    soon = threading.Timer(1, other.rollback)
    soon.start()
    store.release([])
    soon.join()
    other.close()
    (stored,) = opened().all()
    assert stored.info.status == "completed" and not stored.owner_alive
