"""`toolcrib tasks output`: what a task has written."""

from __future__ import annotations

import click

from toolcrib import TerminalText
from toolcrib_task.cli.following import follow, print_output, tail_offset, written
from toolcrib_task.cli.listing import record
from toolcrib_task.cli.shared import complete_id, find_task, log_file, open_store, print_json, tell


@click.command(
    epilog="""\b
Examples:
  toolcrib tasks output bash-4f2k9x0q
  toolcrib tasks output bash-4f2k9x0q --tail 50 --follow
  toolcrib tasks output bash-4f2k9x0q > build.log
"""
)
@click.argument("task_id", metavar="ID", shell_complete=complete_id)
@click.option(
    "--tail", metavar="N", type=click.IntRange(min=0), help="Only the last N lines of it."
)
@click.option("--follow", "-f", "following", is_flag=True, help="Go on until the task has ended.")
@click.option("--json", "as_json", is_flag=True, help="Print the task with its output as JSON.")
def command(task_id: str, tail: int | None, following: bool, as_json: bool) -> None:
    """Print what a task has written.

    A terminal gets it without escape codes, a pipe or file as it is, byte by byte.
    """
    if following and as_json:
        raise click.UsageError("--follow goes on for as long as the task does: leave out --json")
    store = open_store()
    task = find_task(store, task_id)
    file = log_file(store, task)
    start = 0 if tail is None else tail_offset(file, tail)
    if as_json:
        text = TerminalText()
        output = "".join(map(text.feed, written(file, start))) + text.finish()
        print_json({**record(store, task), "output_start": start, "output": output})
    elif following:
        print_output(follow(file, start, lambda: find_task(store, task_id).info.active), live=True)
    elif file.exists():
        print_output(written(file, start))
    else:
        tell(f"{task_id} has written nothing")
