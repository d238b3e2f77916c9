"""A session takes over what earlier ones in its workspace have left, and only that, and once."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from toolcrib import ProcessTree, TaskInfo
from toolcrib.processes.table import MARKER
from toolcrib_task.restart import READABLE
from toolcrib_task.store import Restored, TaskStore

HOST = """
import json, os, subprocess, sys, time
from pathlib import Path
from toolcrib import TaskInfo
from toolcrib_task.store import Mark, TaskStore

folder, session, workspace = sys.argv[1:4]
store = TaskStore(Path(folder), session=session, agent="main", workspace=workspace)

def task(task_id, status="running", **more):
    values = {"kind": "process", "description": "", "detached": True, "started_at": time.time()}
    return TaskInfo(task_id=task_id, status=status, **(values | more))

def start(token, command, kept=False):
    task_id = store.new_id("bash")
    store.place(task_id).mkdir(parents=True)
    out = open(store.place(task_id) / "output.log", "wb")
    process = subprocess.Popen(
        ["sh", "-c", command, str(store.place(task_id) / "exit")],
        env={**os.environ, "TOOLCRIB_CALL": token},
        stdout=out, stderr=out, start_new_session=True,
    )
    info = task(task_id, details={"command": command, "pid": process.pid, "exit_code": None})
    store.add(info, kept=kept, mark=Mark.of(process.pid, token))
    return task_id, process

def say(*values):
    print(json.dumps(values), flush=True)
