"""What the parts of the MCP client tell one another: servers, their tools, what goes wrong."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from attrs import field, frozen

from toolcrib_features.mcp.closing import closed

Transport = Literal["stdio", "http", "sse"]
State = Literal["disabled", "starting", "connected", "failed", "needs-auth", "removed"]
"""What becomes of a server. `failed` says that the last attempt did; calls try again."""


@frozen(kw_only=True)
class ServerConfig:
    """One server as it is configured.

    Attributes:
        name: as the user wrote it.
        command, args, env, cwd: of a server that is started here (`stdio`).
        url, headers: of one that is reached over the network.
        auth: `oauth` asks for a login although headers are given.
        bearer_token_env: the environment variable with the token, read at each connection.
        startup_timeout_s: seconds for connecting and listing the tools; None is the default.
        tool_timeout_s: seconds of silence after which a call has failed; None is the default.
        enabled_tools, disabled_tools: names or globs of tools as the server calls them; None
            enables all.
        deferred: the tools are announced by name and loaded when the model selects them.
        trusted: what the server says of its tools (read-only, destructive) is believed.
        parallel: its calls may run at the same time as any others.
        roots: the server is told the folders of the workspace when it asks for them.
        pinned: a tool whose definition has changed is disabled until the user accepts it.
        written: the command with its arguments, or the address, before variables are put in.
        inserted: the values of variables that were put in, which may be secrets.
        source: where it is configured, `file:line`.
        problem: why it cannot be used.
    """

    name: str
    transport: Transport = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(factory=dict, repr=False)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    auth: Literal["oauth"] | None = None
    bearer_token_env: str | None = None
    enabled: bool = True
    startup_timeout_s: float | None = None
    tool_timeout_s: float | None = None
    enabled_tools: tuple[str, ...] | None = None
    disabled_tools: tuple[str, ...] = ()
    deferred: bool = False
    trusted: bool = False
    parallel: bool = False
    roots: bool = True
    pinned: bool = True
    written: tuple[str, ...] = field(default=(), repr=False)
    inserted: frozenset[str] = field(default=frozenset(), repr=False)
    source: str = field(default="", eq=False)
    problem: str | None = None

    @property
    def target(self) -> str:
        """What is started or reached, for people: as it is written, without what looks secret."""
        import shlex

        from toolcrib import redacted

        written = self.written or ((self.command, *self.args) if self.command else (self.url,))
        plain = self.transport != "stdio" or not written[0]
        text: str = redacted(written[0] if plain else shlex.join(written))
        return text

    def without_values(self, text: str) -> str:
        """The text without the values of its environment and of variables that were put in.

        Those that are short or paths stay: they are no secrets, and would make it unreadable.
        """
        variables = (value for value in self.inserted if not value.startswith("/"))
        for value in sorted({*self.env.values(), *variables}, key=len, reverse=True):
            if len(value) >= 6:
                text = text.replace(value, "[hidden]")
        return text

    @cached_property
    def identity(self) -> str:
        """Tells servers apart that only share a name; secrets have no part in it."""
        # As it is written, for a token in an argument may be another one tomorrow.
        program = list(self.written or (self.command, *self.args)) if self.command else []
        parts = [self.name, self.transport, program, self.cwd, self.url]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


@frozen(kw_only=True)
class ToolDefinition:
    """A tool as its server lists it; `data` is the object from the wire, and nothing but that."""

    name: str
    data: Mapping[str, Any] = field(repr=False)

    @property
    def description(self) -> str:
        text = self.data.get("description")
        return text if isinstance(text, str) else ""

    @property
    def input_schema(self) -> Any:
        return self.data.get("inputSchema")

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The input schema as it is used here, closed and mended."""
        schema = self.input_schema
        return closed(schema) if isinstance(schema, Mapping) else {"type": "object"}

    def hint(self, name: str) -> bool | None:
        """An annotation such as `readOnlyHint`; None when the server does not say."""
        annotations = self.data.get("annotations")
        value = annotations.get(name) if isinstance(annotations, Mapping) else None
        return value if isinstance(value, bool) else None

    @cached_property
    def hash(self) -> str:
        """Changes with anything that the model or a person would judge the tool by."""
        said = {key: value for key, value in self.data.items() if key not in ("_meta", "icons")}
        canonical = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


@frozen(kw_only=True)
class Listing:
    """The tools of a server, and those that cannot be used: their names with the reasons.

    `offers` is what else it has: `prompts`, `resources`.
    """

    tools: tuple[ToolDefinition, ...]
    quarantined: Mapping[str, str] = field(factory=dict)
    offers: tuple[str, ...] = ()


class ServerError(Exception):
    """Something went wrong with a server; the text is for people and models, without secrets."""


class ServerUnreachable(ServerError):
    """There is no connection (any more).

    `unsent` tells of a call that the server cannot have received it.
    """

    def __init__(self, message: str, *, unsent: bool = False) -> None:
        super().__init__(message)
        self.unsent = unsent


class ServerNeedsLogin(ServerError):
    """The server does not let us in without a login of the user's.

    `in_part` tells that it lets in other requests with the login that there is.
    """

    def __init__(self, message: str, *, in_part: bool = False) -> None:
        super().__init__(message)
        self.in_part = in_part


class DefinitionChanged(ServerError):
    """A tool is not what it was when it was called, so that it was not run."""


class RequestRefused(ServerError):
    """The server answered with a protocol error of its own."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


class RequestTimedOut(ServerError):
    """No answer within the limit; the server was told to stop."""
