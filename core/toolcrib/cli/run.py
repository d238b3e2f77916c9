"""`toolcrib run`: the main job, batches of calls in one session."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolcrib.cli.calls import read_calls
from toolcrib.cli.common import (
    complete_file,
    json_option,
    mode_option,
    on_exit_option,
    open_for,
    workspace_options,
)

if TYPE_CHECKING:
    from toolcrib.cli.leaving import OnExit


@click.command(
    epilog="""\b
Examples:
  toolcrib run calls.json
  echo '{"name": "Glob", "arguments": {"pattern": "*.py"}}' | toolcrib run -
  toolcrib run calls.json --workspace ~/src/app --mode yolo --json
  toolcrib run calls.json --on-exit wait

\b
Calls are read as
  {"batches": [[{"id": "1", "name": "Read", "arguments": {"path": "a.txt"}}]]}
  JSON Lines, a call or a list of calls (a batch) each
  tool_calls of an OpenAI message, tool_use blocks of an Anthropic message
"""
)
@click.argument("calls", metavar="[CALLS|-]", default="-", shell_complete=complete_file)
@workspace_options
@mode_option
@on_exit_option
@json_option
@click.option("--events", is_flag=True, help="Print every event as a JSON line on standard error.")
@click.option(
    "--audit",
    metavar="FILE",
    shell_complete=complete_file,
    help="Write every permission decision to FILE, a JSON line each.",
)
@click.pass_context
def command(
    ctx: click.Context,
    calls: str,
    workspace: str,
    profile: str | None,
    runtime: str | None,
    mode: str | None,
    on_exit: OnExit | None,
    as_json: bool,
    events: bool,
    audit: str | None,
) -> None:
    """Run batches of calls from a file or standard input.

    The calls of a batch run at the same time unless they conflict; a batch starts when the one
    before it is done. At a terminal you are asked about calls that no rule allows; where nobody
    can be asked they are denied. Background tasks that still run behind the last batch are
    stopped, or see --on-exit. Exit status 0 when every call got a result, failures included, 2
    when the input cannot be read, 130 after an interrupt: the first one stops what runs, another
    Ctrl-C kills it.
    """
    batches = read_calls(*_input(calls))
    # Imported late: a wrong option or unreadable input should not wait for asyncio.
    from toolcrib.cli.approval import terminal_handler
    from toolcrib.cli.leaving import on_exit_settings
    from toolcrib.cli.runner import run_batches

    interact = terminal_handler(input_is_taken=calls == "-")
    session = open_for(
        ctx,
        workspace=workspace,
        profile=profile,
        runtime=runtime,
        mode=mode,
        interact=interact,
        overrides={
            **on_exit_settings(on_exit),
            **({"permission": {"audit_file": os.path.abspath(audit)}} if audit else {}),
        },
    )
    status = run_batches(session, batches, as_json=as_json, events=events, on_exit=on_exit)
    ctx.exit(status)


def _input(calls: str) -> tuple[bytes, str]:
    if calls == "-":
        if sys.stdin.isatty():
            raise click.UsageError("give a file of calls, or pipe calls into standard input")
        return sys.stdin.buffer.read(), "standard input"
    try:
        return Path(calls).read_bytes(), calls
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        hint = (
            "; CALLS is a file: pipe the calls themselves into '-'"
            if calls.startswith(("[", "{"))
            else ""
        )
        raise click.BadParameter(
            f"{calls!r} cannot be read: {reason}{hint}", param_hint="CALLS"
        ) from None
