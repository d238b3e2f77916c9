"""`toolcrib tasks`: what people see of background tasks, and how they end them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from builtin_task.cli.conftest import Home

if sys.platform == "win32":
    pytest.skip("processes of POSIX", allow_module_level=True)

import pexpect  # type: ignore[import-untyped]

Eventually = Callable[[Callable[[], bool]], None]
KEYS = {
    "task_id", "kind", "description", "status", "started_at", "ended_at", "duration_s",
    "timeout_s", "stop_reason", "command", "pid", "exit_code", "workspace", "session",
    "session_alive", "agent", "kept", "output_path",
}  # fmt: skip


def runs(pid: int) -> bool:
    """Whether a process runs; one that only waits for its parent to notice does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def start(home: Home, *arguments: str) -> pexpect.spawn:
    return pexpect.spawn(
        "toolcrib",
        ["tasks", *arguments],
        cwd=str(home.workspace),
        env=home.environ,
        encoding="utf-8",
        timeout=30,
        dimensions=(40, 200),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def shown(home: Home, *arguments: str) -> str:
    """What a command shows at a terminal, with its escape codes."""
    terminal = start(home, *arguments)
    terminal.expect(pexpect.EOF)
    terminal.close()
    text: str = terminal.before
    return text


def test_without_any_task_a_listing_says_so_and_is_no_failure(home: Home) -> None:
    listed = home.tasks("list")
    assert (listed.status, listed.out) == (0, b"") and "no background tasks" in listed.err
    assert home.list() == []
    assert not (home.folder / "state").exists()
    assert home.tasks("stop", "--all").status == 0


@pytest.mark.parametrize(
    "arguments", [["list"], ["list", "--json"], ["stop", "--all"], ["attach", "bash-00000000"]]
)
def test_what_cannot_be_read_is_not_taken_for_no_tasks(home: Home, arguments: list[str]) -> None:
    database = home.folder / "state" / "tasks" / "tasks.db"
    database.mkdir(parents=True)
    done = home.tasks(*arguments)
    assert (done.status, done.out) == (2, b"")
    assert str(database) in done.err and len(done.err.splitlines()) == 1


def test_lists_all_tasks_of_all_sessions_the_newest_first(home: Home) -> None:
    other = home.folder / "other"
    other.mkdir()
    home.finish(home.run("exit 3", workspace=other))
    home.run("sleep 60")
    newest, oldest = home.list()
    assert newest.keys() >= KEYS and oldest.keys() >= KEYS
    assert (newest["command"], newest["status"], newest["session_alive"]) == (
        "sleep 60", "running", True,
    )  # fmt: skip
    assert (oldest["status"], oldest["exit_code"], oldest["session_alive"]) == ("failed", 3, False)
    assert oldest["workspace"] == str(other)
    assert [task["task_id"] for task in home.list("--active")] == [newest["task_id"]]
    (there,) = home.list("--workspace", str(other))
    assert there["task_id"] == oldest["task_id"]


def test_a_pipe_gets_lines_of_fields_and_a_terminal_a_table(home: Home) -> None:
    home.finish(home.run("echo '\x1b[31m'"))
    (task,) = home.list()
    fields = home.tasks("list").out.decode().rstrip("\n").split("\t")
    assert fields[:2] == [task["task_id"], "completed"] and len(fields) == 8
    table = shown(home, "list")
    assert "workspace" in table and task["task_id"] in table
    assert "\x1b[31m" not in table


def test_output_is_raw_in_a_pipe_and_clean_at_a_terminal(home: Home) -> None:
    home.finish(home.run(r"printf 'a\033[31mred\n10%%\r20%%\n\377\000'"))
    (task,) = home.list()
    output = home.tasks("output", task["task_id"])
    assert output.out == b"a\x1b[31mred\n10%\r20%\n\xff\0"
    assert shown(home, "output", task["task_id"]).split() == ["ared", "20%", "\ufffd␀"]
    as_json = home.tasks("output", task["task_id"], "--json").json
    assert as_json["output"] == "ared\n20%\n\ufffd␀" and as_json["status"] == "completed"


@pytest.mark.parametrize("end", ["", "\\n"])
def test_the_last_lines_are_found_from_the_end(home: Home, end: str) -> None:
    home.finish(home.run(f"seq 30000; printf 'last{end}'"))
    (task,) = home.list()
    everything = home.tasks("output", task["task_id"]).out.splitlines(keepends=True)
    assert len(everything) == 30_001
    for lines in (0, 1, 2, 20_000, 50_000):
        tail = home.tasks("output", task["task_id"], "--tail", str(lines)).out
        assert tail == b"".join(everything[len(everything) - min(lines, 30_001) :])


def test_following_goes_on_until_the_task_has_ended(home: Home) -> None:
    os.mkfifo(home.workspace / "pipe")
    home.run("echo first; cat pipe; echo last")
    (task,) = home.list()
    with subprocess.Popen(
        ["toolcrib", "tasks", "output", task["task_id"], "--follow"],
        stdout=subprocess.PIPE,
        cwd=home.workspace,
        env=home.environ,
    ) as process:
        assert process.stdout and process.stdout.readline() == b"first\n"
        (home.workspace / "pipe").write_text("second\n")
        assert process.stdout.read() == b"second\nlast\n"
    assert process.returncode == 0


def test_stopping_from_another_process_is_recorded_by_the_session(home: Home) -> None:
    session = home.run("sleep 60", "sleep 61", "sleep 0.1")
    one = next(task for task in home.list() if task["command"] == "sleep 60")
    stopped = home.tasks("stop", one["task_id"], "--reason", "not needed")
    assert stopped.status == 0 and b"not needed" in stopped.out
    (now,) = [task for task in home.list() if task["task_id"] == one["task_id"]]
    assert (now["status"], now["stop_reason"]) == ("killed", "not needed")
    assert not runs(one["pid"])
    assert len(home.list("--active")) == 1
    assert home.tasks("stop", "--all").status == 0
    assert "not needed" in home.finish(session) and session.returncode == 0
    assert home.list("--active") == []


def test_a_task_that_takes_a_stop_well_was_stopped_too(home: Home) -> None:
    """Its exit code is 0 then, as that of many servers."""
    session = home.run("trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done")
    (task,) = home.list()
    assert home.tasks("stop", task["task_id"], "--reason", "not needed").status == 0
    (now,) = home.list()
    assert (now["status"], now["stop_reason"]) == ("killed", "not needed")
    home.finish(session)


def test_a_task_that_ignores_a_polite_stop_is_killed(home: Home, eventually: Eventually) -> None:
    home.run("trap '' TERM; echo ready; while :; do sleep 60; done")
    (task,) = home.list()
    eventually(lambda: b"ready" in home.tasks("output", task["task_id"]).out)
    assert home.tasks("stop", task["task_id"], "--grace", "0.1").status == 0
    assert home.list()[0]["status"] == "killed"
    assert not runs(task["pid"])


def test_stopping_leaves_other_workspaces_and_ended_tasks_alone(home: Home) -> None:
    other = home.folder / "other"
    other.mkdir()
    home.run("sleep 60", workspace=other)
    home.run("sleep 60")
    assert home.tasks("stop", "--all", "--workspace", ".").status == 0
    (left,) = home.list("--active")
    assert left["workspace"] == str(other)
    (ended,) = [task for task in home.list() if task["status"] == "killed"]
    again = home.tasks("stop", ended["task_id"], "--reason", "another")
    assert again.status == 0 and b"another" not in again.out


def test_a_kept_task_is_seen_and_stopped_without_its_session(home: Home) -> None:
    home.finish(home.run("echo working; exec sleep 60", on_exit="keep"))
    (task,) = home.list()
    assert (task["status"], task["session_alive"], task["kept"]) == ("running", False, True)
    assert home.tasks("stop", task["task_id"]).status == 0
    (stopped,) = home.list()
    assert stopped["status"] == "killed" and stopped["stop_reason"]
    assert home.tasks("output", task["task_id"]).out.startswith(b"working\n")


def test_a_kept_task_that_ends_by_itself_tells_its_exit_code(
    home: Home, eventually: Eventually
) -> None:
    home.finish(home.run("while [ ! -e go ]; do sleep 0.05; done; exit 7", on_exit="keep"))
    (home.workspace / "go").touch()
    eventually(lambda: home.list()[0]["status"] != "running")
    (task,) = home.list()
    assert (task["status"], task["exit_code"]) == ("failed", 7)
    assert home.tasks("attach", task["task_id"]).status == 7


def test_after_a_crash_of_its_session_a_task_is_lost_or_stopped(
    home: Home, eventually: Eventually
) -> None:
    session = home.run("sleep 60", "while [ ! -e go ]; do sleep 0.05; done")
    session.kill()
    session.wait()
    assert {(task["status"], task["session_alive"]) for task in home.list()} == {("running", False)}
    (home.workspace / "go").touch()
    eventually(lambda: len(home.list("--active")) == 1)
    (left,) = home.list("--active")
    assert {task["status"] for task in home.list()} == {"running", "lost"}
    assert home.tasks("stop", left["task_id"]).status == 0
    assert not runs(left["pid"])


@pytest.mark.parametrize(
    ("command", "status"),
    [("exit 0", 0), ("exit 5", 5), ("kill -9 $$", 137), ("sleep 60", 143)],
)
def test_attaching_ends_as_the_task_does(home: Home, command: str, status: int) -> None:
    home.run(f"cat pipe 2>/dev/null; while [ ! -e go ]; do sleep 0.05; done; {command}")
    (task,) = home.list()
    terminal = start(home, "attach", task["task_id"])
    (home.workspace / "go").touch()
    if status == 143:
        assert home.tasks("stop", task["task_id"]).status == 0
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == status
    assert task["task_id"] in terminal.before


def test_ctrl_c_leaves_what_is_followed_running_and_says_so(home: Home) -> None:
    home.run("echo ready; sleep 60")
    (task,) = home.list()
    terminal = start(home, "attach", task["task_id"])
    terminal.expect("ready")
    terminal.sendintr()
    terminal.expect("goes on")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 130
    assert home.list()[0]["status"] == "running" and runs(task["pid"])


def test_a_terminal_sees_a_line_while_it_is_written(home: Home) -> None:
    home.run("printf 'Go on? '; while [ ! -e go ]; do sleep 0.05; done; printf 'yes\\r50%%\\r99%%'")
    (task,) = home.list()
    terminal = start(home, "attach", task["task_id"])
    terminal.expect_exact("Go on? ")
    (home.workspace / "go").touch()
    terminal.expect(pexpect.EOF)
    terminal.close()
    # The last state of the line stays, on a row of its own.
    assert re.search(r"\x1b\[K99%[^\r]*\r\ntoolcrib: ", terminal.before)


@pytest.mark.parametrize("part", ["output", "stop", "attach"])
def test_an_unknown_id_is_one_message_with_near_ones(home: Home, part: str) -> None:
    assert "no session" in home.tasks(part, "bash-12345678").err
    home.finish(home.run("true"))
    task_id = home.list()[0]["task_id"]
    for typed in (task_id[:-1] + "~", task_id[-4:], task_id[:7]):
        refused = home.tasks(part, typed)
        assert (refused.status, refused.out) == (2, b"")
        assert task_id in refused.err and refused.err.count("\n") == 1
    assert home.tasks(part, "../../etc").status == 2


@pytest.mark.parametrize(
    "arguments", [["stop"], ["stop", "x", "--all"], ["stop", "x", "--workspace", "."]]
)
def test_nothing_is_stopped_by_mistake(home: Home, arguments: list[str]) -> None:
    refused = home.tasks(*arguments)
    assert refused.status == 2 and refused.err.count("\n") == 1


@pytest.mark.parametrize("part", ["", "list", "output", "stop", "attach"])
def test_every_part_explains_itself_with_examples(home: Home, part: str) -> None:
    helped = home.tasks(*part.split(), "-h")
    assert (helped.status, helped.err) == (0, "")
    assert re.search(rf"Examples:\s+toolcrib tasks {part}", helped.out.decode())


def test_ids_are_completed_those_that_run_for_a_stop(home: Home) -> None:
    home.finish(home.run("true"))
    home.run("sleep 60")
    running, ended = (task["task_id"] for task in home.list())

    def completed(part: str) -> set[str]:
        done = subprocess.run(
            ["toolcrib"],
            env={
                **home.environ,
                "_TOOLCRIB_COMPLETE": "bash_complete",
                "COMP_WORDS": f"toolcrib tasks {part} ba",
                "COMP_CWORD": "3",
            },
            cwd=home.workspace,
            capture_output=True,
            text=True,
        )
        assert done.stderr == ""
        return {line.partition(",")[2] for line in done.stdout.split()}

    assert completed("output") == completed("attach") == {running, ended}
    assert completed("stop") == {running}
