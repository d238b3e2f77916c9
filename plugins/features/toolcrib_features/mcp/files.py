"""Reads `mcp.json` files, which may come with a workspace: bounded, and no pipe is waited for."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from toolcrib import Notice
from toolcrib_features.mcp.jsonc import Document, JsonError, parse

SERVERS = "mcpServers"
MAX_BYTES = 1 << 20


class BadFile(Exception):
    """A file that cannot be used; `notice` says why."""

    def __init__(self, notice: Notice) -> None:
        super().__init__(str(notice))
        self.notice = notice


@frozen
class ServersFile:
    """An `mcp.json` that was read."""

    path: Path
    document: Document

    @property
    def servers(self) -> Mapping[str, Any]:
        """The entries by name, as they are written."""
        found: Mapping[str, Any] = self.document.data.get(SERVERS) or {}
        return found

    def notice(self, text: str, *place: str | int) -> Notice:
        """Something to say about a place in the file."""
        line = self.document.line(place)
        key = ".".join(map(str, place))
        return Notice(file=str(self.path), line=line, key=key, text=text)

    def locate(self, *place: str | int) -> str:
        """The place as `file:line`."""
        return f"{self.path}:{self.document.line(place)}"


def read_servers_file(path: Path, *, owners: frozenset[int] | None = None) -> ServersFile | None:
    """The file; None when there is none or it is blank.

    Args:
        owners: the users who may have written it; None trusts all.

    Raises:
        BadFile: it cannot be read, or is no JSON object with servers by name.
    """
    text = read_text(path, owners=owners)
    if text is None or not text.strip():
        return None
    try:
        read = ServersFile(path, parse(text))
    except JsonError as error:
        said = f"is not valid JSON: {error}"
        raise BadFile(
            Notice(file=str(path), line=error.line, column=error.column, text=said)
        ) from None
    shape = f'expected an object {{"{SERVERS}": {{NAME: {{...}}}}}}'
    if not isinstance(read.document.data, Mapping):
        raise BadFile(read.notice(shape))
    servers = read.document.data.get(SERVERS)
    if servers is not None and not isinstance(servers, Mapping):
        raise BadFile(read.notice(shape, SERVERS))
    return read


def read_text(
    path: Path, *, limit_bytes: int = MAX_BYTES, owners: frozenset[int] | None = None
) -> str | None:
    """The text of a file; None when there is none. Raises BadFile when it cannot be read."""
    try:
        content = _content(path, limit_bytes, owners)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        text = f"cannot be read: {error.strerror or error}"
        raise BadFile(Notice(file=str(path), text=text)) from None
    if len(content) > limit_bytes:
        text = f"has more than {limit_bytes} bytes, which no list of servers needs"
        raise BadFile(Notice(file=str(path), text=text))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadFile(Notice(file=str(path), line=line, text="is not UTF-8 text")) from None


def _content(path: Path, limit_bytes: int, owners: frozenset[int] | None) -> bytes:
    """The first bytes of a file, one more than the limit when there are more."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadFile(Notice(file=str(path), text="is not a regular file"))
        if owners is not None and status.st_uid not in owners:
            text = "ignored, since it belongs to another user than you and the workspace"
            raise BadFile(Notice(file=str(path), text=text))
        with open(descriptor, "rb", closefd=False) as opened:
            return opened.read(limit_bytes + 1)
    finally:
        os.close(descriptor)
