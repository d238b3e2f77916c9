"""The tool `mcp__SERVER__authenticate`, which stands in for the tools of a server without login."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from toolcrib import (
    Accesses,
    Execution,
    RunnableExecution,
    Tool,
    ToolContext,
    ToolContribution,
    ToolResult,
    qualify_tool_name,
    read_description,
)
from toolcrib_features.mcp.model import ServerConfig, ServerError
from toolcrib_features.mcp.oauth.logins import LOGIN_S, Logins
from toolcrib_features.mcp.plain import line

if TYPE_CHECKING:
    from toolcrib_features.mcp.oauth.flow import Invitation

Reconnect = Callable[[], Awaitable[None]]


class AuthenticateTool(Tool):
    """Has the user log in at one server, and connects to it."""

    Input = {"type": "object", "properties": {}, "additionalProperties": False}  # noqa: RUF012

    def __init__(self, config: ServerConfig, logins: Logins, reconnect: Reconnect) -> None:
        self.name = qualify_tool_name(config.name, "authenticate")
        self._config = config
        self._logins = logins
        self._reconnect = reconnect

    @property
    def description(self) -> str:
        server = line(self._config.name, 100)
        return read_description(__package__, server=server, minutes=f"{LOGIN_S / 60:g}")

    def resolve_execution(self, args: object) -> Execution:
        return RunnableExecution(
            execute=self._execute,
            approval_rule=self.name,
            accesses=Accesses.none(),  # other calls need not wait for the user
            description=f"Logging in at {self._config.name}",
            defined_as=self._config.identity,
        )

    async def _execute(self, context: ToolContext) -> ToolResult:
        server, page = self._config.name, ""

        def show(invitation: Invitation) -> None:
            nonlocal page
            page = invitation.url
            context.update(kind="custom", data=_authorization_url(invitation))
            context.update(f"To log in at {server}, open this page in a browser: {page}")

        try:
            outcome = await self._logins.login(self._config, show)
        except ServerError as error:
            where = f" The login page was: {page}" if page else ""
            return ToolResult(f"{error}.{where}", is_error=True)
        try:
            await self._reconnect()
        except ServerError as error:
            text = f"The login at {server!r} is good, but it cannot be connected: {error}"
            return ToolResult(text, is_error=True)
        how = {
            "authorized": "The user has logged in at",
            "already-authorized": "There was a good login already at",
            "not-needed": "No login is needed at",
        }[outcome]
        return ToolResult(f"{how} the MCP server {server!r}. Its tools can be used now.")


def authenticate_contribution(
    config: ServerConfig, logins: Logins, reconnect: Reconnect
) -> ToolContribution:
    """The tool for a server that needs a login; `reconnect` raises ServerError when it fails."""
    tool = AuthenticateTool(config, logins, reconnect)
    return ToolContribution(name=tool.name, factory=tool, domain="mcp", source="mcp", feature="mcp")


def _authorization_url(invitation: Invitation) -> dict[str, str]:
    expires = datetime.fromtimestamp(invitation.expires_at, UTC)
    return {
        "type": "mcp.oauth.authorization_url",
        "serverName": invitation.server,
        "authorizationUrl": invitation.url,
        "expiresAt": expires.isoformat(timespec="seconds").replace("+00:00", "Z"),
    }
