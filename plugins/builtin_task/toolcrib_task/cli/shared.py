"""What the parts of `toolcrib tasks` share: finding tasks, and telling how they are."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from toolcrib import TaskInfo, TaskStatus, ToolcribError, state_folder
from toolcrib_task.log import LOG_NAME
from toolcrib_task.restart import read_exit
from toolcrib_task.rows import is_task_id
from toolcrib_task.store import Stored, TaskStore

_WORDS = {"running": "runs", "timed_out": "timed out", "killed": "was stopped", "lost": "was lost"}
_NEAR = 3


def open_store() -> TaskStore:
    """The tasks of this user, until the command ends; nothing is made where there are none yet."""
    store = TaskStore(state_folder(os.environ) / "tasks", session="", agent="", workspace="")
    click.get_current_context().call_on_close(store.close)
    return store


def all_tasks(store: TaskStore) -> list[Stored]:
    """Every task as it is now, the newest first."""
    tasks = [_as_it_is_now(store, task) for task in store.all()]
    return sorted(tasks, key=lambda task: task.info.started_at, reverse=True)


def find_task(store: TaskStore, task_id: str) -> Stored:
    """The task with an id; raises ToolcribError, which names near ones, when there is none."""
    tasks = {task.info.task_id: task for task in store.all()}
    if task_id not in tasks:
        raise ToolcribError(_unknown(task_id, tasks))
    return _as_it_is_now(store, tasks[task_id])


def log_file(store: TaskStore, task: Stored) -> Path:
    """Where the output of a task is, if it has written any."""
    return store.place(task.info.task_id) / LOG_NAME


def complete_id(ctx: click.Context, param: Any, typed: str) -> list[str]:
    """The ids that begin so."""
    return [id for task in _to_complete(ctx) if (id := task.info.task_id).startswith(typed)]


def complete_active_id(ctx: click.Context, param: Any, typed: str) -> list[str]:
    """The ids of tasks that run."""
    running = (task.info.task_id for task in _to_complete(ctx) if task.info.active)
    return [task_id for task_id in running if task_id.startswith(typed)]


def how_it_is(info: TaskInfo) -> str:
    """A task and its state in a line for people."""
    text = f"{named(info)} {_WORDS.get(info.status, info.status)}"
    duration = duration_s(info)
    if duration is not None:
        text += f" for {span(duration)}" if info.active else f" after {span(duration)}"
    code = info.details.get("exit_code")
    if info.status == "failed" and code is not None:
        text += f" with exit code {code}"
    return f"{text}: {' '.join(info.stop_reason.split())}" if info.stop_reason else text


def named(info: TaskInfo) -> str:
    """The id of a task with the first words of its description."""
    words = " ".join(info.description.split())
    return f"{info.task_id} ({words if len(words) <= 60 else f'{words[:57]}...'})"


def duration_s(info: TaskInfo) -> float | None:
    """How long it has run, in seconds; None when nobody saw when it ended."""
    end = time.time() if info.active else info.ended_at
    return None if end is None else max(0.0, end - info.started_at)


def span(seconds: float) -> str:
    """A time in its two biggest units at the most."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def tell(message: str) -> None:
    """A remark for people, on standard error; without a reader there it is dropped."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(f"toolcrib: {printable(message)}", err=True)


def printable(line: str) -> str:
    """The line without what could move a terminal's cursor or change its colours."""
    return "".join(c if c.isprintable() else "\ufffd" for c in line)


def print_json(value: object) -> None:
    """One JSON document on standard output, safe in any encoding."""
    import json

    sys.stdout.write(json.dumps(value, ensure_ascii=True, indent=2, default=str) + "\n")


def _as_it_is_now(store: TaskStore, task: Stored) -> Stored:
    """Nobody has written down yet how a task ended that no session looks after."""
    watched = task.owner_alive or (task.mark is not None and task.mark.alive())
    if not task.info.active or watched:
        return task
    task_id = task.info.task_id
    asked = store.stop_requested(task_id)
    found = read_exit(store.place(task_id)) if task.kept else None
    status: TaskStatus = "lost"
    if asked is not None:
        status = "killed"
    elif found is not None:
        status = "failed" if found[0] else "completed"
    details = {} if found is None else {"exit_code": found[0]}
    info = evolve(
        task.info,
        status=status,
        stop_reason=asked,
        ended_at=None if found is None else found[1],
        details={**task.info.details, **details},
    )
    return evolve(task, info=info)


def _to_complete(ctx: click.Context) -> list[Stored]:
    with ctx:
        return all_tasks(open_store())


def _unknown(task_id: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    known = list(known)
    # What people type in part is the beginning, or what makes ids differ.
    near = [one for one in known if task_id and (one.startswith(task_id) or one.endswith(task_id))]
    near = (near or get_close_matches(task_id, known, cutoff=0.5))[:_NEAR]
    if near:
        return f"there is no task {task_id!r}; did you mean {', '.join(near)}?"
    if not known:
        return f"there is no task {task_id!r}: no session has started any yet"
    shape = "" if is_task_id(task_id) else "; an id looks like bash-4f2k9x0q"
    return f"there is no task {task_id!r}{shape}; `toolcrib tasks list` shows all of them"
