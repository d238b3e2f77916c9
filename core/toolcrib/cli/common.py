"""What the commands share: options, the session they describe, and how results are printed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from toolcrib.contract.interaction import InteractionHandler
    from toolcrib.session import Session

F = TypeVar("F", bound=Callable[..., Any])
LOCAL = "local"
MODES = ("manual", "auto", "yolo")


def complete_folder(ctx: Any, param: Any, typed: str) -> list[CompletionItem]:
    """Let the shell complete the name of a folder."""
    return [CompletionItem(typed, type="dir")]


def complete_file(ctx: Any, param: Any, typed: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    return [CompletionItem(typed, type="file")]


def complete_tool(ctx: click.Context, param: Any, typed: str) -> list[str]:
    """The names of all tools, active or not."""
    session = _session_to_complete(ctx)
    return sorted(
        {d.name for d in session.decisions() if d.name.startswith(typed)} if session else ()
    )


def complete_profile(ctx: click.Context, param: Any, typed: str) -> list[str]:
    """The names of the profiles of plugins and of the configuration."""
    session = _session_to_complete(ctx)
    names = {"default", *session.crib.profiles(), *session.settings.profiles} if session else ()
    return sorted(name for name in names if name.startswith(typed))


def complete_runtime(ctx: click.Context, param: Any, typed: str) -> list[str]:
    """The names of this machine and of the runtimes of plugins."""
    session = _session_to_complete(ctx)
    names = {LOCAL, *session.crib.runtimes()} if session else ()
    return sorted(name for name in names if name.startswith(typed))


def _session_to_complete(ctx: click.Context) -> Session | None:
    """A session, or None where nothing can be said: a shell has no use for an error."""
    from toolcrib.errors import ToolcribError
    from toolcrib.session import open_session

    safe = ctx.find_root().params.get("safe", False)
    try:
        workspace = ctx.params.get("workspace") or "."
        return open_session(workspace, autoload=not safe, runtime=LOCAL)
    except (ToolcribError, OSError):
        return None


def workspace_options(function: F) -> F:
    """`--workspace`, `--profile` and `--runtime`."""
    function = click.option(
        "--runtime",
        metavar="NAME",
        shell_complete=complete_runtime,
        help="Where tools act: local, sandbox, or a runtime of a plugin.",
    )(function)
    return workspace_option(profile_option(function))


def profile_option(function: F) -> F:
    """`--profile`."""
    return click.option(
        "--profile",
        metavar="P",
        shell_complete=complete_profile,
        help="The profile to use; see [profiles] in toolcrib.toml.",
    )(function)


def workspace_option(function: F) -> F:
    """`--workspace`."""
    return click.option(
        "--workspace",
        metavar="D",
        default=".",
        show_default=True,
        shell_complete=complete_folder,
        help="The folder that relative paths belong to.",
    )(function)


def mode_option(function: F) -> F:
    """`--mode`."""
    return click.option(
        "--mode",
        type=click.Choice(MODES),
        help="The permission mode; without it that of the profile or the configuration.",
    )(function)


def on_exit_option(function: F) -> F:
    """`--on-exit`."""
    return click.option(
        "--on-exit",
        type=click.Choice(("wait", "stop", "keep")),
        help="What becomes of background tasks that still run at the end: wait for them, stop "
        "them, or let them go on; see `toolcrib tasks`. Without it they are stopped, unless "
        "task.keep_alive_on_exit is set.",
    )(function)


def json_option(function: F) -> F:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(
        function
    )


def open_for(
    ctx: click.Context,
    *,
    workspace: str,
    profile: str | None = None,
    runtime: str | None = None,
    mode: Any = None,
    interact: InteractionHandler | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Session:
    """The session that the options describe; what the configuration ignored goes to stderr.

    `interact` answers its questions; without it nobody can be asked. `overrides` is configuration
    that other options set, in the shape of the file.
    """
    from toolcrib.session import open_session  # a wrong option should not wait for it

    session = open_session(
        workspace,
        profile=profile,
        runtime=runtime,
        mode=mode,
        autoload=ctx.obj.get("autoload", True),
        interact=interact,
        overrides=overrides,
    )
    for notice in session.notices:
        tell(f"note: {notice}")
    for failure in session.crib.plugins.failures:
        tell(f"note: the plugin {failure.plugin!r} failed ({failure.stage}): {failure.reason}")
    return session


def settle(session: Session) -> None:
    """Wait for tools that nobody knows yet, as those of a server that was never connected."""
    if session.main.table.unsettled:
        import asyncio

        tell("waiting for servers to list their tools")
        asyncio.run(_settled(session))


async def _settled(session: Session) -> None:
    try:
        await session.settle_tools()
    finally:
        await session.main.table.aclose()


def tell(message: str) -> None:
    """A remark for people, on standard error; without a reader there it is dropped."""
    lines = message.encode("utf-8", "backslashreplace").decode("utf-8").splitlines()
    with contextlib.suppress(OSError, ValueError):
        click.echo("\n".join(f"toolcrib: {line}" for line in lines), err=True)


def printable(line: str) -> str:
    """The line without what could move a terminal's cursor or change its colours."""
    return "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in line)


def print_json(value: object) -> None:
    """One JSON document on standard output, safe in any encoding."""
    import json

    sys.stdout.write(json.dumps(value, ensure_ascii=True, indent=2) + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], empty: str) -> None:
    """Rows as a rich table on a terminal, as tab-separated lines in a pipe."""
    rows = [tuple(printable(" ".join(cell.split())) for cell in row) for row in rows]
    if not rows:
        tell(empty)
        return
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
