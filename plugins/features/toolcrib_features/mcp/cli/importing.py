"""`toolcrib mcp import`: take over the servers of other clients."""

from __future__ import annotations

import os
from pathlib import Path

import click

from toolcrib import ToolcribError, open_session
from toolcrib_features.mcp.cli.shared import chosen_file, printable, tell
from toolcrib_features.mcp.edit import add_servers, names_in
from toolcrib_features.mcp.importing import CLIENTS, Candidate, candidates, locations


@click.command(
    epilog="""\b
Examples:
  toolcrib mcp import --dry-run
  toolcrib mcp import --from claude-code
  toolcrib mcp import ~/backup/claude_desktop_config.json
"""
)
@click.argument("path", required=False)
@click.option("--from", "client", type=click.Choice(list(CLIENTS)), help="Only this client.")
@click.option(
    "--workspace",
    metavar="D",
    default=".",
    show_default=True,
    help="Where clients keep what belongs to a project.",
)
@click.option("--replace", is_flag=True, help="Replace servers that are there already.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def command(
    path: str | None, client: str | None, workspace: str, replace: bool, dry_run: bool
) -> None:
    """Copy servers from the configuration of other clients into the user's mcp.json.

    PATH is a file in the way of one of them; without it their usual places are looked at.
    """
    root = Path(workspace).absolute()
    places = [(client or "", Path(path))] if path else _places(root, client)
    there = [(one, file) for one, file in places if os.path.lexists(file)]
    if not there:
        if path:
            raise ToolcribError(f"{path}: there is no such file; --from names a client")
        raise ToolcribError(
            f"no configuration of {client or 'a client that is known'} was found: name its file"
        )
    file, mode = chosen_file(None)
    taken: dict[str, Candidate] = {}
    known = set(names_in(file))
    for name, source in there:
        try:
            found = candidates(source, name, root, os.environ)
        except ToolcribError as error:
            if path:
                raise
            tell(f"skipped: {error}")
            continue
        for one in found:
            reason = one.problem
            if reason is None and one.name in taken:
                reason = f"{taken[one.name].source} has one of that name"
            elif reason is None and one.name in known and not replace:
                reason = f"{file} has one of that name; --replace replaces it"
            if reason is None:
                taken[one.name] = one
                click.echo(printable(f"{one.name} from {one.source}"))
            else:
                tell(f"skipped {one.name!r} of {one.source}: {reason}")
            for remark in one.remarks if reason is None else ():
                tell(f"note: {one.name!r}: {remark}")
    if dry_run or not taken:
        tell(f"nothing was written{'' if taken else ': there is no server to take'}")
        return
    add_servers(file, {name: one.entry for name, one in taken.items()}, replace=replace, mode=mode)
    tell(f"{len(taken)} written to {file}; `toolcrib mcp test NAME` tries one")


def _places(root: Path, client: str | None) -> list[tuple[str, Path]]:
    """The usual places; those of a project that is not trusted would start what it likes."""
    places = locations(os.environ, root, client)
    if open_session(root, runtime="local").settings.workspace_trusted:
        return places
    users = locations(os.environ, None, client)
    own = {file for _, file in users}
    for _, file in places:
        if os.path.lexists(file) and file not in own:
            tell(f"skipped {file}: the workspace is not trusted; name the file to import it")
    return users
