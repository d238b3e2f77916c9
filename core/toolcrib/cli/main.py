"""The `toolcrib` command: options that every command shares, and what an error looks like."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from toolcrib._version import __version__
from toolcrib.cli.common import tell
from toolcrib.errors import ToolcribError

if TYPE_CHECKING:
    from toolcrib.plugins.records import PluginSource

COMMANDS = (
    "run",
    "call",
    "tools",
    "explain",
    "permissions",
    "plugins",
    "config",
    "trust",
    "new",
    "completion",
)

UNUSABLE = 2
"""Exit status when the command line, the input or the configuration cannot be used."""
UNWRITABLE = 74
"""Exit status when results cannot be written; EX_IOERR of sysexits."""
INTERRUPTED = 130
READER_GONE = 141
"""Exit status when the reader of a pipe has gone, as if SIGPIPE had ended the program."""

_PLUGGED = f"{__name__}.plugged"

EPILOG = """\b
Examples:
  toolcrib tools
  toolcrib call Read '{"path": "README.md"}'
  toolcrib run calls.json --mode yolo --json
  toolcrib explain Bash

Results go to standard output, everything else to standard error. Exit status 2: the command
line, the input or the configuration cannot be used; 74: results cannot be written; 130:
interrupted; 141: the reader of a pipe has gone.
"""


class _ReaderGone(Exception):
    """Whoever reads standard output has seen enough."""


class _Commands(click.Group):
    """Imports a command's module when the command is used or listed.

    Plugins add commands, which are looked for only when the name is none of ours.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *self._plugged(ctx)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in COMMANDS:
            command: click.Command = import_module(f"toolcrib.cli.{name}").command
            return command
        source = self._plugged(ctx).get(name)
        if source is None:
            return None
        from toolcrib.cli.plugged import plugged_command

        return plugged_command(source)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            plugged = self._plugged(ctx)
            if args[0] not in plugged:
                from toolcrib.policy import suggest

                near = suggest(args[0], (*COMMANDS, *plugged))
                hint = f" Did you mean {near[0]!r}?" if near else ""
                ctx.fail(f"There is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def _plugged(self, ctx: click.Context) -> dict[str, PluginSource]:
        found: dict[str, PluginSource] | None = ctx.meta.get(_PLUGGED)
        if found is None:
            from toolcrib.cli.plugged import plugged_commands

            found = ctx.meta[_PLUGGED] = plugged_commands(
                autoload=not ctx.params.get("safe", False),
                taken=COMMANDS,
                # A shell that completes has no use for remarks.
                on_clash=_ignore if ctx.resilient_parsing else tell,
            )
        return found

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:
            # Click would end with status 1, like a command that found something wrong.
            raise _ReaderGone from error
        return result


def _ignore(message: str) -> None:
    """Say nothing."""


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
    """Run the command line; an expected error is one message on standard error."""
    output_is_closed = sys.stdout is None
    _open_closed_streams()
    if output_is_closed:
        tell("standard output is closed: there is nowhere to write results to")
        sys.exit(UNWRITABLE)
    sys.exit(_run())


def _run() -> int:
    try:
        status = cli(prog_name="toolcrib", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        return _tell_usage(error)
    except (click.Abort, KeyboardInterrupt):
        tell("interrupted")
        return INTERRUPTED
    except (_ReaderGone, BrokenPipeError):
        _drop_output()
        return READER_GONE
    except (ToolcribError, NotADirectoryError) as error:
        tell(str(error))
        return UNUSABLE
    except OSError as error:
        if error.filename:
            tell(f"{error.filename}: {error.strerror}")
            return UNUSABLE
        if isinstance(error, FileNotFoundError):  # nothing else is missing without a name
            tell("the current folder does not exist any more: change to one that does")
            return UNUSABLE
        _drop_output()
        tell(f"the results cannot be written: {error.strerror or error}")
        return UNWRITABLE
    return status if isinstance(status, int) else 0


def _tell_usage(error: click.ClickException) -> int:
    """Say what is wrong with the command line, and which help answers it."""
    message, context = error.format_message(), getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(message, err=True)
    elif context is None:
        tell(message)
    else:
        end = " " if message.endswith("?") else ". "
        tell(f"{message.rstrip('.')}{end}See '{context.command_path} -h'.")
    return error.exit_code


def _open_closed_streams() -> None:
    """Give closed standard streams something to read from and write to.

    Otherwise the next file that is opened gets the number of, say, standard error, and with it
    whatever a child process prints there.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            mode = "w" if number else "r"
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def _drop_output() -> None:
    """Nothing more can be written, also not what is flushed at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
