"""What becomes of background tasks and of orphans at the end of `run` and `call`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import psutil
import pytest

if TYPE_CHECKING:
    from core.cli.conftest import Cli

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX")

STUBBORN = "trap '' TERM INT; echo $$ > pid; while :; do sleep 1; done"


def background(command: str, description: str = "a task") -> dict[str, Any]:
    arguments = {"command": command, "description": description, "run_in_background": True}
    return {"id": "1", "name": "Bash", "arguments": arguments}


def foreground(command: str) -> dict[str, Any]:
    return {"id": "2", "name": "Bash", "arguments": {"command": command}}


def read_until(stream: IO[str], words: str) -> None:
    """Read lines up to one with the words."""
    for line in stream:
        if words in line:
            return
    raise AssertionError(f"no line has {words!r}")


@pytest.fixture
def pid_file(cli: Cli) -> Path:
    return cli.workspace / "pid"


@pytest.fixture
def written_pid(pid_file: Path) -> Callable[[], int]:
    """Wait for the process id that a command writes to the file `pid`."""

    def wait() -> int:
        while not (pid_file.exists() and (text := pid_file.read_text()).endswith("\n")):
            time.sleep(0.01)
        return int(text)

    return wait


@pytest.fixture
def start(cli: Cli) -> Iterator[Callable[..., Any]]:
    """Start `toolcrib run` with batches of calls."""

    @contextmanager
    def start(*options: str, batches: list[list[dict[str, Any]]]) -> Iterator[Any]:
        (cli.workspace / "calls.json").write_text(json.dumps({"batches": batches}))
        command = [cli.program, "run", "calls.json", "--json", "--mode", "yolo", *options]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, stdout=pipe, stderr=pipe, cwd=cli.workspace, env=cli.environ, text=True
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    yield start


@pytest.fixture
def run(cli: Cli) -> Callable[..., Any]:
    """Run `toolcrib run` with one batch."""

    def run(*options: str, calls: list[dict[str, Any]]) -> Any:
        given = json.dumps({"batches": [calls]})
        return cli("run", "-", "--json", "--mode", "yolo", *options, given=given)

    return run


def test_what_runs_in_the_background_is_stopped_and_named_by_default(
    run: Callable[..., Any], pid_file: Path, written_pid: Callable[[], int]
) -> None:
    ran = run(calls=[background("echo $$ > pid; exec sleep 60", "a server")])
    assert ran.status == 0 and len(ran.records) == 1
    assert "a server" in ran.err and "stopp" in ran.err
    assert "--on-exit keep" in ran.err
    assert "--on-exit" not in run("--on-exit", "stop", calls=[background("sleep 60")]).err
    assert not psutil.pid_exists(written_pid())


def test_wait_waits_and_tells_what_for_and_how_each_ended(run: Callable[..., Any]) -> None:
    calls = [background("sleep 0.5; echo x", "building"), background("exit 3", "testing")]
    ran = run("--on-exit", "wait", calls=calls)
    assert ran.status == 0
    assert "waiting for" in ran.err and "building" in ran.err
    (built,) = [line for line in ran.err.splitlines() if "building" in line and "after" in line]
    assert "completed" in built
    assert any("testing" in line and "exit code 3" in line for line in ran.err.splitlines())


def test_with_events_the_ends_are_events_and_nothing_else_is_written(
    run: Callable[..., Any],
) -> None:
    ran = run("--on-exit", "wait", "--events", calls=[background("sleep 0.3")])
    events = [json.loads(line) for line in ran.err.splitlines()]
    (ended,) = [event for event in events if event["type"] == "task.ended"]
    assert ended["task"]["status"] == "completed"


def test_kept_tasks_go_on_and_people_are_told_how_to_stop_them(
    cli: Cli,
    run: Callable[..., Any],
    written_pid: Callable[[], int],
    wait_for_end: Callable[[int], None],
) -> None:
    ran = run("--on-exit", "keep", calls=[background("echo $$ > pid; exec sleep 60", "a server")])
    assert ran.status == 0 and "toolcrib tasks stop" in ran.err
    pid = written_pid()
    assert psutil.pid_exists(pid)
    (task,) = cli("tasks", "list", "--json", "--active").json
    assert (task["description"], task["session_alive"]) == ("a server", False)
    stopped = cli("tasks", "stop", task["task_id"])
    assert stopped.status == 0
    wait_for_end(pid)


def test_the_configuration_can_keep_tasks_and_the_option_decides(
    cli: Cli, run: Callable[..., Any]
) -> None:
    cli.configure("[task]\nkeep_alive_on_exit = true\n")
    run(calls=[background("sleep 60", "kept")])
    run("--on-exit", "stop", calls=[background("sleep 60", "stopped")])
    (left,) = cli("tasks", "list", "--json", "--active").json
    assert left["description"] == "kept"
    cli("tasks", "stop", "--all")


def test_a_call_that_was_moved_to_the_background_is_not_kept(
    cli: Cli, run: Callable[..., Any], written_pid: Callable[[], int]
) -> None:
    moved = foreground("echo $$ > pid; exec sleep 60")
    moved["arguments"]["timeout"] = 1
    ran = run("--on-exit", "keep", calls=[moved])
    assert not ran.records[0]["is_error"]
    assert not psutil.pid_exists(written_pid())
    assert "stopped" in ran.err and cli("tasks", "list", "--json", "--active").json == []


def test_what_an_earlier_session_left_running_is_not_waited_for(
    cli: Cli, run: Callable[..., Any]
) -> None:
    run("--on-exit", "keep", calls=[background("sleep 60", "kept")])
    ran = run("--on-exit", "wait", calls=[background("true", "short")])
    assert ran.status == 0 and "kept" not in ran.err
    assert len(cli("tasks", "list", "--json", "--active").json) == 1
    cli("tasks", "stop", "--all")


def test_an_end_that_nobody_took_is_told_once(cli: Cli, run: Callable[..., Any]) -> None:
    ran = run(calls=[background("exit 4", "testing"), foreground("sleep 0.5")])
    assert "testing" in ran.err and "exit code 4" in ran.err
    assert "testing" not in run(calls=[foreground("true")]).err


def test_a_single_call_is_no_different(cli: Cli, written_pid: Callable[[], int]) -> None:
    command = background("echo $$ > pid; exec sleep 60", "a server")["arguments"]
    ran = cli("call", "Bash", json.dumps(command), "--mode", "yolo")
    assert ran.status == 0 and "a server" in ran.err
    assert not psutil.pid_exists(written_pid())


def test_at_a_terminal_ctrl_c_ends_the_waiting(cli: Cli, written_pid: Callable[[], int]) -> None:
    pexpect = pytest.importorskip("pexpect")
    task = background("echo $$ > pid; exec sleep 60", "a server")
    (cli.workspace / "calls.json").write_text(json.dumps(task))
    shown = pexpect.spawn(
        cli.program,
        ["run", "calls.json", "--mode", "yolo", "--on-exit", "wait"],
        cwd=str(cli.workspace),
        env=cli.environ,
        dimensions=(40, 60),
        encoding="utf-8",
        timeout=30,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    shown.expect("waiting for .* 0 s|waiting for")
    shown.expect("\r\x1b\\[Kwaiting for")
    pid = written_pid()
    shown.sendintr()
    shown.expect("interrupted")
    shown.expect("by the user")
    shown.expect(pexpect.EOF)
    shown.close()
    assert shown.exitstatus == 130
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_waiting_stops_the_tasks_politely(
    cli: Cli, start: Callable[..., Any], written_pid: Callable[[], int], number: signal.Signals
) -> None:
    task = background("trap 'echo bye; exit 0' TERM; echo $$ > pid; while :; do sleep 0.1; done")
    with start("--on-exit", "wait", batches=[[task]]) as process:
        read_until(process.stderr, "waiting for")
        pid = written_pid()
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert len(out.splitlines()) == 1 and "stopp" in err
    assert not psutil.pid_exists(pid)
    (stored,) = cli("tasks", "list", "--json").json
    assert stored["status"] == "killed" and stored["exit_code"] == 0
    assert cli("tasks", "output", stored["task_id"]).out.endswith("bye\n")


def test_a_second_ctrl_c_does_not_wait_for_what_does_not_end(
    cli: Cli, start: Callable[..., Any], written_pid: Callable[[], int]
) -> None:
    cli.configure("[task]\nkill_grace_period_s = 1000\n")
    with start("--on-exit", "wait", batches=[[background(STUBBORN)]]) as process:
        read_until(process.stderr, "waiting for")
        pid = written_pid()
        process.send_signal(signal.SIGINT)
        read_until(process.stderr, "interrupted")
        assert psutil.pid_exists(pid)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130
    assert not psutil.pid_exists(pid)
    (stored,) = cli("tasks", "list", "--json").json
    assert stored["status"] == "killed"
    assert stored["exit_code"] in (137, None)


@pytest.mark.parametrize(
    "numbers",
    [[signal.SIGQUIT], [signal.SIGTERM, signal.SIGQUIT], [signal.SIGTERM, signal.SIGINT]],
    ids=["at once", "after another", "together"],
)
def test_what_is_killed_at_once_was_stopped_and_did_not_fail(
    cli: Cli, start: Callable[..., Any], written_pid: Callable[[], int], numbers: list[int]
) -> None:
    cli.configure("[task]\nkill_grace_period_s = 1000\n")
    with start(batches=[[background(STUBBORN)], [foreground("sleep 60")]]) as process:
        pid = written_pid()
        assert process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        for number in numbers:
            process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        out, _ = process.communicate(timeout=30)
    # Signals that come together have no order.
    assert process.returncode in [128 + number for number in numbers]
    assert len(out.splitlines()) == 1
    assert not psutil.pid_exists(pid)
    (stored,) = cli("tasks", "list", "--json").json
    assert (stored["status"], stored["exit_code"]) == ("killed", 137)


def test_a_signal_during_a_batch_stops_background_tasks_too(
    start: Callable[..., Any], written_pid: Callable[[], int]
) -> None:
    calls = [background("echo $$ > pid; exec sleep 60"), foreground("sleep 60")]
    with start("--on-exit", "wait", batches=[calls]) as process:
        pid = written_pid()
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 143
    assert len(out.splitlines()) == 2
    assert not psutil.pid_exists(pid)


STUCK = """
import asyncio, time, toolcrib