"""


@define
class Host:
    """A process that is the host of a session, with a program that follows `HOST`."""

    process: subprocess.Popen[str]

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def say(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=60)


@define
class State:
    """A state folder, the hosts that use it, and the marks of what they start."""

    folder: Path
    hosts: list[Host] = field(factory=list)
    stores: list[TaskStore] = field(factory=list)
    tokens: list[str] = field(factory=list)

    def token(self) -> str:
        self.tokens.append(secrets.token_hex(8))
        return self.tokens[-1]

    def host(self, program: str, *arguments: str, workspace: str = "/ws") -> Host:
        code = HOST + textwrap.dedent(program)
        session = f"host{len(self.hosts)}"
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(self.folder), session, workspace, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.hosts.append(Host(process))
        return self.hosts[-1]

    def store(self, session: str = "s", agent: str = "main", workspace: str = "/ws") -> TaskStore:
        store = TaskStore(self.folder, session=session, agent=agent, workspace=workspace)
        self.stores.append(store)
        return store

    def running(self) -> list[int]:
        return [pid for token in self.tokens for pid in ProcessTree.marked(token).alive()]


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    state = State(tmp_path / "tasks")
    yield state
    for host in state.hosts:
        host.process.kill()
    for token in state.tokens:
        ProcessTree.marked(token).kill()
    for host in state.hosts:
        host.kill()
    for store in state.stores:
        store.close()


def until(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.01)


def only(restored: list[Restored]) -> Restored:
    (one,) = restored
    return one


START_AND_WAIT = """
say(*start(sys.argv[4], sys.argv[5], kept=sys.argv[6] == "kept")[:1])
time.sleep(1000)
"""
TELLING = '; echo "$?" > "$0"'


@pytest.mark.parametrize(
    "command",
    [
        "sleep 1000",
        "trap '' TERM HUP; sleep 1000; sleep 1000",
        "sleep 1000 & sleep 1000",
        "setsid sleep 1000 & sleep 1000",
        "(setsid sh -c 'sleep 1000; true' &) ; exit 0",
        "exec env -i sleep 1000",
    ],
)
def test_what_a_killed_host_has_left_running_is_ended(state: State, command: str) -> None:
    host = state.host(START_AND_WAIT, state.token(), command, "")
    (task_id,) = host.hear()
    time.sleep(0.1)
    host.kill()
    restored = only(state.store().take_over())
    assert (restored.info.task_id, restored.info.status) == (task_id, "lost")
    assert restored.info.stop_reason and restored.info.ended_at is not None
    assert not restored.delivered
    until(lambda: not state.running())
    assert restored.mark is not None and not restored.mark.alive()


def test_what_was_started_just_before_the_host_died_is_ended(state: State) -> None:
    program = """
        task_id = store.new_id("bash")
        store.add(task(task_id), kept=False, mark=Mark.of_unstarted(sys.argv[4]))
        subprocess.Popen(
            ["sleep", "1000"],
            env={**os.environ, "TOOLCRIB_CALL": sys.argv[4]},
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        say(task_id)
        time.sleep(1000)
    """
    host = state.host(program, state.token())
    (task_id,) = host.hear()
    host.kill()
    restored = only(state.store().take_over())
    assert (restored.info.task_id, restored.info.status) == (task_id, "lost")
    until(lambda: not state.running())


def test_a_host_that_does_not_wait_for_what_it_kills_is_dead_all_the_same(state: State) -> None:
    """A process that nobody has buried yet still has its number and its start."""
    host = state.host(START_AND_WAIT, state.token(), "sleep 1000", "")
    host.hear()
    host.process.kill()
    os.waitid(os.P_PID, host.process.pid, os.WEXITED | os.WNOWAIT)
    assert only(state.store().take_over()).info.status == "lost"


def test_a_living_session_is_left_alone(state: State) -> None:
    host = state.host(START_AND_WAIT, state.token(), "sleep 1000", "")
    host.hear()
    assert state.store().take_over() == []
    assert state.store().all()[0].owner_alive
    assert state.running()


@pytest.mark.parametrize("kept", ["kept", ""])
def test_a_task_of_another_workspace_is_left_to_the_sessions_there(state: State, kept: str) -> None:
    host = state.host(START_AND_WAIT, state.token(), "sleep 1000", kept, workspace="/other")
    host.hear()
    host.kill()
    assert state.store().take_over() == []
    assert not state.store().all()[0].owner_alive
    assert state.running()
    assert len(state.store(workspace="/other").take_over()) == 1


def test_other_agents_take_nothing_over(state: State) -> None:
    """The tasks of a sub-agent that is gone are told to the main agent."""
    program = """
        store = TaskStore(Path(folder), session=session, agent="sub-1", workspace=workspace)
        say(*start(sys.argv[4], "sleep 1000")[:1])
        time.sleep(1000)
    """
    host = state.host(program, state.token())
    (task_id,) = host.hear()
    host.kill()
    assert state.store(agent="sub-1").take_over() == []
    assert only(state.store().take_over()).info.task_id == task_id


def test_a_kept_task_that_lives_stays_running_with_what_it_has_written(state: State) -> None:
    host = state.host(START_AND_WAIT, state.token(), "echo hello; sleep 1000", "kept")
    (task_id,) = host.hear()
    log = state.folder / task_id / "output.log"
    until(lambda: log.read_bytes() == b"hello\n")
    host.kill()
    store = state.store()
    restored = only(store.take_over())
    assert (restored.info.status, restored.info.ended_at) == ("running", None)
    assert (restored.kept, restored.output_bytes) == (True, 6)
    assert restored.mark is not None and restored.mark.alive()
    assert state.running()
    assert state.store().take_over() == []
    assert store.all()[0].owner_alive


@pytest.mark.parametrize(
    ("command", "status", "code"),
    [
        ("true" + TELLING, "completed", 0),
        ("(exit 3)" + TELLING, "failed", 3),
        ("sh -c 'kill -9 $$'" + TELLING, "failed", 137),
        ("true", "lost", None),
        (": > $0", "lost", None),
        ("echo rubbish > $0", "lost", None),
        ("mkdir $0", "lost", None),
    ],
)
def test_how_a_kept_task_ended_meanwhile_stands_in_its_folder(
    state: State, command: str, status: str, code: int | None
) -> None:
    host = state.host(START_AND_WAIT, state.token(), command, "kept")
    (task_id,) = host.hear()
    host.kill()
    until(lambda: not state.running())
    restored = only(state.store().take_over())
    assert (restored.info.task_id, restored.info.status) == (task_id, status)
    assert restored.info.details["exit_code"] == code
    assert restored.info.ended_at is not None
    assert restored.info.ended_at >= restored.info.started_at
    assert bool(restored.info.stop_reason) == (status == "lost")


@pytest.mark.parametrize("command", ["sleep 1000", "(exit 3)" + TELLING, "true" + TELLING])
def test_whoever_asked_for_a_stop_while_no_session_was_there_is_the_cause(
    state: State, command: str
) -> None:
    host = state.host(START_AND_WAIT, state.token(), command, "kept")
    (task_id,) = host.hear()
    host.kill()
    people = state.store("people")
    people.request_stop(task_id, "too slow")
    mark = people.all()[0].mark
    assert mark is not None
    mark.tree().kill()
    until(lambda: not mark.alive())
    info = only(state.store().take_over()).info
    assert (info.status, info.stop_reason) == ("killed", "too slow")


def test_a_process_that_got_the_number_meanwhile_is_left_alone(state: State) -> None:
    host = state.host(
        """
        task_id = store.new_id("bash")
        mark = Mark(pid=int(sys.argv[4]), started="long ago", token="no such token")
        store.add(task(task_id), kept=False, mark=mark)
        say(task_id)
        time.sleep(1000)
        """,
        str(os.getpid()),
    )
    host.hear()
    host.kill()
    assert only(state.store().take_over()).info.status == "lost"  # and this test goes on


def test_a_session_inside_a_task_of_a_dead_one_does_not_end_itself(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = state.token()
    host = state.host(START_AND_WAIT, token, "sleep 1000", "")
    host.hear()
    host.kill()
    monkeypatch.setenv(MARKER, token)
    assert state.store().take_over() == []
    monkeypatch.delenv(MARKER)
    assert only(state.store().take_over()).info.status == "lost"


def task(task_id: str, status: str = "running", **more: Any) -> TaskInfo:
    values: dict[str, Any] = {
        "kind": "agent",
        "description": "",
        "detached": True,
        "started_at": time.time(),
    }
    return TaskInfo(task_id=task_id, status=status, **(values | more))  # type: ignore[arg-type]


def test_an_end_is_offered_until_it_was_told_over_any_number_of_sessions(state: State) -> None:
    first = state.store("s1")
    told, untold, quiet, left = (first.new_id("agent") for _ in range(4))
    for task_id in (told, untold, quiet, left):
        first.add(task(task_id), kept=False, mark=None)
    first.update(task(told, "completed", ended_at=time.time()))
    first.update(task(untold, "failed", ended_at=time.time()), output_bytes=3)
    first.update(task(quiet, "killed", ended_at=time.time(), suppressed=True))
    first.delivered([told])
    first.release([])
    for session in ("s2", "s3"):
        store = state.store(session)
        restored = store.take_over()
        assert [row.info.task_id for row in restored] == [told, untold, quiet, left]
        assert [row.info.status for row in restored] == ["completed", "failed", "killed", "lost"]
        assert [row.delivered for row in restored] == [True, False, False, False]
        assert restored[2].info.suppressed
        assert store.take_over() == []
        assert {stored.session for stored in store.all()} == {session}
        store.release([])
    store = state.store("s4")
    store.delivered([row.info.task_id for row in store.take_over()])
    store.release([])
    assert all(row.delivered for row in state.store("s5").take_over())


def test_a_task_is_lost_once(state: State) -> None:
    """Its end is the one that the first session noted, however often it is taken over."""
    first = state.store("s1")
    first.add(task(first.new_id("agent")), kept=False, mark=None)
    first.release([])
    ends = []
    for session in ("s2", "s3", "s4"):
        store = state.store(session)
        ends.append(only(store.take_over()).info)
        store.release([])
    assert ends == [ends[0]] * 3


def test_of_what_was_told_long_ago_the_latest_tasks_stay_readable(state: State) -> None:
    first = state.store("s1")
    ids = [first.new_id("agent") for _ in range(READABLE + 20)]
    for task_id in ids:
        first.add(task(task_id, "completed", ended_at=time.time()), kept=False, mark=None)
    first.delivered(ids[1:])
    first.release([])
    restored = [row.info.task_id for row in state.store("s2").take_over()]
    assert restored == [ids[0], *ids[-READABLE:]]
    assert len(state.store().all()) == len(ids)


def test_a_clock_that_was_set_back_makes_no_end_before_the_start(state: State) -> None:
    first = state.store("s1")
    later = time.time() + 1e7
    first.add(task(first.new_id("agent"), started_at=later), kept=False, mark=None)
    kept = first.new_id("bash")
    first.add(task(kept, started_at=later), kept=True, mark=None)
    first.place(kept).mkdir()
    (first.place(kept) / "exit").write_text("0\n")
    first.release([kept])
    for row in state.store("s2").take_over():
        assert row.info.ended_at == later


def test_sessions_of_another_machine_are_given_the_benefit_of_the_doubt(state: State) -> None:
    first = state.store("s1")
    first._owner = ("elsewhere", 1, "then")
    first.add(task(first.new_id("agent")), kept=False, mark=None)
    second = state.store("s2")
    assert second.take_over() == []
    assert second.all()[0].owner_alive


def test_leaving_a_task_says_which_go_on(state: State) -> None:
    first = state.store("s1")
    left, stopped = first.new_id("bash"), first.new_id("bash")
    first.add(task(left), kept=False, mark=None)
    first.add(task(stopped), kept=True, mark=None)
    first.release([left])
    assert [stored.kept for stored in first.all()] == [True, False]
    assert not any(stored.owner_alive for stored in first.all())


def test_of_sessions_that_start_at_once_each_row_goes_to_one(state: State) -> None:
    program = """
        sys.stdin.readline()
        taken = [row.info.task_id for row in store.take_over()]
        say(taken, store.take_over())
        sys.stdin.readline()
    """
    owner = state.host(
        """
        ids = [store.new_id("agent") for _ in range(60)]
        for task_id in ids:
            store.add(task(task_id), kept=False, mark=None)
        say(ids, [start(token, "sleep 1000")[0] for token in sys.argv[4].split()])
        time.sleep(1000)
        """,
        " ".join(state.token() for _ in range(3)),
    )
    ids, started = owner.hear()
    owner.kill()
    hosts = [state.host(program) for _ in range(3)]
    time.sleep(1.0)
    for host in hosts:
        host.say()
    heard = [host.hear() for host in hosts]
    assert sorted(task_id for taken, _ in heard for task_id in taken) == sorted([*ids, *started])
    assert all(again == [] for _, again in heard)
    assert not state.running()
    assert {stored.info.status for stored in state.store().all()} == {"lost"}


def test_a_host_that_dies_while_it_takes_over_loses_nothing(state: State) -> None:
    program = """
        for number in range(30):
            store.add(task(f"agent-000000{number:02}"), kept=False, mark=None)
        store.release([])
        say()
        while True:
            store = TaskStore(Path(folder), session=session, agent="main", workspace=workspace)
            store.take_over()
            store.release([])
    """
    for moment in range(8):
        host = state.host(program)
        host.hear()
        time.sleep(0.003 * moment)
        host.kill()
        store = state.store()
        restored = store.take_over()
        assert len(restored) == 30
        assert {row.info.status for row in restored} == {"lost"}
        store.release([])


_KILLED_AT_A_STATEMENT = """
import sqlite3

def host(number):
    def connect(*arguments, connect=sqlite3.connect, **more):
        connection = connect(*arguments, **more)
        connection.set_trace_callback(count)
        return connection
    def count(statement):
        nonlocal number
        number -= 1
        if number == 0:
            os.kill(os.getpid(), 9)
    sqlite3.connect = connect
    store = TaskStore(place, session="dying", agent="main", workspace="/ws")
    say(number, "begun")
    store.add(task("bash-00000001"), kept=False, mark=None)
    say(number, "added", "bash-00000001")
    store.add(task("bash-00000002"), kept=True, mark=None)
    say(number, "added", "bash-00000002")
    store.update(task("bash-00000001", "completed", ended_at=time.time()), output_bytes=5)
    say(number, "ended")
    store.delivered(["bash-00000001"])
    say(number, "told")
    store.request_stop("bash-00000002", "slow")
    store.release(["bash-00000002"])
    say(number, "left")
    store.prune()
    store.close()
    say(number, "closed")

number = 0
while True:
    number += 1
    place = Path(folder) / str(number)
    child = os.fork()
    if child == 0:
        host(number)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    store = TaskStore(place, session="next", agent="main", workspace="/ws")
    rows = store.take_over()
    say(number, "found", [
        [row.info.task_id, row.info.status, row.delivered, row.output_bytes] for row in rows
    ], [row.info.task_id for row in store.take_over()])
    store.close()
    if status == 0:
        break
say(0, "done")
"""


def test_a_host_may_be_killed_before_any_statement(state: State) -> None:
    """All that it had been told is written down is found by the next session."""
    host = state.host(_KILLED_AT_A_STATEMENT)
    said: list[list[Any]] = []
    numbers = 0
    while True:
        number, what, *rest = host.hear()
        if what == "done":
            break
        if what == "begun":
            said = []
        if what != "found":
            said.append([what, *rest])
            continue
        rows, again = rest
        numbers += 1
        found = {row[0]: row[1:] for row in rows}
        assert again == []
        for task_id in ("bash-00000001", "bash-00000002"):
            assert task_id in found or ["added", task_id] not in said, (number, said)
        if ["ended"] in said:
            assert found["bash-00000001"][0] == "completed"
            assert found["bash-00000001"][2] == 5
        if ["told"] in said:
            assert found["bash-00000001"][1] is True
        if "bash-00000001" in found and ["ended"] not in said:
            assert found["bash-00000001"][0] in ("completed", "lost")
        if ["left"] in said:
            assert found["bash-00000002"][0] == "killed"
    assert numbers > 15
