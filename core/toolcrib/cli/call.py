"""`toolcrib call`: one call, for people."""

from __future__ import annotations

import sys

import click

from toolcrib.cli.common import complete_tool, mode_option, open_for, tell, workspace_options
from toolcrib.contract.result import TextPart


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
@click.pass_context
def command(
    ctx: click.Context,
    name: str,
    arguments: str,
    workspace: str,
    profile: str | None,
    runtime: str | None,
    mode: str | None,
) -> None:
    """Run one call and print what a model would read.

    At a terminal you are asked about a call that no rule allows; elsewhere it is denied.
    Exit status 1 when the result is an error.
    """
    import asyncio

    from toolcrib.cli.approval import terminal_handler

    interact = terminal_handler(input_is_taken=arguments == "-")
    if arguments == "-":
        arguments = sys.stdin.read()
    session = open_for(
        ctx, workspace=workspace, profile=profile, runtime=runtime, mode=mode, interact=interact
    )

    async def run() -> bool:
        failed = False
        try:
            call = {"id": "call_1", "name": name, "arguments": arguments}
            async for done in session.execute([call]):
                output = done.result.output
                if not isinstance(output, str):
                    output = "\n".join(
                        part.text if isinstance(part, TextPart) else f"<{part.media_type}>"
                        for part in output
                    )
                click.echo(output.encode("utf-8", "backslashreplace"))
                if done.result.note:
                    tell(done.result.note)
                failed = done.result.is_error
        finally:
            await session.aclose()
        return failed

    if asyncio.run(run()):
        ctx.exit(1)
