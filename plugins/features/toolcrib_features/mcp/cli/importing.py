"""`toolcrib mcp import`: take over the servers of other clients."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from toolcrib import ToolcribError, open_session
from toolcrib_features.mcp.cli.shared import chosen_file, counted, printable, tell
from toolcrib_features.mcp.edit import add_servers, names_in
from toolcrib_features.mcp.importing import CLIENTS, Candidate, candidates, locations

UNUSABLE = 1
"""Exit status when there are servers, and none that can be used."""


@click.command(
    epilog="""\b
Examples:
  toolcrib mcp import --dry-run
  toolcrib mcp import --from claude-code
  toolcrib mcp import ~/backup/claude_desktop_config.json .vscode/mcp.json
"""
)
@click.argument("paths", nargs=-1, metavar="[PATH ...]", type=click.Path(path_type=Path))
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
    paths: tuple[Path, ...], client: str | None, workspace: str, replace: bool, dry_run: bool
) -> None:
    """Copy servers from the configuration of other clients into the user's mcp.json.

    PATH is a file in the way of one of them; without it their usual places are looked at. Exit
    status 1: none of the servers can be used; 2: there are none in one PATH or in all the places,
    or a PATH cannot be read, and then nothing is written.
    """
    root = Path(workspace).absolute()
    places = [(client or "", path) for path in paths] or _places(root, client)
    file, mode = chosen_file(None)
    there = names_in(file)
    found = _found(places, root, named=bool(paths))
    if not found:
        raise ToolcribError(
            f"no server of {client or 'a client that is known'} was found: name a file"
        )
    taken = _taken(found, {} if replace else {name: str(file) for name in there})
    for one in taken.values():
        replaced = f" (replaces the one of {file})" if one.name in there else ""
        click.echo(printable(f"{one.name} from {one.source}{replaced}"))
        for remark in one.remarks:
            tell(f"note: {one.name!r}: {remark}")
    if taken and not dry_run:
        entries = {name: one.entry for name, one in taken.items()}
        add_servers(file, entries, replace=replace, mode=mode)
        tell(f"{counted(len(taken), 'server')} written to {file}")
        tell("try each with `toolcrib mcp test NAME`")
    else:
        tell(f"nothing was written{'' if taken else ': there is no server to take'}")
    if all(one.problem for one in found):
        raise SystemExit(UNUSABLE)


def _found(places: Iterable[tuple[str, Path]], root: Path, *, named: bool) -> list[Candidate]:
    """The servers in files; of one that the user has not `named` a fault costs only itself."""
    found: list[Candidate] = []
    for client, path in places:
        if not (named or os.path.lexists(path)):
            continue
        try:
            servers = candidates(path, client, root, os.environ)
        except ToolcribError as error:
            if named:
                raise ToolcribError(f"{error}; nothing was written") from None
            tell(f"skipped: {error}")
            continue
        if named and not servers:
            raise ToolcribError(f"{path}: there are no servers in it; nothing was written")
        found += servers
    return found


def _taken(found: Iterable[Candidate], known: Mapping[str, str]) -> dict[str, Candidate]:
    """Those that can be written; the others are told. `known` names what stays, with its place."""
    taken: dict[str, Candidate] = {}
    for one in found:
        reason = one.problem
        if reason is None and one.name in taken:
            reason = f"{taken[one.name].source} has one of that name"
        elif reason is None and one.name in known:
            reason = f"{known[one.name]} has one of that name; --replace replaces it"
        if reason is None:
            taken[one.name] = one
        else:
            tell(f"skipped {one.name!r} of {one.source}: {reason}")
    return taken


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
