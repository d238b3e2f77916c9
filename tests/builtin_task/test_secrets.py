"""Values named like secrets in what is told of tasks to others than the model."""

from __future__ import annotations

import json
from pathlib import Path

from toolcrib.contract.events import event_to_dict
from toolcrib.testing import ToolHarness

SECRETS = ("hunter2hunter", "s3cr3t", "dpw555", "tok777", "rpw666")


async def test_events_and_the_database_hold_no_secrets(tmp_path: Path) -> None:
    """Neither those of the command, nor of its description, its output or the reason of a stop."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    events: list[str] = []
    async with ToolHarness(workspace) as crib:

        def listen(event: object) -> None:
            if getattr(event, "type", "").startswith("task."):
                events.append(json.dumps(event_to_dict(event)))  # type: ignore[arg-type]

        crib.session.subscribe(listen)
        await crib.call(
            "Bash",
            command="API_KEY=s3cr3t; : --password hunter2hunter; echo token=tok777; sleep 60",
            run_in_background=True,
            description="log in with password=dpw555",
        )
        tasks = crib.session.tasks
        assert tasks is not None
        (info,) = tasks.list()
        await crib.call("WaitFor", task_id=info.task_id, pattern="token", timeout=20)
        await crib.call("TaskStop", task_id=info.task_id, reason="password=rpw666 is wrong")
        assert "hunter2hunter" in info.details["command"]  # the model may see its own command
    assert len(events) == 2
    state = (tmp_path / "state" / "tasks").glob("tasks.db*")
    told = "\n".join(events).encode() + b"".join(file.read_bytes() for file in state)
    assert [secret for secret in SECRETS if secret.encode() in told] == []
