"""A thousand deferred tools of twenty servers: the table, the announcement, and finding some."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

from attrs import evolve

import toolcrib
from benchmarks.lab import Lab
from benchmarks.record import Benchmark, Measured
from benchmarks.timing import clock, typical
from toolcrib_features.mcp.model import ServerConfig, ToolDefinition
from toolcrib_features.mcp.server_tool import McpTool

SERVERS = 20
MAX_MS = 50.0
QUERY = "list open issues of a repository"
_VERBS = ("list", "create", "update", "delete", "search")
_THINGS = ("issue", "page", "repository", "invoice", "table", "message", "ticket", "file")


async def table(lab: Lab) -> Measured:
    """The last server comes, and all that is active is listed."""
    definitions = _definitions(lab.sizes.contributions)

    async def floor(session: toolcrib.Session) -> None:
        json.dumps([tool.data for tool in definitions])

    async def ours(session: toolcrib.Session) -> None:
        _offer(session, definitions, SERVERS - 1)
        listed = session.tools()
        assert sum(tool.disclosure == "deferred" for tool in listed) == len(definitions)

    return await _measured(
        lab, floor, ours, prepare=lambda s: _offer(s, definitions, *range(SERVERS - 1))
    )


async def announcement(lab: Lab) -> Measured:
    """All of them announced to a new conversation."""
    definitions = _definitions(lab.sizes.contributions)

    async def floor(session: toolcrib.Session) -> None:
        "\n".join(f"{tool.name}: {tool.description[:80]}" for tool in definitions)

    async def ours(session: toolcrib.Session) -> None:
        (message,) = session.context_messages()
        assert len(message.origin["added"]) == len(definitions)

    return await _measured(
        lab, floor, ours, prepare=lambda s: _offer(s, definitions, *range(SERVERS))
    )


async def keywords(lab: Lab) -> Measured:
    """A call of select_tools with keywords, and the message with the definitions."""
    definitions = _definitions(lab.sizes.contributions)

    def prepare(session: toolcrib.Session) -> None:
        _offer(session, definitions, *range(SERVERS))
        session.context_messages()

    async def floor(session: toolcrib.Session) -> None:
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute("CREATE VIRTUAL TABLE tools USING fts5(name, about)")
            rows = ((tool.name, tool.description) for tool in definitions)
            database.executemany("INSERT INTO tools VALUES (?, ?)", rows)
            search = "SELECT name FROM tools WHERE tools MATCH ? ORDER BY rank LIMIT 10"
            database.execute(search, (" OR ".join(QUERY.split()),)).fetchall()

    async def ours(session: toolcrib.Session) -> None:
        call = {"id": "1", "name": "select_tools", "arguments": {"query": QUERY}}
        async for done in session.execute([call]):
            assert not done.result.is_error
        (message,) = session.context_messages()
        assert len(message.tools) == 10

    return await _measured(lab, floor, ours, prepare=prepare)


async def _measured(
    lab: Lab,
    floor: Callable[[toolcrib.Session], Any],
    ours: Callable[[toolcrib.Session], Any],
    *,
    prepare: Callable[[toolcrib.Session], None],
) -> Measured:
    """Both in turns, each time in a new session whose tools nobody has looked at."""
    floors, own = [], []
    compiled = 0
    for round_ in range(lab.sizes.rounds + 1):
        session = toolcrib.open_session(
            lab.workspace,
            mode="yolo",
            environ={**lab.environment, "TOOLCRIB_FEATURE_TOOL_SELECT": "1"},
            model_capabilities=("tool_use", "dynamically_loaded_tools"),
            crib=lab.crib,
        )
        async with session:
            prepare(session)
            times = [await clock(partial(work, session)) for work in (floor, ours)]
            deferred = [e for e in session.main.registry if e.disclosure == "deferred"]
            compiled += sum(entry.schema is not None for entry in deferred)
        if round_:
            floors.append(times[0])
            own.append(times[1])
    failed = f"{compiled} schemas were compiled that nobody called" if compiled else ""
    return Measured(floor=typical(floors) * 1e3, ours=typical(own) * 1e3, unit="ms", failed=failed)


def _definitions(count: int) -> list[ToolDefinition]:
    """Tools as servers list them, with some arguments each."""
    made = []
    for number in range(count):
        verb, thing = _VERBS[number % 5], _THINGS[number // 5 % 8]
        name = f"{verb}_{thing}_{number}"
        about = f"{verb.title()} each open {thing} of a project. Needs the id of the project."
        schema = {
            "type": "object",
            "properties": {
                "project": {"type": "string", "description": "The id."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                "filter": {"type": "object", "properties": {"state": {"enum": ["open", "closed"]}}},
            },
            "required": ["project"],
        }
        data = {"name": name, "description": about, "inputSchema": schema}
        made.append(ToolDefinition(name=name, data=data))
    return made


def _offer(session: toolcrib.Session, definitions: list[ToolDefinition], *servers: int) -> None:
    for number in servers:
        config = ServerConfig(name=f"server{number}", command="none")
        offered = []
        for definition in definitions[number::SERVERS]:
            name = toolcrib.qualify_tool_name(config.name, definition.name)
            fresh = evolve(definition)  # one keeps what was worked out for it
            tool = McpTool(name, fresh, config, _no_server)
            offered.append(
                toolcrib.ToolContribution(
                    name=name, factory=tool, domain="mcp", source="mcp", disclosure="deferred"
                )
            )
        session.main.table.replace(config.name, offered, plugin="feature-mcp", reason="bench")


def _no_server() -> Any:
    raise AssertionError("no tool is called")


BENCHMARKS = [
    Benchmark(
        name="mcp-table",
        what="{s.contributions:,} MCP tools listed, the last of 20 servers having come",
        floor="their definitions to JSON",
        measure=table,
        max_value=MAX_MS,
    ),
    Benchmark(
        name="mcp-announcement",
        what="{s.contributions:,} MCP tools announced",
        floor="joining names and descriptions",
        measure=announcement,
        max_value=MAX_MS,
    ),
    Benchmark(
        name="mcp-keywords",
        what="tools found among {s.contributions:,} by keywords, and loaded",
        floor="SQLite's full-text search alone",
        measure=keywords,
        max_value=MAX_MS,
    ),
]
