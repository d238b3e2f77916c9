"""Changes an `mcp.json` in one step; keys that nobody knows stay, and so does the order."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolcrib import ToolcribError, edit_file
from toolcrib_features.mcp.files import SERVERS, BadFile, read_servers_file
from toolcrib_features.mcp.jsonc import JsonError, parse

Entries = dict[str, Any]


class NameTaken(ToolcribError):
    """A server of this name is there already; the user decides which one is meant."""


def add_servers(
    file: Path, new: Mapping[str, Mapping[str, Any]], *, replace: bool, mode: int = 0o600
) -> None:
    """Put servers into a file, which is made when there is none.

    Raises:
        NameTaken: one of them is there already, and `replace` is not set.
        ToolcribError: the file cannot be understood, or would lose its comments.
        OSError: it cannot be read or written.
    """

    def add(entries: Entries) -> None:
        for name, entry in new.items():
            if name in entries and not replace:
                raise NameTaken(
                    f"{file}: there is a server {name!r} already: choose another name, or add "
                    "--replace"
                )
            entries[name] = dict(entry)

    _change(file, add, mode)


def remove_server(file: Path, name: str) -> None:
    """Take a server out of a file; KeyError when it is not there. Raises as `add_servers` does."""

    def remove(entries: Entries) -> None:
        del entries[name]

    _change(file, remove)


def names_in(file: Path) -> tuple[str, ...]:
    """The names of the servers in a file; raises ToolcribError when it cannot be read."""
    try:
        read = read_servers_file(file)
    except BadFile as bad:
        raise ToolcribError(str(bad.notice)) from None
    return tuple(read.servers) if read else ()


def _change(file: Path, change: Callable[[Entries], None], mode: int = 0o600) -> None:
    if not os.path.lexists(file):
        file.parent.mkdir(mode=0o700 if mode == 0o600 else 0o755, parents=True, exist_ok=True)
        try:
            edit_file(file, lambda text: _edited(text, change, file), new_mode=mode)
            return
        except FileExistsError:  # another process was faster
            pass
    edit_file(file, lambda text: _edited(text, change, file))


def _edited(text: str, change: Callable[[Entries], None], file: Path) -> str:
    data: dict[str, Any] = {}
    if text.strip():
        try:
            document = parse(text)
        except JsonError as error:
            place = f"{file}:{error.line}:{error.column}"
            raise ToolcribError(f"{place}: is not valid JSON: {error}") from None
        if not document.plain or document.repeated:
            what = (
                "comments or trailing commas" if not document.plain else "keys that are there twice"
            )
            raise ToolcribError(f"{file}: has {what}, which would be lost: change it by hand")
        if not isinstance(document.data, dict):
            raise ToolcribError(f"{file}:1: expected a JSON object")
        data = document.data
    entries = data.setdefault(SERVERS, {})
    if not isinstance(entries, dict):
        raise ToolcribError(f"{file}: {SERVERS}: expected an object with servers by name")
    change(entries)
    try:
        written = json.dumps(data, indent=2, ensure_ascii=False)
        written.encode()
    except UnicodeEncodeError:
        written = json.dumps(data, indent=2)
    return f"{written}\n"
