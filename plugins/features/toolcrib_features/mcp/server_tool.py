"""A tool of a server as the pipeline sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define, field, frozen

from toolcrib import (
    Accesses,
    GenericDisplay,
    RunnableExecution,
    Tool,
    ToolContext,
    ToolcribError,
    ToolResult,
    arguments_matcher,
    compile_schema,
)
from toolcrib_features.mcp.caller import called_by
from toolcrib_features.mcp.content import has_media, to_result
from toolcrib_features.mcp.model import (
    DefinitionChanged,
    RequestRefused,
    RequestTimedOut,
    ServerConfig,
    ServerError,
    ServerNeedsLogin,
    ServerUnreachable,
    State,
    ToolDefinition,
)
from toolcrib_features.mcp.names import command_line
from toolcrib_features.mcp.plain import line, plain

if TYPE_CHECKING:
    from toolcrib_features.mcp.connection import Connection, OnProgress

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
MAX_DESCRIPTION_CHARS = 4_096
CUT = "\n[The description was cut here.]"
NEWS_EVERY_S = 0.2
MAX_NEWS = 200
"""Lines of the server's log that one call passes on."""


class ServerLike(Protocol):
    """What a tool needs of its server."""

    @property
    def state(self) -> State: ...
    @property
    def connection(self) -> Connection | None: ...

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        repeatable: bool,
        changed: Callable[[], bool] = ...,
        on_status: Callable[[str], None] = ...,
        on_progress: OnProgress | None = None,
    ) -> Mapping[str, Any]: ...


@frozen(kw_only=True)
class McpExecution(RunnableExecution):
    """A call of a server's tool, with what the server says of the tool, if it is trusted.

    `reads_only` says that the tool changes nothing, `destructive` that it may destroy something.
    """

    reads_only: bool = False
    destructive: bool = False


