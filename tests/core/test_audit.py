"""Every decision is a line in the audit file, and the file never stops a call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from toolcrib.audit import AuditLog
from toolcrib.contract.events import (
    ApprovalRequested,
    ApprovalResolved,
    PermissionDecided,
    PluginProblem,
)


def decided(call_id: str = "1", **changes: Any) -> PermissionDecided:
    values: dict[str, Any] = {
        "agent": "main",
        "turn_id": "t1",
        "call_id": call_id,
        "name": "Bash",
        "mode": "manual",
        "decision": "deny",
        "policy": "user-configured-deny",
        "rule": "Bash(rm *)",
        "source": "/home/u/toolcrib.toml:3",
        "reason": "never",
        "arguments": {"command": "rm -rf build"},
    }
    return PermissionDecided(**{**values, **changes})


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("ascii").splitlines()]


def test_a_decision_is_written_with_its_rule_and_place(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl", session="s1")
    log.take(decided())
    log.close()
    (line,) = lines(log.path)
    written = datetime.fromisoformat(line.pop("time"))
    assert abs(datetime.now(UTC) - written) < timedelta(minutes=5)
    assert line == {
        "session": "s1",
        "event": "permission.decided",
        "agent": "main",
        "turn": "t1",
        "call": "1",
        "tool": "Bash",
        "mode": "manual",
        "decision": "deny",
        "policy": "user-configured-deny",
        "rule": "Bash(rm *)",
        "source": "/home/u/toolcrib.toml:3",
        "reason": "never",
        "arguments": {"command": "rm -rf build"},
    }


def test_the_time_is_utc_in_milliseconds(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    log.take(decided())
    log.close()
    time = lines(log.path)[0]["time"]
    assert time.endswith("Z") and len(time) == len("2026-01-02T03:04:05.678Z")


def test_a_question_and_its_answer_are_written(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl", session="s1")
    common: dict[str, Any] = {"agent": "sub-1", "turn_id": None, "call_id": "7", "name": "Write"}
    log.take(ApprovalRequested(**common, request_id="approval_x", policy="fallback-ask"))
    log.take(
        ApprovalResolved(
            **common,
            request_id="approval_x",
            decision="rejected",
            scope="once",
            by="terminal",
            cause=None,
            has_feedback=True,
            remembered=(),
            duration_ms=12.5,
        )
    )
    log.close()
    asked, answered = lines(log.path)
    assert (asked["event"], asked["policy"]) == ("permission.approval.requested", "fallback-ask")
    assert answered["event"] == "permission.approval.resolved"
    assert (answered["answer"], answered["by"], answered["feedback"]) == (
        "rejected",
        "terminal",
        True,
    )
    assert asked["request"] == answered["request"]
    assert asked["agent"] == answered["agent"] == "sub-1"


def test_other_events_are_not_written(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "deep" / "audit.jsonl")
    log.take(PluginProblem(plugin="p", stage="s", message="m"))
    assert list(tmp_path.iterdir()) == []


def test_secrets_are_not_written(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    log.take(
        decided(
            rule="Bash(API_KEY=hunter2 deploy)",
            reason="the command 'PASSWORD=hunter2 deploy' is new",
            arguments={"password": "hunter2", "env": [{"x": "token: hunter2"}]},
        )
    )
    log.close()
    assert "hunter2" not in log.path.read_text()


def test_long_arguments_are_cut(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    log.take(decided(arguments={"path": "a", "content": "x" * 1_000_000}))
    log.close()
    assert log.path.stat().st_size < 2_000
    assert "1000000" in lines(log.path)[0]["arguments"]["content"]


def test_any_text_is_one_line(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    command = "a\nb\r\u2028\ud800\x00é"
    log.take(decided(arguments={"command": command, "odd": {1, 2}}))
    log.close()
    (line,) = lines(log.path)
    assert line["arguments"]["command"] == command


def test_the_file_is_for_the_user_alone_and_grows(tmp_path: Path) -> None:
    file = tmp_path / "new" / "audit.jsonl"
    for call_id in ("1", "2"):
        log = AuditLog(file)
        log.take(decided(call_id))
        log.close()
    assert [line["call"] for line in lines(file)] == ["1", "2"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_a_closed_log_opens_again(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    log.take(decided("1"))
    log.close()
    log.close()
    log.take(decided("2"))
    log.close()
    assert len(lines(log.path)) == 2


@pytest.mark.parametrize("trouble", ["full disk", "no folder", "a folder", "a pipe without reader"])
def test_a_file_that_cannot_be_written_is_reported_once(trouble: str, tmp_path: Path) -> None:
    said: list[str] = []
    path = tmp_path / "audit.jsonl"
    if trouble == "full disk":
        path = Path("/dev/full")
    elif trouble == "no folder":
        path.write_text("")
        path = path / "audit.jsonl"
    elif trouble == "a folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    log = AuditLog(path, report=said.append)
    log.take(decided("1"))
    log.take(decided("2"))
    log.close()
    assert len(said) == 1 and str(path) in said[0]


def test_a_file_that_can_be_written_again_is(tmp_path: Path) -> None:
    said: list[str] = []
    path = tmp_path / "audit.jsonl"
    path.mkdir()
    log = AuditLog(path, report=said.append)
    log.take(decided("1"))
    path.rmdir()
    log.take(decided("2"))
    log.close()
    assert [line["call"] for line in lines(path)] == ["2"]


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    """As when the disk was full in the middle of it, and later was not."""
    code = """
        import resource, signal, sys
        from toolcrib.audit import AuditLog
        from toolcrib.contract.events import PermissionDecided
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        log = AuditLog(sys.argv[1], report=lambda text: None)
        for limit, call in ((40, "1"), (resource.RLIM_INFINITY, "2")):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            log.take(PermissionDecided(agent="main", turn_id=None, call_id=call, name="Bash",
                                       mode="manual", decision="allow", policy="p"))
    """
    file = tmp_path / "audit.jsonl"
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(file)], check=True, timeout=60)
    *_, last = file.read_text().splitlines()
    assert json.loads(last)["call"] == "2"


def test_two_processes_share_a_file(tmp_path: Path) -> None:
    code = """
        import sys
        from toolcrib.audit import AuditLog
        from toolcrib.contract.events import PermissionDecided
        log = AuditLog(sys.argv[1], session=sys.argv[2])
        for number in range(300):
            log.take(PermissionDecided(agent="main", turn_id=None, call_id=str(number), name="Bash",
                                       mode="manual", decision="allow", policy="p",
                                       arguments={"command": "x" * 400}))
    """
    file = tmp_path / "audit.jsonl"
    command = [sys.executable, "-c", textwrap.dedent(code), str(file)]
    running = [subprocess.Popen([*command, name]) for name in ("one", "two")]
    assert [process.wait(60) for process in running] == [0, 0]
    found = lines(file)
    for name in ("one", "two"):
        calls = [line["call"] for line in found if line["session"] == name]
        assert calls == [str(number) for number in range(300)]
