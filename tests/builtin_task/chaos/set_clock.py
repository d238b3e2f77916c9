"""A host whose clock is set while its tasks run, by so many seconds.

Takes the workspace and the seconds, and tells what it saw as one object of JSON.
"""

# ruff: noqa: E402

from __future__ import annotations

import sys
import time

_real_time = time.time
_set_by = 0.0
# Before anything is imported that would hold on to the function.
time.time = lambda: _real_time() + _set_by

import asyncio
import json
from pathlib import Path
from typing import Any

from attrs import asdict

from toolcrib import Session, TaskEnded, Tasks
from toolcrib.testing import ToolHarness

WAIT_S = 30


def set_clock(seconds: float) -> None:
    global _set_by
    _set_by = seconds


class Host:
    """A session, and short ways to its tasks."""

    def __init__(self, harness: ToolHarness) -> None:
        self.harness = harness
        self.session: Session = harness.session
        assert self.session.tasks is not None
        self.tasks: Tasks = self.session.tasks
        self.ends: list[Any] = []
        self.session.subscribe(self.on_event)

    def on_event(self, event: object) -> None:
        if isinstance(event, TaskEnded):
            self.ends.append(asdict(event.task))

    async def bash(self, command: str, **more: Any) -> str:
        arguments = {"command": command, "run_in_background": True, "description": "clock", **more}
        output = str((await self.harness.call("Bash", arguments)).result.output)
        return output.partition("task_id: ")[2].partition("\n")[0]

    async def ended(self, task_id: str) -> Any:
        await self.tasks.wait([task_id], timeout_s=WAIT_S)
        return self.info(task_id)

    def info(self, task_id: str) -> Any:
        info = self.tasks.get(task_id)
        assert info is not None
        return asdict(info)

    def told(self) -> list[str]:
        return [message.origin["task_id"] for message in self.session.context_messages()]


async def while_it_runs(host: Host, jump: float) -> dict[str, Any]:
    short = await host.bash("sleep 0.3")
    limited = await host.bash("exec sleep 300", timeout=1)
    unlimited = await host.bash("exec sleep 300")
    set_clock(jump)
    await host.tasks.wait([unlimited], timeout_s=0.05)
    await host.tasks.news([unlimited], timeout_s=0.05)
    active = [host.info(one)["status"] for one in (limited, unlimited)]
    infos = [await host.ended(short), await host.ended(limited)]
    await host.tasks.stop(unlimited)
    infos.append(host.info(unlimited))
    told = host.told()
    return {"active": active, "infos": infos, "told": told, "ends": host.ends}


async def one_after_the_other(host: Host, jump: float) -> dict[str, Any]:
    """The clock is set before each of them."""
    ids = []
    for number, seconds in enumerate((jump, -jump, 0.0, jump)):
        set_clock(seconds)
        ids.append(await host.bash(f"echo {number}"))
        await host.ended(ids[-1])
    listed = [info.task_id for info in host.tasks.list(active_only=False)]
    texts = []
    for task_id in ids:
        output = host.tasks.output(task_id)
        assert output is not None
        texts.append(output.text)
    return {
        "in_order": listed[-len(ids) :] == ids,
        "texts": texts,
        "infos": [host.info(one) for one in ids],
        "told": sorted(host.told()) == sorted(ids),
    }


async def main() -> None:
    workspace, jump = Path(sys.argv[1]), float(sys.argv[2])
    config = {"task": {"keep_alive_on_exit": True, "kill_grace_period_s": 0.3}}
    seen: dict[str, Any] = {}
    async with ToolHarness(workspace, config=config) as harness:
        host = Host(harness)
        seen["running"] = await while_it_runs(host, jump)
        seen["starting"] = await one_after_the_other(host, jump)
        set_clock(0)
        done = await host.bash("echo done")
        await host.ended(done)
        stays = await host.bash("exec sleep 300")
    set_clock(jump)
    async with ToolHarness(workspace, config=config) as harness:
        host = Host(harness)
        told = host.told()
        texts = [
            str((await harness.call("TaskList", active_only=False)).result.output),
            str((await harness.call("TaskOutput", task_id=done)).result.output),
        ]
        output = host.tasks.output(done)
        seen["later"] = {
            "told": told,
            "wanted": [done],
            "text": output and output.text,
            "active": host.info(stays)["status"],
            "negative": [line for text in texts for line in text.splitlines() if ": -" in line],
        }
        await host.tasks.stop(stays)
        seen["later"]["infos"] = [host.info(stays)]
    print(json.dumps(seen))


asyncio.run(main())
