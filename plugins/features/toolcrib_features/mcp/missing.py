"""Why there is no tool of a name that only one of a server can have, and what to do."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from importlib.util import find_spec

from toolcrib import MissingTool, Session
from toolcrib_features.mcp.member import Member
from toolcrib_features.mcp.names import BROUGHT, PREFIX, command_line, head_of, nearest
from toolcrib_features.mcp.plain import line, plain

_REASON_CHARS = 2_000


def why_missing(
    name: str, members: Collection[Member], removed: Iterable[str]
) -> MissingTool | None:
    """What is known of a tool that is not on offer; None when no server could have it."""
    if not name.startswith(PREFIX):
        return None
    for member in members:
        if name.startswith(head_of(member.config.name)):
            return MissingTool(reason=_state(member), remedy=_remedy(name, member))
    for server in removed:
        if name.startswith(head_of(server)):
            reason = f"the MCP server {server!r} was removed"
            return MissingTool(reason=reason, remedy="do not call its tools again")
    return unconfigured(name, [member.config.name for member in members])


def unconfigured(name: str, servers: Collection[str]) -> MissingTool | None:
    """What is known of a tool whose server is not among those that are configured."""
    server, separator, tool = name.removeprefix(PREFIX).partition("__")
    if not (name.startswith(PREFIX) and separator and server):
        return None
    if server.startswith(BROUGHT):
        reason = f"no feature that is on brings an MCP server {server!r}"
        remedy = "`toolcrib plugins` shows what is installed; turn its feature on under [features]"
        return MissingTool(reason=reason, remedy=remedy, known=False)
    reason = f"no MCP server {server!r} is configured"
    near = nearest(server, map(head_of, servers))
    remedy = "`toolcrib mcp list` shows which ones are, `toolcrib mcp add` adds one"
    if near is not None:
        remedy = f"did you mean {near + tool!r}? {remedy}"
    return MissingTool(reason=reason, remedy=remedy, known=False)


def turned_off(name: str, session: Session) -> MissingTool | None:
    """What is said of the tools of all servers while there may be none."""
    feature = session.main.features.get("mcp")
    if not name.startswith(PREFIX) or feature is None or feature.enabled:
        return None  # the plugin is blocked, which is told as of any other
    reason = f"the feature 'mcp' is off (by {feature.decided_by})"
    return MissingTool(reason=reason, remedy=feature.remedy)


def _state(member: Member) -> str:
    server = f"the MCP server {line(member.config.name, 100)!r}"
    error = plain(member.error, _REASON_CHARS)
    match member.state:
        case "disabled":
            return f"{server} is disabled"
        case "needs-auth":
            return f"{server} needs a login"
        case "connected":
            return error or f"{server} has no such tool now"
        case "starting" if member.known.listed is not None and not error:
            return f"{server} had no such tool when it last listed them"
        case "starting" if not error:
            return f"{server} has not been connected yet"
    return f"{server} failed: {error}" if error else f"{server} is not connected"


def _remedy(name: str, member: Member) -> str:
    config = member.config
    test = command_line("test", config.name)
    match member.state:
        case "disabled":
            return f"set enabled to true in its entry: {config.source}"
        case "needs-auth":
            return f"log in with {command_line('login', config.name)}"
        case "connected" | "starting" if member.known.listed is not None and not member.error:
            near = get_close_matches(name, [tool.name for tool in member.offered], n=1)
            return f"did you mean {near[0]!r}?" if near else f"{test} lists those that it has"
    if find_spec("mcp") is None:
        return "pip install 'toolcrib[mcp]'"
    if config.problem is not None:
        return f"change its entry: {config.source}"
    return f"have that mended, and try it with {test}"
