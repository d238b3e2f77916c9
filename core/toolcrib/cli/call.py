"""`toolcrib call`: one call, for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from toolcrib.cli.common import (
    complete_tool,
    mode_option,
    on_exit_option,
    open_for,
    printable,
    tell,
    workspace_options,
)
from toolcrib.contract.result import TextPart, ToolResult

if TYPE_CHECKING:
    from toolcrib.cli.leaving import OnExit


@click.command(
    epilog="""\b
Examples:
  toolcrib call Read '{"path": "README.md", "n_lines": 20}'
  toolcrib call Grep '{"pattern": "def main", "output_mode": "content"}'
  toolcrib call Bash '{"command": "make test"}' --mode yolo
"""
)
@click.argument("name", shell_complete=complete_tool)
@click.argument("arguments", metavar="[JSON|-]", default="{}")
@workspace_options
@mode_option
@on_exit_option
@click.pass_context
def command(
    ctx: click.Context,
    name: str,
    arguments: str,
    workspace: str,
    profile: str | None,
    runtime: str | None,
    mode: str | None,
    on_exit: OnExit | None,
) -> None:
    """Run one call and print what a model would read.

    At a terminal you are asked about a call that no rule allows; elsewhere it is denied.
    Exit status 1 when the result is an error, 130 after Ctrl-C.
    """
    from toolcrib.cli.approval import terminal_handler
    from toolcrib.cli.hosting import Hosting
    from toolcrib.cli.leaving import Leaving, on_exit_settings
    from toolcrib.cli.progress import StatusLine

    interact = terminal_handler(input_is_taken=arguments == "-")
    if arguments == "-":
        arguments = sys.stdin.read()
    session = open_for(
        ctx,
        workspace=workspace,
        profile=profile,
        runtime=runtime,
        mode=mode,
        interact=interact,
        overrides=on_exit_settings(on_exit),
    )
    failed = False

    async def work() -> None:
        nonlocal failed
        async for done in session.execute([{"id": "call_1", "name": name, "arguments": arguments}]):
            _print(done.result)
            failed = done.result.is_error

    line = StatusLine()
    hosting = Hosting(session, Leaving(session, on_exit, line=line, quiet=False), line)
    hosting.run(work)
    ctx.exit(hosting.status or int(failed))


def _print(result: ToolResult) -> None:
    output = result.output
    if not isinstance(output, str):
        output = "\n".join(
            part.text if isinstance(part, TextPart) else f"<{part.media_type}>" for part in output
        )
    if sys.stdout.isatty():  # what a tool gives back may come from anybody
        output = "\n".join(map(printable, output.replace("\r\n", "\n").split("\n")))
    click.echo(output.encode("utf-8", "backslashreplace"))
    if result.note:
        tell(result.note)
