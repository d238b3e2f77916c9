"""Hooks that hear of calls and approvals: what they are told, and that nobody waits for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.contract.interaction import Answer, ApprovalAnswer, Request
from toolcrib.testing import ToolHarness
from toolcrib_features.command_hooks import session_hooks

Open = Callable[..., ToolHarness]


def hear(event: str, command: str = "", matcher: str = "") -> dict[str, Any]:
    """A hook that appends what it is given to a file named like its event."""
    return {"event": event, "command": command or f"cat >> {event}.jsonl", "matcher": matcher}


def heard(workspace: Path, event: str) -> list[dict[str, Any]]:
    file = workspace / f"{event}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


async def approve(request: Request) -> Answer:
    return ApprovalAnswer(decision="approved", by="test")


async def test_calls_are_told_of_by_how_they_ended(open_crib: Open, workspace: Path) -> None:
    crib = open_crib(
        hear("PostToolUse"), hear("PostToolUseFailure"), permission={"deny": ["Write"]}
    )
    await crib.call("Bash", command="printf '%05000d' 7")
    await crib.call("Bash", command="echo broken; exit 3")
    await crib.call("Write", path="a", content="")
    await crib.call("Nonsense")
    await crib.call("Read", path="missing")
    await crib.aclose()
    (good,) = heard(workspace, "PostToolUse")
    assert good["tool_input"] == {"command": "printf '%05000d' 7"}
    assert good["tool_output"] == "0" * 2000
    bash, read = sorted(heard(workspace, "PostToolUseFailure"), key=lambda told: told["tool_name"])
    assert (bash["tool_name"], bash["error"]["kind"]) == ("Bash", "executed")
    assert "broken" in bash["error"]["message"]
    assert read["tool_name"] == "Read"
    assert {"session_id", "cwd", "agent_id", "turn_id", "tool_call_id"} <= read.keys()


async def test_a_result_does_not_wait_for_them(open_crib: Open, workspace: Path) -> None:
    """The hook ends only after the next call, which comes after the result."""
    crib = open_crib(
        hear("PostToolUse", "until [ -e next ]; do sleep 0.01; done; touch told", "Glob")
    )
    assert (await crib.call("Glob", pattern="*")).outcome == "executed"
    assert not (workspace / "told").exists()
    await crib.call("Bash", command="touch next")
    await crib.aclose()
    assert (workspace / "told").exists()


async def test_the_end_of_a_session_waits_so_long_and_no_longer(
    open_crib: Open,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    gone: Callable[[int], bool],
) -> None:
    monkeypatch.setattr(session_hooks, "CLOSE_S", 0.5)
    crib = open_crib(hear("PostToolUse", "echo $$ > pid; sleep 60"))
    await crib.call("Glob", pattern="*")
    while not (workspace / "pid").exists() or not (workspace / "pid").read_text():
        await asyncio.sleep(0.01)
    await crib.aclose()
    assert gone(int((workspace / "pid").read_text()))


async def test_they_cannot_crowd_the_machine(open_crib: Open, workspace: Path) -> None:
    """Only so many run at a time, and all get their turn."""
    script = "mkdir -p now; touch now/$$; ls now | wc -l >> most; sleep 0.05; rm now/$$"
    crib = open_crib(hear("PostToolUse", script))
    await crib.batch(*[("Glob", {"pattern": "*.py"})] * 30)
    await crib.aclose()
    counts = [int(line) for line in (workspace / "most").read_text().split()]
    assert len(counts) == 30
    assert max(counts) <= session_hooks.MAX_RUNNING


async def test_what_goes_wrong_with_them_is_reported_and_changes_nothing(
    open_crib: Open, workspace: Path
) -> None:
    problems: list[str] = []
    crib = open_crib(hear("PostToolUse", "exit 2"), hear("PostToolUse", "./missing"))
    crib.session.subscribe(lambda event: problems.append(getattr(event, "message", "")))
    done = await crib.call("Bash", command="echo fine")
    await crib.aclose()
    assert done.outcome == "executed" and "fine" in str(done.result.output)
    assert any("exit code 2" in problem for problem in problems)
    assert any("exit code 127" in problem for problem in problems)


async def test_approvals_are_told_of(open_crib: Open, workspace: Path) -> None:
    crib = open_crib(
        hear("PermissionRequest", matcher="Bash"),
        hear("PermissionResult"),
        mode="manual",
        interact=approve,
    )
    await crib.call("Bash", command="touch a --password hunter2")
    await crib.call("Glob", pattern="*")
    await crib.call("Write", path="new.txt", content="x")
    await crib.aclose()
    (asked,) = heard(workspace, "PermissionRequest")
    assert (asked["tool_name"], asked["policy"]) == ("Bash", "fallback-ask")
    assert "hunter2" not in json.dumps(asked)
    first, second = sorted(heard(workspace, "PermissionResult"), key=lambda told: told["tool_name"])
    assert (first["tool_name"], second["tool_name"]) == ("Bash", "Write")
    assert first["request_id"] == asked["request_id"]
    assert (first["decision"], first["by"]) == ("approved", "test")


async def test_only_who_hears_of_approvals_has_the_session_announce_them(open_crib: Open) -> None:
    crib = open_crib(hear("PostToolUse"))
    await crib.call("Glob", pattern="*")
    assert not crib.session.observed
    crib = open_crib(hear("PermissionResult"))
    await crib.call("Glob", pattern="*")
    assert crib.session.observed


async def test_an_interrupted_call_is_told_of_as_a_failure(
    open_crib: Open, workspace: Path
) -> None:
    crib = open_crib(hear("PostToolUseFailure"))
    running = asyncio.Event()

    @toolcrib.tool
    async def Wait() -> str:
        """Waits."""
        running.set()
        await asyncio.sleep(60)
        return "never"

    class Plugin:
        @toolcrib.hookimpl
        def contribute_tool(self) -> toolcrib.ToolContribution:
            return toolcrib.ToolContribution(name="Wait", factory=Wait)

    crib.session.crib.plugins.register(Plugin())
    calling = asyncio.create_task(crib.call("Wait"))
    await running.wait()
    crib.session.cancel(by_user=True)
    assert (await calling).outcome == "aborted"
    await crib.aclose()
    (told,) = heard(workspace, "PostToolUseFailure")
    assert (told["tool_name"], told["error"]["kind"]) == ("Wait", "aborted")
