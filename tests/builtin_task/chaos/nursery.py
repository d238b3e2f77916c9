"""Forks hosts that start tasks and tell what they see, until somebody kills them.

Run as a program with a workspace and the mark of all processes. On standard input it takes lines:
`start SEED` forks a host, `keep SEED` one whose tasks stay, `echo NUMBER` has the number come back
behind all that the hosts have told. On standard output, all of them write lines of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

from toolcrib import ContextMessage, Session, TaskEnded, TaskStarted
from toolcrib.contract.events import Event
from toolcrib.testing import ToolHarness

COMMANDS = {
    "short": "for n in $(seq 20); do echo short $n; done",
    "failing": "echo failing; exit 3",
    "large": "seq 1 20000",
    "quiet": "exec sleep 300",
    "stubborn": "trap '' TERM HUP; n=0; while :; do n=$((n+1)); echo $n; sleep 0.01; done",
    "daemon": "setsid -f sh -c 'setsid -f sleep 300'; (trap '' TERM; sleep 300) & echo up; wait",
    "crowd": "for n in 1 2 3; do sleep 300 & done; wait",
}


def tell(**what: Any) -> None:
    """One line, written at once."""
    os.write(1, f"{json.dumps(what)}\n".encode())


def on_event(event: Event) -> None:
    if isinstance(event, TaskStarted):
        tell(started=event.task.task_id, kind=event.task.description)
    elif isinstance(event, TaskEnded):
        tell(ended=event.task.task_id, status=event.task.status)


async def host(workspace: Path, mark: str, seed: int, *, keep: bool) -> None:
    """Start tasks of all kinds and take the news of their ends, over and over."""
    choice = random.Random(seed)
    harness = opened(workspace, mark, keep=keep)
    session = harness.session
    session.subscribe(on_event)
    waiting: asyncio.Future[Any] | None = None
    for _ in range(choice.randint(1, 8)):
        await harness.call("Bash", background(choice.choice(list(COMMANDS))))
        await asyncio.sleep(choice.choice([0, 0, 0.01, 0.05]))
        if choice.random() < 0.5:
            take(session)
    if choice.random() < 0.5:
        waiting = asyncio.ensure_future(harness.call("Bash", command=COMMANDS["crowd"]))
    while True:
        take(session)
        await asyncio.sleep(0.02)
        assert waiting is None or not waiting.done()


def opened(workspace: Path, mark: str, *, keep: bool = False) -> ToolHarness:
    task = {"keep_alive_on_exit": keep, "kill_grace_period_s": 0.3}
    return ToolHarness(workspace, config={"task": task}, environ={"TOOLCRIB_CHAOS_TEST": mark})


def background(kind: str) -> dict[str, Any]:
    return {"command": COMMANDS[kind], "run_in_background": True, "description": kind}


def take(session: Session) -> None:
    """Between these two lines nobody but the host knows which news were taken."""
    tell(taking=True)
    messages = session.context_messages()
    tell(told=[one for message in messages for one in ids_of(message)])


def ids_of(message: ContextMessage) -> list[str]:
    """The tasks that a message tells of."""
    return list(message.origin.get("task_ids") or [message.origin["task_id"]])


async def warm_up(folder: Path) -> None:
    """Import everything once, so that each host has it at once."""
    folder.mkdir(parents=True)
    async with opened(folder, "none") as harness:
        await harness.call("Bash", background("short"))
        harness.session.context_messages()


def main() -> None:
    workspace, mark = Path(sys.argv[1]), sys.argv[2]
    asyncio.run(warm_up(workspace.parent / "nursery" / "workspace"))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # hosts leave no zombies
    for line in sys.stdin:
        word, number = line.split()
        if word == "echo":
            tell(echo=int(number))
        elif (pid := os.fork()) == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asyncio.run(host(workspace, mark, int(number), keep=word == "keep"))
        else:
            tell(pid=pid)


if __name__ == "__main__":
    main()