class McpTool(Tool[dict[str, Any]]):
    """A tool of a server.

    Args:
        name: the name for models.
        definition: what the server says of it.
        config: the server.
        server: gives its life, which is made when the first call needs it.
        changed: whether the server has defined the tool otherwise since.
    """

    Input = {"type": "object"}  # noqa: RUF012  # each tool has its own `parameters`

    def __init__(
        self,
        name: str,
        definition: ToolDefinition,
        config: ServerConfig,
        server: Callable[[], ServerLike],
        changed: Callable[[], bool] = lambda: False,
    ) -> None:
        self.name = name
        self._definition = definition
        self._config = config
        self._server = server
        self._changed = changed

    @cached_property
    def description(self) -> str:
        """The server's own text, bounded."""
        text = plain(self._definition.description, MAX_DESCRIPTION_CHARS)
        if not text:
            return f"{self._title} of the MCP server {line(self._config.name, 100)!r}."
        if text.endswith("…") and len(text) >= MAX_DESCRIPTION_CHARS - 1:
            text = text[: MAX_DESCRIPTION_CHARS - len(CUT)].rstrip() + CUT
        return text

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The server's schema; whether it can be compiled shows at the first call."""
        return self._definition.parameters

    def repair_arguments(self, arguments: Any) -> Any:
        """Arguments that the schema refuses, without nulls for what may be left out."""
        if not isinstance(arguments, Mapping):
            return arguments
        try:
            return compile_schema(self.parameters, "mcp").restore(arguments)
        except ToolcribError:  # no arguments fit, which the check of the schema has said
            return arguments

    @cached_property
    def annotations(self) -> Mapping[str, Any]:
        """What the server says of the tool for people and programs; nothing if it is not trusted.

        The keys are those of the protocol: `title`, `readOnlyHint`, `destructiveHint`.
        """
        if not self._config.trusted:
            return {}
        hints = {name: self._definition.hint(name) for name in HINTS}
        return {"title": self._title} | {k: v for k, v in hints.items() if v is not None}

    def resolve_execution(self, args: dict[str, Any]) -> RunnableExecution:
        trusted = self._config.trusted
        reads_only = trusted and self._definition.hint("readOnlyHint") is True
        destructive = self._definition.hint("destructiveHint") is True

        async def execute(context: ToolContext) -> ToolResult:
            return await self._call(args, context)

        summary = f"{self._title} (MCP server {line(self._config.name, 100)})"
        return McpExecution(
            execute=execute,
            approval_rule=self.name,
            accesses=Accesses.none() if reads_only or self._config.parallel else None,
            display=GenericDisplay(summary=summary, detail=args),
            description=f"call {summary}",
            matches_rule=arguments_matcher(args, self.parameters.get("properties")),
            defined_as=(self._config.identity, self._definition.hash),
            reads_only=reads_only,
            destructive=trusted and destructive and not reads_only,
        )

    @property
    def _title(self) -> str:
        title = self._definition.data.get("title")
        if not title and isinstance(about := self._definition.data.get("annotations"), Mapping):
            title = about.get("title")
        return line(title, 100) or line(self._definition.name, 100)

    async def _call(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        server = self._server()
        repeatable = any(self._definition.hint(hint) for hint in ("readOnlyHint", "idempotentHint"))
        news = News(context)
        side = server.connection.side if server.connection and context.watched else None
        log = side.following_log(news.logged) if side else nullcontext()
        try:
            with log, called_by(context.agent, context.turn_id):
                answer = await server.call(
                    self._definition.name,
                    args,
                    repeatable=repeatable,
                    changed=self._changed,
                    on_status=news.status,
                    on_progress=news.progress,
                )
        except DefinitionChanged:
            return ToolResult.error(
                f"{self.name} was not run: its server has changed the tool since you called it. "
                "Look at its definition, then call it again if that still fits."
            )
        except ServerError as error:
            return failed(error, self._config.name, server.state)
        reader = None
        if server.connection is not None and server.connection.has("resources"):
            from toolcrib_features.mcp.extras import reader_name

            reader = reader_name(self._config.name)
        return await converted(answer, context, reader)


async def converted(
    answer: Mapping[str, Any], context: ToolContext, reader: str | None
) -> ToolResult:
    """The answer as a result; what has to be decoded is decoded beside the event loop."""

    def convert() -> ToolResult:
        return to_result(answer, tool=context.tool_name, save=context.save, reader=reader)

    blocks = answer.get("content")
    heavy = isinstance(blocks, list) and has_media(blocks)
    return await asyncio.to_thread(convert) if heavy else convert()


@define
class News:
    """Passes on what the server says while a call runs, at a rate that nobody drowns in."""

    _context: ToolContext
    _last: float = field(default=-1.0, init=False)
    _lines: int = field(default=0, init=False)

    def status(self, text: str) -> None:
        """What the client itself does."""
        self._context.update(text)

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        percent = None
        if total and total > 0 and progress >= 0:
            percent = min(100.0, 100.0 * progress / total)
        if percent == 100.0 or self._may_speak():
            self._context.update(
                line(message, 500) or None, kind="progress", percent=percent, replace=True
            )

    def logged(self, level: str, text: str) -> None:
        if level == "debug" or self._lines >= MAX_NEWS or not self._may_speak():
            return
        self._lines += 1
        self._context.update(f"{level}: {text}")

    def _may_speak(self) -> bool:
        now = monotonic()
        if now - self._last < NEWS_EVERY_S:
            return False
        self._last = now
        return True


def failed(error: ServerError, server: str, state: State) -> ToolResult:
    """What a model is told of a call that did not come off, and what to do."""
    named = f"The MCP server {line(server, 100)!r}"
    said = plain(str(error), 4_000) or type(error).__name__
    if state == "removed":
        text = f"{named} was removed. Do not call its tools again."
    elif isinstance(error, ServerNeedsLogin):
        text = (
            f"{named} needs a login, so nothing was done. Ask the user to run "
            f"{command_line('login', line(server, 100))}, then call again. ({said})"
        )
    elif isinstance(error, RequestTimedOut):
        text = (
            f"{named} timed out: {said}. It may have done a part of its work: find that out before "
            "you call again, or ask the user for a higher tool_timeout_s."
        )
    elif isinstance(error, RequestRefused):
        text = f"{named} refused the call (error {error.code}): {said}"
    elif isinstance(error, ServerUnreachable) and not error.unsent:
        text = (
            f"{named} is disconnected: {said}\nIf the call had reached it, its outcome is unknown: "
            "find out before you call again."
        )
    elif isinstance(error, ServerUnreachable):
        text = f"{named} could not be reached, so nothing was done: {said}"
    else:
        text = f"{named} failed: {said}"
    return ToolResult.error(text)
