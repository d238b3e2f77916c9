"""What the parts of `toolcrib mcp` share: the file they change, and how they speak to people."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import click

from toolcrib import ToolcribError
from toolcrib_features.mcp.places import Places


def chosen_file(workspace: str | None) -> tuple[Path, int]:
    """The file to change and the mode of a new one: the user's, or that of a workspace."""
    root = Path(workspace or ".").absolute()
    if not root.is_dir():
        raise click.BadParameter(f"{workspace!r} is not a folder", param_hint="--workspace")
    places = Places.of(root, os.environ)
    if workspace is None:
        return places.user, 0o600
    file = places.workspace
    if not file.resolve().is_relative_to(root.resolve()):
        raise ToolcribError(f"{file}: leads out of the workspace, so nothing is written there")
    return file, 0o644


def tell(message: str) -> None:
    """A remark for people, on standard error; without a reader there it is dropped."""
    with contextlib.suppress(OSError, ValueError):
        for line in message.splitlines():
            click.echo(f"toolcrib: {printable(line)}", err=True)


def counted(count: int, noun: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def printable(line: str) -> str:
    """The line without what could move a terminal's cursor or change its colours."""
    return "".join(c if c.isprintable() else "\ufffd" for c in line)
