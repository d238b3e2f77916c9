"""The logins of the user at the servers of a session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from attrs import define, field

from toolcrib import StateError
from toolcrib_features.mcp.model import ServerConfig, ServerError, ServerNeedsLogin
from toolcrib_features.mcp.oauth.store import LoginFile

if TYPE_CHECKING:
    from toolcrib_features.mcp.oauth.auth import LoginAuth
    from toolcrib_features.mcp.oauth.exchange import Outcome, Paste
    from toolcrib_features.mcp.oauth.flow import Invitation
    from toolcrib_features.mcp.oauth.renewal import Renewal

LOGIN_S = 900.0
"""Seconds that a user may take for a login."""

LoginState = Literal[
    "not-applicable", "bearer-token", "oauth-required", "oauth-authorized", "oauth-expired"
]
"""`oauth-required` says that there is no login, whether or not the server wants one;
`oauth-expired` that it has ended and cannot be renewed."""


@define(eq=False)
class _Pending:
    """A login under way, and those who wait for it."""

    path: Path
    task: asyncio.Task[Outcome] = field(init=False)
    waiting: int = 0
    shows: list[Callable[[Invitation], None]] = field(factory=list)
    invitation: Invitation | None = None

    def invite(self, invitation: Invitation) -> None:
        self.invitation = invitation
        for show in self.shows:
            show(invitation)


class Logins:
    """Made for one event loop; what is kept is shared with all processes of the user."""

    def __init__(self, state_folder: Path) -> None:
        self._state_folder = state_folder
        self._pending: dict[Path, _Pending] = {}
        self._tasks: set[asyncio.Task[Outcome]] = set()
        self._renewals: dict[Path, Renewal] = {}

    def file(self, config: ServerConfig) -> Path:
        """The file that changes when the user logs in or out, here or elsewhere."""
        return self._file(config).path

    def state(self, config: ServerConfig) -> LoginState:
        """How this server is let in at; a file that cannot be used counts as no login."""
        if config.bearer_token_env is not None:
            return "bearer-token"
        if not uses_logins(config):
            return "not-applicable"
        try:
            record = self._file(config).read()
        except StateError:
            return "oauth-required"
        if record is None or record.grant is None:
            return "oauth-required"
        if record.grant.expired(time.time()) and record.grant.refresh_token is None:
            return "oauth-expired"
        return "oauth-authorized"

    def auth_for(self, config: ServerConfig) -> LoginAuth | None:
        """What lets the requests of a connection in; None for a server without logins."""
        if not uses_logins(config):
            return None
        from toolcrib_features.mcp.oauth.auth import LoginAuth

        return LoginAuth(config, self._file(config), self._renewal(config))

    async def login(
        self,
        config: ServerConfig,
        show: Callable[[Invitation], None],
        *,
        paste: Paste | None = None,
        timeout_s: float = LOGIN_S,
    ) -> Outcome:
        """Have the user log in, unless the login that there is suffices.

        `show` gets the page to log in at; nothing is opened. `paste` is for users whose browser
        cannot come back to this machine. Who asks while a login at the same server is under way
        joins it; it is given up when the last one who waits for it is cancelled.

        Raises:
            ServerNeedsLogin: the user has refused, or took longer than `timeout_s` seconds.
            ServerUnreachable: the server or its authority does not answer.
            ServerError: anything else that keeps the login from being completed.
        """
        if not uses_logins(config):
            raise ServerError(f"the MCP server {config.name!r} is configured to need no login")
        file = self._file(config)
        pending = self._pending.get(file.path)
        if pending is None:
            pending = self._pending[file.path] = _Pending(file.path)
            work = self._log_in(config, file, pending, paste, timeout_s)
            pending.task = asyncio.create_task(work)
            self._tasks.add(pending.task)
            pending.task.add_done_callback(self._tasks.discard)
        elif pending.invitation is not None:
            show(pending.invitation)
        pending.shows.append(show)
        pending.waiting += 1
        try:
            return await asyncio.shield(pending.task)
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if pending.task.cancelled() and own is not None and not own.cancelling():
                raise ServerNeedsLogin(f"the login at {config.name!r} was given up") from None
            raise
        finally:
            pending.waiting -= 1
            pending.shows.remove(show)
            if not pending.waiting:
                self._give_up(pending)

    def forget(self, config: ServerConfig) -> bool:
        """Log out: forget the tokens and the registration, and give up a login under way.

        Tells whether there was anything to forget. Raises StateError when it is not possible.
        """
        file = self._file(config)
        if (pending := self._pending.get(file.path)) is not None:
            self._give_up(pending)
        return file.clear()

    async def aclose(self) -> None:
        """Give up logins under way, and wait for renewals: their answers have to be stored."""
        for pending in [*self._pending.values()]:
            self._give_up(pending)
        if self._tasks:
            await asyncio.wait(self._tasks)
        for renewal in self._renewals.values():
            await renewal.drain()

    async def _log_in(
        self,
        config: ServerConfig,
        file: LoginFile,
        pending: _Pending,
        paste: Paste | None,
        timeout_s: float,
    ) -> Outcome:
        from toolcrib_features.mcp.oauth.flow import Invitation, log_in

        expires_at = time.time() + timeout_s

        def invite(url: str) -> None:
            pending.invite(Invitation(server=config.name, url=url, expires_at=expires_at))

        try:
            async with asyncio.timeout(timeout_s):
                try:
                    grant = await self._renewal(config).current()
                except ServerError:
                    grant = None
                return await log_in(config, file, grant=grant, invite=invite, paste=paste)
        except TimeoutError:
            text = f"nobody has logged in at {config.name!r} within {timeout_s:g} s"
            raise ServerNeedsLogin(text) from None
        finally:
            self._remove(pending)

    def _give_up(self, pending: _Pending) -> None:
        self._remove(pending)  # at once, so that nobody joins it any more
        pending.task.cancel()

    def _remove(self, pending: _Pending) -> None:
        if self._pending.get(pending.path) is pending:
            del self._pending[pending.path]

    def _file(self, config: ServerConfig) -> LoginFile:
        return LoginFile(self._state_folder, config)

    def _renewal(self, config: ServerConfig) -> Renewal:
        from toolcrib_features.mcp.oauth.renewal import Renewal

        path = self.file(config)
        if path not in self._renewals:
            self._renewals[path] = Renewal(config, self._file(config))
        return self._renewals[path]


def uses_logins(config: ServerConfig) -> bool:
    """Whether a login can help: the server is remote, and nothing else was given to let us in."""
    if config.transport == "stdio" or config.bearer_token_env is not None:
        return False
    return config.auth == "oauth" or not config.headers
