"""A hook that does not work denies the call, whatever is wrong with it and whoever calls."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from toolcrib.testing import ToolHarness

FAULTS = {
    "missing file": ("./missing.sh", "exit code 127"),
    "not executable": ("./plain.sh", "exit code 126"),
    "exit code 1": ("echo broken >&2; exit 1", "exit code 1: broken"),
    "timeout": ("sleep 60", "timed out after 1 s"),
    "invalid JSON": ("echo '{\"hookSpecificOutput\": '", "JSON"),
    "huge output": ("head -c 200000 /dev/zero | tr '\\0' x", "65536 bytes"),
    "endless output": ("yes", "65536 bytes"),
    "killed": ("kill -9 $$", "SIGKILL"),
    "unknown decision": (
        'echo \'{"hookSpecificOutput": {"permissionDecision": "maybe"}}\'',
        "maybe",
    ),
    "changed arguments": (
        'echo \'{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {}}}\'',
        "updatedInput",
    ),
    "an answer of another kind": ('echo \'{"decision": "block"}\'', "permissionDecision"),
    "no object": ("echo '{\"hookSpecificOutput\": [1]}'", "hookSpecificOutput"),
    "deep JSON": ("head -c 60000 /dev/zero | tr '\\0' '[' | sed 's/^/{\"a\":/'", "JSON"),
}
MARK = {"command": "touch marker"}


@frozen
class Refused:
    """What came back of a call, and what the audit file says of it."""

    outcome: str
    text: str
    audit: list[dict[str, Any]]


Enter = Callable[[str], Awaitable[Refused]]


@pytest.fixture
def place(workspace: Path, tmp_path: Path) -> dict[str, str]:
    """A workspace with a script that cannot be executed, and the variables of a program in it."""
    (workspace / "plain.sh").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "config" / "toolcrib").mkdir(parents=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "TOOLCRIB_STATE": str(tmp_path / "state"),
        "LANG": "C.UTF-8",
    }


def configure(tmp_path: Path, command: str, more: str = "") -> Path:
    file = tmp_path / "config" / "toolcrib" / "toolcrib.toml"
    file.write_text(
        f'[permission]\naudit_file = "{tmp_path}/audit.jsonl"\n\n'
        f'[[hooks]]\nevent = "PreToolUse"\ntimeout = 1\ncommand = {json.dumps(command)}\n{more}'
    )
    return file


def audit(tmp_path: Path) -> list[dict[str, Any]]:
    lines = (tmp_path / "audit.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(params=["session.execute", "toolcrib run", "toolcrib call"])
def enter(
    request: pytest.FixtureRequest,
    place: dict[str, str],
    workspace: Path,
    tmp_path: Path,
    toolcrib: Callable[..., subprocess.CompletedProcess[bytes]],
) -> Enter:
    """Make the call with the marker, in one of the ways in which calls come."""

    async def by_session(command: str) -> Refused:
        configure(tmp_path, command)
        async with ToolHarness(workspace, home=tmp_path, environ=place) as crib:
            done = await crib.call("Bash", MARK)
        return Refused(done.outcome, str(done.result.output), audit(tmp_path))

    async def by_program(command: str) -> Refused:
        configure(tmp_path, command)
        if request.param == "toolcrib run":
            arguments, given = (
                ["run", "-", "--json"],
                json.dumps({"name": "Bash", "arguments": MARK}),
            )
        else:
            arguments, given = ["call", "Bash", json.dumps(MARK)], ""
        done = toolcrib(
            *arguments, "--mode", "yolo", given=given.encode(), cwd=workspace, env=place
        )
        if request.param == "toolcrib run":
            record = json.loads(done.stdout)
            return Refused(record["outcome"], record["output"], audit(tmp_path))
        assert done.returncode == 1
        return Refused("vetoed", done.stdout.decode(), audit(tmp_path))

    return by_session if request.param == "session.execute" else by_program


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_faulty_hook_denies_the_call_and_says_why(
    enter: Enter, workspace: Path, tmp_path: Path, fault: str
) -> None:
    command, named = FAULTS[fault]
    refused = await enter(command)
    assert not (workspace / "marker").exists()
    assert refused.outcome == "vetoed"
    assert named in refused.text
    assert "toolcrib.toml:4" in refused.text, "it has to name the hook"
    (decided,) = refused.audit
    assert (decided["decision"], decided["policy"]) == ("deny", "command-hook")
    assert decided["source"] == f"{tmp_path}/config/toolcrib/toolcrib.toml:4"
    assert named in decided["reason"]


@pytest.mark.parametrize(
    "command",
    [
        "true",
        "echo fine",
        "echo '{}'",
        "head -c 200000 /dev/zero >&2",
        "printf 'text that is no UTF-8: \\377'",
        "sleep 60 & true",
    ],
)
async def test_a_hook_that_has_no_opinion_lets_the_call_run(
    place: dict[str, str], workspace: Path, tmp_path: Path, command: str
) -> None:
    configure(tmp_path, command)
    async with ToolHarness(workspace, home=tmp_path, environ=place) as crib:
        done = await crib.call("Bash", MARK)
    assert done.outcome == "executed"
    assert (workspace / "marker").exists()


async def test_a_hook_can_be_told_to_be_left_out_when_it_does_not_work(
    place: dict[str, str], workspace: Path, tmp_path: Path
) -> None:
    """The fault is reported all the same."""
    configure(tmp_path, "exit 1", 'on_error = "allow"\n')
    problems: list[str] = []
    async with ToolHarness(workspace, home=tmp_path, environ=place) as crib:
        crib.session.subscribe(lambda event: problems.append(getattr(event, "message", "")))
        done = await crib.call("Bash", MARK)
    assert done.outcome == "executed"
    assert any("exit code 1" in problem for problem in problems)


async def test_a_fault_that_is_to_be_asked_about_is_no_yes(
    place: dict[str, str], workspace: Path, tmp_path: Path
) -> None:
    """Nobody can be asked here; in mode auto nobody is."""
    configure(tmp_path, "exit 1", 'on_error = "ask"\n')
    for mode in ("yolo", "auto", "manual"):
        async with ToolHarness(workspace, home=tmp_path, environ=place, mode=mode) as crib:
            done = await crib.call("Bash", MARK)
        assert done.outcome == "vetoed"
        assert "exit code 1" in str(done.result.output)
    assert not (workspace / "marker").exists()


async def test_a_folder_that_is_gone_is_a_fault_too(
    place: dict[str, str], workspace: Path, tmp_path: Path
) -> None:
    configure(tmp_path, "true")
    async with ToolHarness(workspace, home=tmp_path, environ=place) as crib:
        for file in workspace.iterdir():
            file.unlink()
        workspace.rmdir()
        done = await crib.call("Glob", pattern="*")
        assert done.outcome == "vetoed"
        assert "could not be started" in str(done.result.output)


async def test_a_call_with_long_arguments_reaches_a_hook_that_does_not_read_them(
    place: dict[str, str], workspace: Path, tmp_path: Path
) -> None:
    configure(tmp_path, "exit 0")
    async with ToolHarness(workspace, home=tmp_path, environ=place) as crib:
        done = await crib.call("Write", path="big.txt", content="x" * 2_000_000)
    assert done.outcome == "executed"
    assert (workspace / "big.txt").stat().st_size == 2_000_000
