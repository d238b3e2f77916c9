"""`toolcrib run` and `toolcrib call`: results, their order, and what else is printed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from core.cli.conftest import Cli

FIELDS = ["id", "name", "outcome", "is_error", "output", "truncated", "note", "duration_ms"]


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "arguments": arguments}


def bash(id: str, command: str) -> dict[str, Any]:
    return call(id, "Bash", command=command)


def test_each_call_has_one_line_of_the_frozen_shape(cli: Cli) -> None:
    calls = [call("1", "Read", path="a.txt"), call("2", "Read", path="b"), call("3", "Nope")]
    ran = cli("run", "-", "--json", given=json.dumps({"batches": [calls]}))
    assert ran.status == 0
    assert sorted(record["id"] for record in ran.records) == ["1", "2", "3"]
    for record in ran.records:
        assert list(record) == FIELDS
    by_id = {record["id"]: record for record in ran.records}
    assert by_id["1"]["output"].endswith("hello") and not by_id["1"]["is_error"]
    assert by_id["2"]["is_error"] and by_id["2"]["outcome"] == "executed"
    assert by_id["3"]["outcome"] == "preflight-rejected"


def test_calls_of_one_id_have_a_result_each(cli: Cli) -> None:
    ran = cli("run", "-", given=json.dumps([call("1", "Read", path="a.txt")] * 3))
    assert ran.out.count("[1] Read") == 3


def test_lines_come_as_calls_finish_and_not_at_the_end(cli: Cli) -> None:
    fast, slow = call("fast", "Read", path="a.txt"), bash("slow", "cat pipe")
    os.mkfifo(cli.workspace / "pipe")
    text = json.dumps({"batches": [[fast], [slow]]})
    command = [cli.program, "run", "-", "--json", "--mode", "yolo"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, cwd=cli.workspace, env=cli.environ, text=True
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(text)
        process.stdin.close()
        assert json.loads(process.stdout.readline())["id"] == "fast"
        assert process.poll() is None
        (cli.workspace / "pipe").write_text("opened\n")
        assert json.loads(process.stdout.readline())["output"].startswith("opened")
    assert process.returncode == 0


def test_a_short_batch_prints_nothing_but_results(cli: Cli) -> None:
    ran = cli("run", "-", "--json", given=json.dumps(call("1", "Read", path="a.txt")))
    assert ran.err == ""


def test_a_long_batch_tells_on_standard_error_how_far_it_is(cli: Cli) -> None:
    ran = cli("run", "-", "--json", "--mode", "yolo", given=json.dumps(bash("1", "sleep 1.5")))
    assert len(ran.records) == 1
    assert "0 of 1" in ran.err


def test_events_are_json_lines_on_standard_error_and_nothing_else_is(cli: Cli) -> None:
    given = json.dumps(bash("1", "echo x; sleep 1.3"))
    ran = cli("run", "-", "--json", "--events", "--mode", "yolo", given=given)
    events = [json.loads(line) for line in ran.err.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["permission.decided", "tool.call.started"] and kinds[-1] == "tool.result"
    assert len(ran.records) == 1


def test_empty_batches_are_no_error(cli: Cli) -> None:
    for text in ('{"batches": []}', "[]", "[[]]"):
        ran = cli("run", "-", "--json", given=text)
        assert (ran.status, ran.out, ran.err) == (0, "", "")


def test_text_that_is_no_utf_8_goes_in_and_out(cli: Cli) -> None:
    (cli.workspace / os.fsdecode(b"\xff.txt")).write_text("odd\n")
    given = b'{"name": "Read", "arguments": {"path": "\xff.txt"}}'
    assert cli("run", "-", "--json", given=given).records[0]["output"].endswith("odd")
    assert "odd" in cli("run", "-", given=given, env={"LANG": "C", "LC_ALL": "C"}).out


def test_ten_thousand_calls_have_ten_thousand_results(cli: Cli) -> None:
    text = "\n".join(
        json.dumps([call(str(n), "Nope") for n in range(k, k + 100)]) for k in range(0, 10_000, 100)
    )
    ran = cli("run", "-", "--json", given=text)
    assert {record["id"] for record in ran.records} == {str(n) for n in range(10_000)}


def test_without_a_terminal_what_needs_approval_is_denied_with_the_rule(cli: Cli) -> None:
    for feed in ("</dev/null", "<&-", "< <(yes y)"):
        ran = cli.shell(f"""toolcrib call Bash '{{"command": "touch ran"}}' {feed}""")
        assert ran.status == 1
        assert "Bash(touch ran)" in ran.out
    assert not (cli.workspace / "ran").exists()


def test_call_prints_what_a_model_reads_and_ends_with_1_on_an_error(cli: Cli) -> None:
    done = cli("call", "Read", '{"path": "a.txt"}')
    assert (done.status, done.out) == (0, "1\thello\n")
    assert cli("call", "Read", "-", given='{"path": "a.txt"}').out == done.out
    assert cli("call", "Read", '{"path": "b.txt"}').status == 1


@pytest.mark.parametrize(
    ("number", "status", "times"),
    [
        (signal.SIGINT, 130, 1),
        (signal.SIGINT, 130, 2),
        (signal.SIGTERM, 143, 1),
        (signal.SIGHUP, 129, 1),
        (signal.SIGQUIT, 131, 1),
    ],
)
def test_after_an_interrupt_every_call_has_a_result(
    cli: Cli,
    wait_for_end: Callable[[int], None],
    number: signal.Signals,
    status: int,
    times: int,
) -> None:
    first = [bash("1", "echo $$ > pid; exec sleep 60"), call("2", "Read", path="a.txt")]
    batches = {"batches": [first, [call("3", "Read", path="a.txt")]]}
    (cli.workspace / "calls.json").write_text(json.dumps(batches))
    command = [cli.program, "run", "calls.json", "--json", "--mode", "yolo"]
    os.mkfifo(cli.workspace / "pid")
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cli.workspace,
        env=cli.environ,
        text=True,
    ) as process:
        sleeper = int((cli.workspace / "pid").read_text())
        for _ in range(times):
            process.send_signal(number)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == status
    assert sorted(json.loads(line)["id"] for line in out.splitlines()) == ["1", "2", "3"]
    wait_for_end(sleeper)


def test_a_transcript_cannot_move_the_cursor(cli: Cli) -> None:
    evil = {"id": "\x1b[2J", "name": "\x1b[31mEvil", "arguments": {"\r": "\x07"}}
    shown = cli("run", "-", given=json.dumps(evil)).out
    assert shown.replace("\n", "").isprintable()
