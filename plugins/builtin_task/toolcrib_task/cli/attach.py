"""`toolcrib tasks attach`: follow a task to its end, and end as it does."""

from __future__ import annotations

import click

from toolcrib import TaskInfo
from toolcrib_task.cli.following import follow, print_output, tail_offset
from toolcrib_task.cli.shared import complete_id, find_task, how_it_is, log_file, open_store, tell

_INTERRUPTED = 130
_TIMED_OUT = 124
"""As of the program `timeout`."""


@click.command(
    epilog="""\b
Examples:
  toolcrib tasks attach bash-4f2k9x0q
  toolcrib tasks attach bash-4f2k9x0q --tail 0 && echo built
"""
)
@click.argument("task_id", metavar="ID", shell_complete=complete_id)
@click.option(
    "--tail",
    metavar="N",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Begin with the last N lines that it has written so far.",
)
@click.pass_context
def command(ctx: click.Context, task_id: str, tail: int) -> None:
    """Follow what a task writes until it ends.

    The exit status is that of the task: 128 and the number of the signal that ended it, 124 after
    its time was over. Ctrl-C ends only the following; the task goes on.
    """
    store = open_store()
    file = log_file(store, find_task(store, task_id))
    try:
        print_output(
            follow(
                file,
                tail_offset(file, tail),
                lambda: find_task(store, task_id).info.active,
            ),
            live=True,
        )
    except KeyboardInterrupt:
        tell(f"{task_id} goes on; `toolcrib tasks stop {task_id}` ends it")
        ctx.exit(_INTERRUPTED)
    info = find_task(store, task_id).info
    tell(how_it_is(info))
    ctx.exit(_status(info))


def _status(info: TaskInfo) -> int:
    if info.status == "timed_out":
        return _TIMED_OUT
    code = info.details.get("exit_code")
    if isinstance(code, int) and code:
        return code if code > 0 else 128 - code
    return 0 if info.status == "completed" else 1