@toolcrib.tool(accesses=toolcrib.Accesses.none())
async def Stuck() -> str:
    "Do not end."
    open("pid", "w").write("1\\n")
    await asyncio.to_thread(time.sleep, 600)
    return ""

@toolcrib.hookimpl
def contribute_tool():
    return toolcrib.ToolContribution(name="Stuck", factory=Stuck)
"""


@pytest.mark.parametrize("times", [1, 2])
def test_a_thread_that_does_not_end_keeps_nobody_waiting(
    start: Callable[..., Any],
    install: Callable[[str, str], None],
    written_pid: Callable[[], int],
    times: int,
) -> None:
    install("stuck", STUCK)
    with start(batches=[[{"id": "1", "name": "Stuck", "arguments": {}}]]) as process:
        written_pid()
        for _ in range(times):
            process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert json.loads(out)["outcome"] == "aborted"


def test_a_hangup_is_ignored_under_nohup(cli: Cli, written_pid: Callable[[], int]) -> None:
    calls = json.dumps(foreground("echo $$ > pid; sleep 1; echo done"))
    (cli.workspace / "calls.json").write_text(calls)
    command = f"nohup {cli.program} run calls.json --json --mode yolo"
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=cli.workspace,
        env=cli.environ,
        text=True,
    ) as process:
        written_pid()
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert json.loads(out)["output"].rstrip().endswith("done")


DAEMON = "env -i {setsid} bash -c '({setsid} bash -c \"echo \\$\\$ > pid; exec sleep 60\" &) &'"


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
@pytest.mark.parametrize("runs", [foreground, background])
def test_daemons_without_a_trace_do_not_survive(
    run: Callable[..., Any],
    written_pid: Callable[[], int],
    wait_for_end: Callable[[int], None],
    runs: Callable[[str], dict[str, Any]],
) -> None:
    daemon = DAEMON.format(setsid="/usr/bin/setsid")
    ran = run(calls=[runs(f"{daemon}; while [ ! -s pid ]; do sleep 0.01; done; sleep 0.2")])
    assert ran.status == 0
    wait_for_end(written_pid())


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
def test_kept_tasks_survive_the_search_for_daemons(
    cli: Cli,
    run: Callable[..., Any],
    written_pid: Callable[[], int],
    wait_for_end: Callable[[int], None],
) -> None:
    kept = background("echo $$ > kept; sleep 60 & wait", "kept")
    daemon = foreground(
        DAEMON.format(setsid="/usr/bin/setsid") + "; while [ ! -s pid ]; do sleep 0.01; done"
    )
    ran = run("--on-exit", "keep", calls=[kept, daemon])
    assert ran.status == 0
    daemon_pid, kept_pid = written_pid(), int((cli.workspace / "kept").read_text())
    try:
        assert not psutil.pid_exists(daemon_pid)
        assert len(psutil.Process(kept_pid).children()) == 1
    finally:
        cli("tasks", "stop", "--all")
    wait_for_end(kept_pid)


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
def test_children_that_a_shell_had_before_it_became_toolcrib_live_on(cli: Cli) -> None:
    script = f'sleep 60 & echo $!; exec {cli.program} call Read \'{{"path": "a.txt"}}\''
    pid = int(cli.shell(f"({script}) 2>&1 < /dev/null | head -1").out)
    try:
        assert psutil.Process(pid).name() == "sleep"
    finally:
        os.kill(pid, signal.SIGKILL)
