"""Tools for what a server has beside its tools: resources to read, and prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen

from toolcrib import (
    Accesses,
    GenericDisplay,
    RunnableExecution,
    Tool,
    ToolContext,
    ToolContribution,
    ToolResult,
    arguments_matcher,
    qualify_tool_name,
)
from toolcrib_features.mcp.content import Content
from toolcrib_features.mcp.model import ServerConfig, ServerError, ServerUnreachable, State
from toolcrib_features.mcp.plain import line
from toolcrib_features.mcp.server_tool import McpExecution, failed

if TYPE_CHECKING:
    from toolcrib_features.mcp.connection import Connection

MAX_LISTED_CHARS = 300
"""Of the description of one resource or prompt."""


class ReadyServer(Protocol):
    """What these tools need of their server."""

    @property
    def state(self) -> State: ...

    async def ready(self) -> Connection: ...


Ask = Callable[["Connection", Mapping[str, Any], Content], Awaitable[None]]
"""Asks a server for something and puts it into the content."""


def reader_name(server: str) -> str:
    """The tool that reads the resources of a server."""
    return qualify_tool_name(server, "read_resource")


def extras(
    config: ServerConfig,
    offers: Collection[str],
    server: Callable[[], ReadyServer],
    taken: Collection[str],
) -> list[ToolContribution]:
    """The tools for what a server offers: `resources`, `prompts`.

    A name that a tool of the server's own has is left to it.
    """
    made = []
    for extra in _EXTRAS:
        name = qualify_tool_name(config.name, extra.name)
        if extra.offer in offers and name not in taken:
            made.append(
                ToolContribution(
                    name=name,
                    factory=ExtraTool(name, extra, config, server),
                    domain="mcp",
                    source="mcp",
                    feature="mcp",
                    disclosure="deferred" if config.deferred else "inline",
                )
            )
    return made


@frozen(kw_only=True)
class _Extra:
    name: str
    offer: str
    description: str
    ask: Ask
    parameters: Mapping[str, Any]


class ExtraTool(Tool[dict[str, Any]]):
    """A tool that asks a server for what is no tool of it; it changes nothing."""

    Input = {"type": "object"}  # noqa: RUF012  # each tool has its own `parameters`

    def __init__(
        self, name: str, extra: _Extra, config: ServerConfig, server: Callable[[], ReadyServer]
    ) -> None:
        self.name = name
        self._extra = extra
        self._config = config
        self._server = server

    @property
    def description(self) -> str:
        return self._extra.description.format(server=repr(line(self._config.name, 100)))

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self._extra.parameters

    def resolve_execution(self, args: dict[str, Any]) -> RunnableExecution:
        async def execute(context: ToolContext) -> ToolResult:
            return await self._ask(args, context)

        summary = f"{self._extra.name} (MCP server {line(self._config.name, 100)})"
        return McpExecution(
            execute=execute,
            approval_rule=self.name,
            accesses=Accesses.none(),
            display=GenericDisplay(summary=summary, detail=args),
            description=f"call {summary}",
            matches_rule=arguments_matcher(args, self.parameters["properties"]),
            defined_as=self._config.identity,
            reads_only=self._config.trusted,
        )

    async def _ask(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        server = self._server()
        content = Content(save=context.save)
        try:
            try:
                await self._extra.ask(await server.ready(), args, content)
            except ServerUnreachable:  # asking twice does no harm
                content = Content(save=context.save)
                await self._extra.ask(await server.ready(), args, content)
        except ServerError as error:
            return failed(error, self._config.name, server.state)
        return content.result(self.name)


async def _list_resources(
    connection: Connection, args: Mapping[str, Any], content: Content
) -> None:
    found = [_listed(each, "uri") for each in await connection.list_resources()]
    try:
        templates = await connection.list_resource_templates()
    except ServerUnreachable:
        raise
    except ServerError:  # a server with resources need not know of templates
        templates = []
    if templates:
        found += ["", "Templates, to be filled in:"]
        found += [_listed(each, "uriTemplate") for each in templates]
    content.text("\n".join(found) or "The server lists no resources.")


async def _read_resource(connection: Connection, args: Mapping[str, Any], content: Content) -> None:
    answer = await connection.read_resource(args["uri"])
    contents = [each for each in _items(answer.get("contents")) if isinstance(each, Mapping)]

    def convert() -> None:
        for each in contents:
            if len(contents) > 1:
                content.text(f"--- {line(each.get('uri'), 1_000)} ---")
            content.resource(each)

    await asyncio.to_thread(convert)
    if not contents:
        content.text("The resource has no contents.")


async def _list_prompts(connection: Connection, args: Mapping[str, Any], content: Content) -> None:
    lines = []
    for prompt in await connection.list_prompts():
        lines.append(_listed(prompt, "name"))
        for each in _items(prompt.get("arguments") if isinstance(prompt, Mapping) else None):
            needed = isinstance(each, Mapping) and each.get("required") is True
            lines.append(f"  {_listed(each, 'name')}{' (required)' if needed else ''}")
    content.text("\n".join(lines) or "The server lists no prompts.")


async def _get_prompt(connection: Connection, args: Mapping[str, Any], content: Content) -> None:
    answer = await connection.get_prompt(args["name"], args.get("arguments") or {})

    def convert() -> None:
        for message in _items(answer.get("messages")):
            if isinstance(message, Mapping):
                content.text(f"--- {line(message.get('role'), 50) or 'unknown'} ---")
                content.add_all(message.get("content"))

    await asyncio.to_thread(convert)


def _listed(item: object, key: str) -> str:
    """One line for a thing of a list: what it is asked for by, and what is said of it."""
    if not isinstance(item, Mapping):
        return "(something that is no object)"
    facts: Iterable[str] = (
        line(item.get("title"), 200) or (line(item.get("name"), 200) if key != "name" else ""),
        line(item.get("mimeType"), 100),
        f"{size:,} bytes" if isinstance(size := item.get("size"), int) else "",
    )
    told = ", ".join(filter(None, facts))
    about = line(item.get("description"), MAX_LISTED_CHARS)
    return (
        (line(item.get(key), 1_000) or f"(no {key})")
        + (f" ({told})" if told else "")
        + (f": {about}" if about else "")
    )


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(required: tuple[str, ...] = (), **properties: Any) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_EXTRAS = (
    _Extra(
        name="list_resources",
        offer="resources",
        description="List the resources of the MCP server {server}: what it lets you read, by URI.",
        ask=_list_resources,
        parameters=_object(),
    ),
    _Extra(
        name="read_resource",
        offer="resources",
        description="Read a resource of the MCP server {server}.",
        ask=_read_resource,
        parameters=_object(
            ("uri",), uri={"type": "string", "minLength": 1, "description": "As it is listed."}
        ),
    ),
    _Extra(
        name="list_prompts",
        offer="prompts",
        description="List the prompts that the MCP server {server} has, with their arguments.",
        ask=_list_prompts,
        parameters=_object(),
    ),
    _Extra(
        name="get_prompt",
        offer="prompts",
        description="Get a prompt of the MCP server {server}, its arguments filled in.",
        ask=_get_prompt,
        parameters=_object(
            ("name",),
            name={"type": "string", "minLength": 1, "description": "As it is listed."},
            arguments={
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "The values of its arguments, by name.",
            },
        ),
    ),
)
EXTRA_NAMES = tuple(extra.name for extra in _EXTRAS)
