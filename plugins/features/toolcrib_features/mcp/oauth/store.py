"""The private file with the logins at one server, shared by every process of the user."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from attrs import evolve

from toolcrib import StateError, change_private_file, read_private_file
from toolcrib_features.mcp.model import ServerConfig
from toolcrib_features.mcp.names import command_line
from toolcrib_features.mcp.oauth.record import Grant, Record, parsed, written

LIMIT_BYTES = 1 << 20
RENEWAL_S = 45.0
"""Seconds that another process may take for renewing a token."""


class LoggedOut(Exception):
    """There was a logout since: what a login or a renewal has brought must not be kept."""


class LoginFile:
    """What is kept of a server; another URL under the same name has another file.

    Raises StateError from each method when the file cannot be used: it is damaged, too large, or
    of somebody else.
    """

    def __init__(self, state_folder: Path, config: ServerConfig) -> None:
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", config.name)[:40]
        key = hashlib.sha256(f"{config.name}\0{config.url}".encode()).hexdigest()[:24]
        self.path = state_folder / "credentials" / "mcp" / f"{name}-{key}.json"
        self._server, self._url = config.name, config.url

    def read(self) -> Record | None:
        """None when there has never been a login."""
        return self._parsed(read_private_file(self.path, limit_bytes=LIMIT_BYTES))

    def begin(self) -> Record:
        """The record as a login finds it; a damaged one is replaced."""
        return self._change(lambda record: record or Record(), replace_damaged=True)

    def change(self, epoch: str, change: Callable[[Record], Record]) -> Record:
        """Change the record of an epoch. Raises LoggedOut when there is another one by now."""

        def same(record: Record | None) -> Record:
            if record is None or record.epoch != epoch:
                raise LoggedOut
            return change(record)

        return self._change(same)

    def replace_grant(self, epoch: str, before: Grant, after: Grant | None) -> Grant | None:
        """Put a renewed grant, or none, in the place of another; gives the one that counts now.

        What another process has put there in the meantime stays.
        """

        def change(record: Record) -> Record:
            return evolve(record, grant=after) if record.grant == before else record

        return self.change(epoch, change).grant

    def clear(self) -> bool:
        """Forget everything; tells whether there was anything."""
        try:
            record = self.read()
        except StateError:
            with contextlib.suppress(FileNotFoundError):
                self.path.unlink()
            return True
        if record is None:
            return False
        # Emptied, not removed: whoever is changing the file just now would bring it back.
        self._change(lambda _: Record())
        return record.grant is not None or record.client is not None

    @contextlib.asynccontextmanager
    async def renewing(self) -> AsyncIterator[None]:
        """Keep every other task and process from renewing the token of this server.

        Raises StateError when another one takes too long.
        """
        import fcntl

        lock = self.path.parent / f".{self.path.name}.renewing"
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StateError(f"cannot lock {str(lock)!r}: {error.strerror}") from None
        give_up = time.monotonic() + RENEWAL_S
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > give_up:
                        text = f"another process has been renewing the token for {RENEWAL_S:g} s"
                        raise StateError(text) from None
                await asyncio.sleep(0.02)
            yield
        finally:
            os.close(descriptor)

    def _change(
        self, change: Callable[[Record | None], Record], *, replace_damaged: bool = False
    ) -> Record:
        after = Record()

        def edit(data: bytes | None) -> bytes:
            nonlocal after
            try:
                before = self._parsed(data)
            except StateError:
                if not replace_damaged:
                    raise
                before = None
            after = change(before)
            return written(after, server=self._server, url=self._url)

        change_private_file(self.path, edit, limit_bytes=LIMIT_BYTES)
        return after

    def _parsed(self, data: bytes | None) -> Record | None:
        if data is None:
            return None
        try:
            return parsed(data)
        except ValueError as error:
            raise StateError(
                f"the login at the MCP server {self._server!r} cannot be used: "
                f"{str(self.path)!r} is damaged ({error}). Log in again: "
                f"{command_line('login', self._server)}"
            ) from None
