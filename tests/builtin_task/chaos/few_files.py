"""A host that may open few files; takes the workspace, tells what it saw as one object of JSON."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from toolcrib.testing import ToolHarness

FILES = 80
TASKS = 60


async def start(harness: ToolHarness, command: str) -> str | None:
    arguments = {"command": command, "run_in_background": True, "description": "files"}
    output = str((await harness.call("Bash", arguments)).result.output)
    return output.partition("task_id: ")[2].partition("\n")[0] or None


def left() -> int:
    return len(os.listdir("/proc/self/fd"))


async def main() -> None:
    workspace = Path(sys.argv[1])
    seen: dict[str, Any] = {}
    async with ToolHarness(workspace, config={"task": {"kill_grace_period_s": 0.3}}) as harness:
        tasks = harness.session.tasks
        assert tasks is not None
        first = await start(harness, "echo first")
        await tasks.wait([str(first)], timeout_s=20)
        before = left()
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
        ids = [await start(harness, "echo begun; exec sleep 300") for _ in range(TASKS)]
        started = [one for one in ids if one is not None]
        seen["started"], seen["refused"] = len(started), ids.count(None)
        await asyncio.sleep(0.3)
        infos = await asyncio.gather(*(tasks.stop(one) for one in started))
        seen["statuses"] = sorted({info.status for info in infos if info})
        seen["left"] = left() - before
        again = await start(harness, "echo again")
        await tasks.wait([str(again)], timeout_s=20)
        output = tasks.output(str(again))
        seen["again"] = output and output.text
        seen["active"] = len(tasks.list())
        seen["news"] = sum(
            len(m.origin.get("task_ids") or [1]) for m in harness.session.context_messages()
        )
    print(json.dumps(seen))


asyncio.run(main())
