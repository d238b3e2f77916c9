"""`toolcrib tasks list`: the tasks of all sessions."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

import click

from toolcrib_task.cli.shared import (
    all_tasks,
    duration_s,
    log_file,
    open_store,
    print_json,
    printable,
    span,
    tell,
)
from toolcrib_task.store import Stored, TaskStore

_COLUMNS = ("task", "status", "started", "took", "session", "exit", "workspace", "description")

_USUAL_WIDTH = 80
"""In columns: a terminal that is narrower has no room for whole headings."""


@click.command(
    epilog="""\b
Examples:
  toolcrib tasks list
  toolcrib tasks list --active --workspace .
  toolcrib tasks list --json
"""
)
@click.option("--active", is_flag=True, help="Only those that run.")
@click.option(
    "--workspace",
    metavar="D",
    type=click.Path(file_okay=False),
    help="Only those of sessions in this folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def command(active: bool, workspace: str | None, as_json: bool) -> None:
    """List the background tasks of all sessions, the newest first.

    A session is open, or closed, in whichever way it ended. A task of a closed session that runs
    was left to go on, or its session was killed: `toolcrib tasks stop` ends it.
    """
    store = open_store()
    tasks = in_workspace(all_tasks(store), workspace)
    if active:
        tasks = [task for task in tasks if task.info.active]
    if as_json:
        print_json([record(store, task) for task in tasks])
    elif not tasks:
        what = "no task is running" if active else "there are no background tasks"
        tell(what if workspace is None else f"in {os.path.abspath(workspace)} {what}")
    else:
        _print_table([_row(task) for task in tasks])


def in_workspace(tasks: Sequence[Stored], workspace: str | None) -> list[Stored]:
    """Those of sessions in one folder; None means all."""
    if workspace is None:
        return list(tasks)
    folders = {os.path.abspath(workspace), os.path.realpath(workspace)}
    return [task for task in tasks if task.workspace in folders]


def record(store: TaskStore, task: Stored) -> dict[str, object]:
    """A task for programs; times in seconds of the epoch."""
    info = task.info
    file = log_file(store, task)
    duration = duration_s(info)
    return {
        "task_id": info.task_id,
        "kind": info.kind,
        "description": info.description,
        "status": info.status,
        "started_at": info.started_at,
        "ended_at": info.ended_at,
        "duration_s": None if duration is None else round(duration, 3),
        "timeout_s": info.timeout_s,
        "stop_reason": info.stop_reason,
        **info.details,
        "workspace": task.workspace,
        "session": task.session,
        "session_alive": task.owner_alive,
        "agent": task.agent,
        "kept": task.kept,
        "output_path": str(file) if file.exists() else None,
    }


def _row(task: Stored) -> tuple[str, ...]:
    info = task.info
    code = info.details.get("exit_code")
    duration = duration_s(info)
    return (
        info.task_id,
        info.status,
        f"{span(max(0.0, time.time() - info.started_at))} ago",
        "" if duration is None else span(duration),
        "open" if task.owner_alive else "closed",
        "" if code is None else str(code),
        task.workspace,
        info.description,
    )


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """A table at a terminal, lines of fields elsewhere."""
    rows = [tuple(printable(" ".join(cell.split())) for cell in row) for row in rows]
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in _COLUMNS:
        short = column not in ("workspace", "description")
        least = len(column) if console.width >= _USUAL_WIDTH else None
        table.add_column(column, overflow="fold", no_wrap=short, min_width=least)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
