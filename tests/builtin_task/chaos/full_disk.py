"""A host whose state folder lies on a disk of a mebibyte; run in a mount namespace of its own.

Takes the workspace, and tells what it saw as one object of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from toolcrib import Tasks
from toolcrib.testing import ToolHarness

WRITTEN = 4_000_000
FLOOD = f"seq 1 10000000 | head -c {WRITTEN}; echo the end"


def told(tasks: Tasks, task_id: str) -> dict[str, Any]:
    info, output = tasks.get(task_id), tasks.output(task_id)
    assert info is not None and output is not None
    assert output.path is not None or output.problem is not None
    on_disk = Path(output.path).read_bytes() if output.path else b""
    expected = subprocess.run(["sh", "-c", FLOOD], capture_output=True, check=True).stdout
    return {
        "status": info.status,
        "total": output.total_bytes,
        "kept": output.kept_bytes,
        "problem": output.problem,
        "tail": output.text[-20:],
        "is_beginning": expected.startswith(on_disk),
        "on_disk": len(on_disk),
    }


async def start(harness: ToolHarness, command: str) -> str:
    arguments = {"command": command, "run_in_background": True, "description": "full"}
    done = await harness.call("Bash", arguments)
    assert "task_id: " in str(done.result.output), done.result.output
    return str(done.result.output).partition("task_id: ")[2].partition("\n")[0]


async def main() -> None:
    workspace = Path(sys.argv[1])
    state = workspace.parent / "state"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", state], check=True)
    files = len(os.listdir("/proc/self/fd"))
    seen: dict[str, Any] = {}
    async with ToolHarness(workspace) as harness:
        tasks = harness.session.tasks
        assert tasks is not None
        first = await start(harness, FLOOD)
        await tasks.wait([first], timeout_s=60)
        seen["flood"] = told(tasks, first)
        second = await start(harness, "echo still works; exit 3")
        await tasks.wait([second], timeout_s=60)
        seen["after"] = told(tasks, second)
        foreground = await harness.call("Bash", command="seq 1 400000 | tail -n 1")
        seen["foreground"] = str(foreground.result.output)
        stopped = await tasks.stop(await start(harness, "exec sleep 300"))
        seen["stopped"] = stopped and stopped.status
        news = harness.session.context_messages()
        seen["news"] = len(news)
        seen["again"] = len(harness.session.context_messages())
    seen["files_left"] = len(os.listdir("/proc/self/fd")) - files
    for entry in (state / "tasks").glob("*/output.log"):
        entry.unlink()
    async with ToolHarness(workspace) as harness:
        tasks = harness.session.tasks
        assert tasks is not None
        third = await start(harness, "echo room again")
        await tasks.wait([third], timeout_s=60)
        seen["with_room"] = told(tasks, third)
    print(json.dumps(seen))


asyncio.run(main())
