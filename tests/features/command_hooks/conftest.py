"""Sessions with command hooks, and files by which one can tell what has run."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from toolcrib.testing import ToolHarness

Hook = dict[str, Any]
Open = Callable[..., ToolHarness]


@pytest.fixture
def pre() -> Callable[..., Hook]:
    """A PreToolUse hook with a command."""

    def pre(command: str, matcher: str = "", **more: Any) -> Hook:
        return {"event": "PreToolUse", "matcher": matcher, "command": command, **more}

    return pre


@pytest.fixture
def answers() -> Callable[..., str]:
    """A command that answers with `permissionDecision` and more of `hookSpecificOutput`."""

    def answers(decision: str | None, reason: str | None = None, **more: Any) -> str:
        said: dict[str, Any] = {"hookEventName": "PreToolUse", **more}
        if decision is not None:
            said["permissionDecision"] = decision
        if reason is not None:
            said["permissionDecisionReason"] = reason
        return f"cat >/dev/null; echo '{json.dumps({'hookSpecificOutput': said})}'"

    return answers


@pytest.fixture
async def open_crib(workspace: Path, tmp_path: Path) -> AsyncIterator[Open]:
    """`open_crib(hook, hook, mode=..., permission=...)`: closed after the test."""
    opened: list[ToolHarness] = []
    home = tmp_path / "home"
    home.mkdir()

    def open_crib(
        *hooks: Hook, mode: Any = "yolo", permission: Any = None, **more: Any
    ) -> ToolHarness:
        config: dict[str, Any] = {"hooks": list(hooks)}
        if permission is not None:
            config["permission"] = permission
        harness = ToolHarness(workspace, home=home, mode=mode, config=config, **more)
        opened.append(harness)
        return harness

    yield open_crib
    for harness in opened:
        await harness.aclose()


@pytest.fixture
def gone() -> Callable[[int], bool]:
    """Whether nothing of a process group runs any more; what only waits to be reaped does not."""

    def gone(group: int) -> bool:
        for process in psutil.process_iter():
            try:
                alive = process.status() != psutil.STATUS_ZOMBIE
                if alive and os.getpgid(process.pid) == group:
                    return False
            except (psutil.NoSuchProcess, ProcessLookupError):
                continue
        return True

    return gone
