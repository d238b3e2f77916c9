"""`toolcrib tasks stop`: end tasks, whichever session has them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence

import click

from toolcrib import STOPPED_BY_USER
from toolcrib_task.cli.listing import in_workspace
from toolcrib_task.cli.shared import (
    all_tasks,
    complete_active_id,
    find_task,
    how_it_is,
    named,
    open_store,
    printable,
    tell,
)
from toolcrib_task.store import Stored, TaskStore

GRACE_S = 5.0
_WRITTEN_S = 3.0
"""How long the session of a task has to note that it ended."""
_LOOK_EVERY_S = 0.05


@click.command(
    epilog="""\b
Examples:
  toolcrib tasks stop bash-4f2k9x0q
  toolcrib tasks stop --all --workspace .
"""
)
@click.argument("task_ids", metavar="[ID...]", nargs=-1, shell_complete=complete_active_id)
@click.option("--all", "everything", is_flag=True, help="Every task that runs, of all sessions.")
@click.option(
    "--workspace",
    metavar="D",
    type=click.Path(file_okay=False),
    help="With --all: only those of sessions in this folder.",
)
@click.option("--reason", default=STOPPED_BY_USER, help="What the session and its model are told.")
@click.option(
    "--grace",
    "grace_s",
    metavar="S",
    type=click.FloatRange(min=0),
    default=GRACE_S,
    show_default=True,
    help="Seconds that a task has to end by itself before it is killed.",
)
@click.pass_context
def command(
    ctx: click.Context,
    task_ids: tuple[str, ...],
    everything: bool,
    workspace: str | None,
    reason: str,
    grace_s: float,
) -> None:
    """Stop tasks with all their processes, and tell what became of each.

    Exit status 1 when something could not be stopped.
    """
    if workspace is not None and not everything:
        raise click.UsageError("--workspace goes with --all")
    if everything == bool(task_ids):
        raise click.UsageError(
            "name the tasks to stop or give --all, not both"
            if everything
            else "name the tasks to stop, or give --all"
        )
    store = open_store()
    if everything:
        running = [task for task in all_tasks(store) if task.info.active]
        tasks = in_workspace(running, workspace)
    else:
        tasks = [find_task(store, task_id) for task_id in dict.fromkeys(task_ids)]
    if not tasks:
        where = "" if workspace is None else f"in {os.path.abspath(workspace)} "
        tell(f"{where}no task is running")
    elif not asyncio.run(_stop_all(store, tasks, " ".join(reason.split()), grace_s)):
        ctx.exit(1)


async def _stop_all(store: TaskStore, tasks: Sequence[Stored], reason: str, grace_s: float) -> bool:
    """Stop them at the same time; tell whether all could be stopped."""
    with _progress(len(tasks)):
        ends = (_stop(store, task, reason or STOPPED_BY_USER, grace_s) for task in tasks)
        found = await asyncio.gather(*ends)
        problems = {task.info.task_id: problem for task, problem in zip(tasks, found, strict=True)}
        ended = [task for task in tasks if problems[task.info.task_id] is None]
        now = await _as_written_down(store, ended)
    before = {task.info.task_id for task in tasks if not task.info.active}
    for task in now:
        if task.info.active:
            problem = "has no process here any more, but its session goes on with it"
            problems[task.info.task_id] = f"{named(task.info)} {problem}"
        else:
            text = how_it_is(task.info)
            over = task.info.task_id in before
            click.echo(printable(f"{text} (it had ended already)" if over else text))
    for problem in filter(None, problems.values()):
        tell(problem)
    return not any(problems.values())


async def _stop(store: TaskStore, task: Stored, reason: str, grace_s: float) -> str | None:
    """End the processes of a task; what is wrong when they cannot be ended."""
    info = task.info
    if not info.active:
        return None
    if task.mark is None:
        return (
            f"{named(info)} is no process, but work within its session: only that can stop it, by "
            "TaskStop or at its end"
        )
    # The session that looks after it learns why it ended.
    store.request_stop(info.task_id, reason)
    _, survivors = await task.mark.tree().end(grace_s)
    if survivors:
        left = ", ".join(f"{name} ({pid})" for pid, name in survivors.items())
        return f"{named(info)} has processes that could not be ended: {left}"
    return None


async def _as_written_down(store: TaskStore, tasks: Sequence[Stored]) -> list[Stored]:
    """The tasks once their sessions have noted that they ended, or have not for a while."""
    deadline = time.monotonic() + _WRITTEN_S
    while True:
        known = {task.info.task_id: task for task in all_tasks(store)}
        # What was forgotten meanwhile had ended.
        now = [known[task.info.task_id] for task in tasks if task.info.task_id in known]
        if not any(task.info.active for task in now) or time.monotonic() > deadline:
            return now
        await asyncio.sleep(_LOOK_EVERY_S)


@contextlib.contextmanager
def _progress(count: int) -> Iterator[None]:
    """Show at a terminal that it goes on, when it takes a while."""
    showing = asyncio.ensure_future(_show(count)) if sys.stderr.isatty() else None
    try:
        yield
    finally:
        if showing is not None:
            showing.cancel()
            click.echo("\r\x1b[K", err=True, nl=False)


async def _show(count: int) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(1)
        what = f"{count} tasks" if count > 1 else "the task"
        click.echo(f"\r\x1b[Kstopping {what}, {time.monotonic() - began:.0f} s", err=True, nl=False)
