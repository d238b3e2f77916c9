"""The `toolcrib` command: options that every command shares, and what an error looks like."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from toolcrib._version import __version__
from toolcrib.errors import ToolcribError

COMMANDS = ("run", "call", "tools", "explain", "plugins", "config", "trust", "new", "completion")

EPILOG = """\b
Examples:
  toolcrib tools
  toolcrib call Read '{"path": "README.md"}'
  toolcrib run calls.json --mode yolo --json
  toolcrib explain Bash
"""


class _Commands(click.Group):
    """Imports a command's module when the command is used or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"toolcrib.cli.{name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from toolcrib.policy import suggest

            near = suggest(args[0], COMMANDS)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"There is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="toolcrib")
@click.option(
    "--safe", is_flag=True, help="Load no plugins but the builtin ones, whatever is installed."
)
@click.pass_context
def cli(ctx: click.Context, safe: bool) -> None:
    """Tools for LLM agents: list them, explain them, run their calls."""
    ctx.obj = {"autoload": not safe}


def main() -> None:
    """Run the command line; an expected error is one message on standard error, exit status 2."""
    try:
        status = cli(prog_name="toolcrib", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        print("toolcrib: interrupted", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    except (ToolcribError, NotADirectoryError) as error:
        print(f"toolcrib: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    except BrokenPipeError:
        # The reader has seen enough; nothing more may be written, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
