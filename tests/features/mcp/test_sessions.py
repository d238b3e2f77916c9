"""Whole sessions with servers: names, and what happens while servers come and go."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import toolcrib
from toolcrib.contract.events import event_to_dict
from toolcrib_features.mcp.model import Listing, ToolDefinition
from toolcrib_features.mcp.servers import McpServers

NEVER = 300
HOST = """
import asyncio, sys, toolcrib

async def main():
    async with toolcrib.open_session(sys.argv[1], autoload=False) as session:
        await session.settle_tools()
        print("ready", flush=True)
        await asyncio.sleep(300)

asyncio.run(main())
"""


class _Locked(BaseHTTPRequestHandler):
    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(401)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_POST = do_DELETE = _refuse

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def locked() -> Iterator[str]:
    """The address of a server that lets nobody in."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Locked) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()
        thread.join()


def names(session: Any) -> set[str]:
    return {tool.name for tool in session.tools() if tool.source == "mcp"}


def table(session: Any) -> str:
    """What a model is given of servers' tools."""
    return json.dumps(
        [[t.name, t.description, dict(t.parameters)] for t in session.tools() if t.source == "mcp"]
    )


def pairs() -> dict[str, list[str]]:
    """500 pairs of servers and tools, of which many want the same name: tools by server."""
    made = random.Random(7)
    servers = ["ä", "日本", "a.b", "a b", "a", "a_", "_", "__", "x" * 70, "x" * 71, "A", "s😀"]
    tools = ["t", "_t", "t_", "", " ", "ä", "日本", "a.b", "a b", "A_b", "x" * 200, "x" * 201, "__"]
    servers += ["".join(made.choices("aé_-. 漢Z", k=made.randint(1, 60))) for _ in range(8)]
    found = {server: list(tools) for server in servers}
    while sum(map(len, found.values())) < 500:
        for listed in found.values():
            listed.append("".join(made.choices("aé_-. 漢Z", k=made.randint(1, 90))))
    return found


def listing(tools: list[str]) -> Listing:
    schema = {"type": "object", "properties": {"b": {"type": "string"}, "a": {}}}
    return Listing(
        tools=tuple(
            ToolDefinition(
                name=tool, data={"name": tool, "description": repr(tool), "inputSchema": schema}
            )
            for tool in tools
        )
    )


class TestNames:
    async def test_500_of_them_are_unique_or_told_as_collisions_in_any_order(
        self, place: Any
    ) -> None:
        """Listings are given to the client directly, since 400 processes would take too long."""
        everything = pairs()
        assert sum(map(len, everything.values())) == 500
        made = random.Random(3)
        tables, collisions = set(), set()
        entries = {name: {"command": "none", "args": [name]} for name in everything}
        for order in range(20):
            environ = {**place.environ, "TOOLCRIB_STATE": str(place.folder / f"state{order}")}
            session = place.session(options={"environ": environ}, mcp={"servers": {**entries}})
            servers = session.main.table.source(McpServers)
            assert servers is not None
            shuffled = list(servers.members)
            made.shuffle(shuffled)
            for member in shuffled:
                servers._listed(member, listing(everything[member.config.name]))
            tables.add(table(session))
            lost = [one for member in servers.members for one in member.collisions]
            collisions.add(tuple(lost))
            offered = [name for name, *_ in json.loads(table(session))]
            assert len(offered) == len(set(offered)) == 500 - len(lost)
            assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in offered)
        assert len(tables) == len(collisions) == 1
        assert {one.kind for one in lost} == {"same_server", "other_server"}
        for one in lost:
            same = one.kind == "same_server"
            whose = one.server if same else one.collides_with
            theirs = [one.collides_with] if same else everything[one.collides_with]
            assert one.name in {toolcrib.qualify_tool_name(whose, tool) for tool in theirs}
        place.configure(**entries)
        other = subprocess.run(
            [sys.executable, "-m", "toolcrib", "tools", "--json"],
            cwd=place.folder / "ws", env=environ, capture_output=True, check=True, timeout=60,
        )  # fmt: skip
        found = [each["name"] for each in json.loads(other.stdout) if each["source"] == "mcp"]
        assert found == offered

    async def test_every_call_reaches_its_server_whatever_the_order(
        self, place: Any, call: Any
    ) -> None:
        tools = ["a.b", "日本", "x" * 120, "x" * 119 + "y", "plain"]
        servers = [place.server(name, *tools) for name in ("ä", "o n e", "two", "w" * 60, "z")]
        expected = {
            toolcrib.qualify_tool_name(server.name, tool): f"{server.folder.name}:{tool}"
            for server in servers
            for tool in tools
        }
        made = random.Random(5)
        seen = set()
        for _ in range(4):
            for file in (place.folder / "state").rglob("*-*.json"):
                file.unlink()  # as if none of them had ever been connected
            delays = [n * 0.08 for n in range(len(servers))]
            made.shuffle(delays)
            for server, delay in zip(servers, delays, strict=True):
                server.has(*tools, start_s=delay)
            async with place.session(*servers) as session:
                await session.settle_tools()
                seen.add(table(session))
                reached = {n: (await call(session, n)).result.output for n in names(session)}
                assert reached == expected
        assert len(seen) == 1

    async def test_a_reconnection_changes_no_byte(self, place: Any, call: Any, until: Any) -> None:
        server, other = place.server("s", "c", "a", "b"), place.server("t", "t")
        async with place.session(server, other) as session:
            await session.settle_tools()
            before = table(session)
            os.kill(int(server.noted("starts")[0]), signal.SIGKILL)
            await until(lambda: len(server.noted("starts")) == 2)
            assert table(session) == before
            assert not (await call(session, "mcp__s__a")).result.is_error
            assert table(session) == before

    @pytest.mark.parametrize("slow", ["a", "a_"])
    async def test_the_later_of_two_is_not_registered(
        self, place: Any, call: Any, slow: str
    ) -> None:
        """Whichever is connected first: the order is that of the names of the servers."""
        first = place.server("a", "_b", "same.x", "same x", start_s=0.5 if slow == "a" else 0)
        second = place.server("a_", "b", "own", start_s=0.5 if slow == "a_" else 0)
        events: list[Any] = []
        async with place.session(second, first) as session:
            session.subscribe(events.append)
            await session.settle_tools()
            assert names(session) == {"mcp__a___b", "mcp__a__same_x", "mcp__a___own"}
            done = await call(session, "mcp__a___b")
            assert done.result.output == f"{first.folder.name}:_b"
            done = await call(session, "mcp__a__same_x")
            assert done.result.output == f"{first.folder.name}:same.x"
            texts = [notice.text for notice in session.notices]
            assert any("'same x'" in text for text in texts)
            assert any("'b'" in text for text in texts)
        told = [e for e in events if isinstance(e, toolcrib.PluginProblem)]
        assert {e.stage for e in told} == {"mcp.tool_name_collision"}
        collisions = [one for e in told for one in event_to_dict(e)["details"]["collisions"]]
        assert {(one["name"], one["tool"], one["kind"]) for one in collisions} == {
            ("mcp__a__same_x", "same x", "same_server"),
            ("mcp__a___b", "b", "other_server"),
        }

    async def test_a_name_is_free_when_who_would_come_first_fails(
        self, place: Any, until: Any
    ) -> None:
        first = place.server("a", "_b", start_s=0.4, fails=True)
        second = place.server("a_", "b")
        async with place.session(first, second) as session:
            await until(lambda: names(session) == {"mcp__a___b"})

    async def test_the_order_of_keys_of_a_schema_does_not_matter(
        self, place: Any, until: Any
    ) -> None:
        tool = {
            "name": "t",
            "description": "T",
            "inputSchema": {
                "type": "object",
                "properties": {"b": {"type": "string"}, "a": {"type": "string"}},
            },
        }
        server = place.server("s", tool)
        async with place.session(server) as session:
            await session.settle_tools()
            before = table(session)
        schema = {
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "type": "object",
        }
        server.has({"inputSchema": schema, "description": "T", "name": "t"}, "new")
        async with place.session(server) as session:
            await until(lambda: "mcp__s__new" in names(session))
            server.has({"inputSchema": schema, "description": "T", "name": "t"})
            await until(lambda: "mcp__s__new" not in names(session))
            assert table(session) == before


class TestLife:
    async def test_tools_of_an_earlier_session_are_there_at_once(
        self, place: Any, call: Any
    ) -> None:
        server = place.server("s", "t")
        async with place.session(server) as session:
            await session.settle_tools()
        server.has("t", start_s=0.5)
        assert names(place.session(server)) == {"mcp__s__t"}
        async with place.session(server) as session:
            assert names(session) == {"mcp__s__t"}
            assert not (await call(session, "mcp__s__t")).result.is_error

    async def test_a_call_waits_for_its_own_server_alone(self, place: Any, call: Any) -> None:
        (place.folder / "ws" / "f.txt").write_text("there")
        hanging = [place.server(f"h{n}", "t", start_s=NEVER) for n in range(3)]
        slow = place.server("slow", "t", start_s=0.5)
        async with place.session(*hanging, slow) as session:
            done = await call(session, "Read", path="f.txt")
            assert "there" in str(done.result.output)
            done = await call(session, "mcp__slow__t")
            assert not done.result.is_error, done.result.output
            assert names(session) == {"mcp__slow__t"}

    async def test_a_server_that_fails_says_why(self, place: Any, call: Any) -> None:
        async with place.session(place.server("s", "t", fails=True)) as session:
            done = await call(session, "mcp__s__t")
            assert done.result.is_error and "it cannot start" in done.result.output

    async def test_a_call_of_a_server_that_cannot_be_connected_has_done_nothing(
        self, place: Any, call: Any
    ) -> None:
        server = place.server("s", "t")
        async with place.session(server) as session:
            await session.settle_tools()
        server.has("t", fails=True)
        async with place.session(server) as session:
            done = await call(session, "mcp__s__t")
            assert done.result.is_error and "nothing was done" in done.result.output

    async def test_closing_while_servers_start_leaves_nothing(self, place: Any) -> None:
        servers = [place.server(f"s{n}", "t", start_s=NEVER) for n in range(3)]
        async with place.session(*servers):
            await asyncio.sleep(0.5)
        for server in servers:
            server.assert_gone()

    async def test_the_configuration_is_followed(self, place: Any, call: Any, until: Any) -> None:
        one, two = place.server("one", "t"), place.server("two", "t")
        place.configure(one)
        async with place.session() as session:
            await session.settle_tools()
            place.configure(one, two)
            session.reload()
            await until(lambda: names(session) == {"mcp__one__t", "mcp__two__t"})
            place.configure(two)
            session.reload()
            await until(lambda: names(session) == {"mcp__two__t"})
            gone = await call(session, "mcp__one__t")
            assert gone.result.is_error and "removed" in gone.result.output
            await until(lambda: not _runs(one))
            entry = {"mcpServers": {"two": {**two.entry, "disabled": True}}}
            place.file.write_text(json.dumps(entry))
            session.reload()
            await until(lambda: names(session) == set())
            off = await call(session, "mcp__two__t")
            assert off.result.is_error and "disabled" in off.result.output

    async def test_a_new_server_is_there_for_the_next_request_to_a_model(
        self, place: Any, until: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also when no tool is called meanwhile."""
        monkeypatch.setattr("toolcrib.config.watch.EVERY_S", 0.0)
        async with place.session() as session:
            place.configure(place.server("s", "t"))
            session.context_messages()
            await session.settle_tools()
            assert names(session) == {"mcp__s__t"}

    async def test_those_who_follow_are_told_of_every_server(self, place: Any, until: Any) -> None:
        one, two = place.server("one", "t"), place.server("two", "t")
        place.configure(one, two, bad={"command": 3})
        told: dict[str, list[str]] = {"one": [], "two": [], "bad": []}
        reasons: list[str] = []

        def listen(event: object) -> None:
            if isinstance(event, toolcrib.McpServerStatus):
                told[event.name].append(event.status)
            if isinstance(event, toolcrib.ToolListUpdated) and event.removed:
                reasons.append(event.reason)

        session = place.session()
        session.subscribe(listen)
        async with session:
            await session.settle_tools()
            begun = ["starting", "connected"]
            await until(lambda: told == {"one": begun, "two": begun, "bad": ["failed"]})
            place.configure(two=two.entry | {"disabled": True})
            session.reload()
            session.reload()
            assert told == {
                "one": [*begun, "removed"],
                "two": [*begun, "disabled"],
                "bad": ["failed", "removed"],
            }
        assert reasons == ["mcp.disconnected", "mcp.disconnected"]

    async def test_a_server_goes_on_when_its_entry_moves_to_another_line(
        self, place: Any, until: Any
    ) -> None:
        one, two = place.server("one", "t"), place.server("two", "t")
        place.configure(two)
        async with place.session() as session:
            await session.settle_tools()
            place.file.write_text(f"\n\n{place.file.read_text()}")
            session.reload()
            entry = json.dumps({"two": two.entry, "one": one.entry}, indent=2)
            place.file.write_text(f'{{"mcpServers":\n{entry}\n}}')
            session.reload()
            await until(lambda: names(session) == {"mcp__one__t", "mcp__two__t"})
            assert len(two.noted("starts")) == 1

    async def test_without_the_feature_nothing_starts(self, place: Any) -> None:
        server = place.server("s", "t")
        async with place.session(server, features={"mcp": False}) as session:
            await session.settle_tools()
            assert names(session) == set()
        assert not server.noted("starts")

    async def test_without_the_plugin_nothing_starts(self, place: Any, call: Any) -> None:
        server = place.server("s", "t")
        place.configure(server)
        blocked = {"plugins": {"blocked": ["feature-mcp"]}}
        async with place.session(**blocked) as session:
            await session.settle_tools()
            assert names(session) == set()
            assert (await call(session, "mcp__s__t")).result.is_error
        assert not server.noted("starts")

    async def test_a_plugin_that_is_blocked_later_ends_its_servers(
        self, place: Any, until: Any
    ) -> None:
        server = place.server("s", "t")
        place.configure(server)
        settings = place.file.with_name("toolcrib.toml")
        async with place.session() as session:
            await session.settle_tools()
            assert names(session) == {"mcp__s__t"}
            settings.write_text('[plugins]\nblocked = ["feature-mcp"]\n')
            session.reload()
            await until(lambda: names(session) == set() and not _runs(server))
            settings.unlink()
            session.reload()
            await until(lambda: names(session) == {"mcp__s__t"})

    async def test_of_a_server_that_needs_a_login_there_is_that_tool_alone(
        self, place: Any, call: Any, until: Any, locked: str
    ) -> None:
        place.configure(place.server("good", "t"), locked={"type": "http", "url": locked})
        async with place.session() as session:
            await session.settle_tools()
            await until(lambda: names(session) == {"mcp__good__t", "mcp__locked__authenticate"})
            assert not (await call(session, "mcp__good__t")).result.is_error
            done = await call(session, "mcp__locked__notes")
            assert done.result.is_error and "toolcrib mcp login locked" in done.result.output

    async def test_servers_of_a_killed_program_end_before_the_next_ones_start(
        self, place: Any, call: Any
    ) -> None:
        """Also those that go on when their input ends and they are told to."""
        server = place.server("s", "t", stubborn=True, alone=True)
        place.configure(server)
        host = await asyncio.create_subprocess_exec(
            sys.executable, "-c", HOST, str(place.folder / "ws"),
            env=place.environ, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert host.stdout is not None
        assert await host.stdout.readline() == b"ready\n"
        (first,) = server.noted("starts")
        host.kill()
        await host.wait()
        async with place.session() as session:
            done = await call(session, "mcp__s__t")
            assert not done.result.is_error, done.result.output
            assert toolcrib.process_started(int(first)) is None
        assert len(server.noted("starts")) == 2

    async def test_the_feature_can_be_switched_off_and_on(self, place: Any, until: Any) -> None:
        server = place.server("s", "t")
        place.configure(server)
        settings = place.file.with_name("toolcrib.toml")
        async with place.session() as session:
            await session.settle_tools()
            assert names(session) == {"mcp__s__t"}
            settings.write_text("[features]\nmcp = false\n")
            session.reload()
            await until(lambda: names(session) == set())
            settings.write_text("[features]\nmcp = true\n")
            session.reload()
            await until(lambda: names(session) == {"mcp__s__t"})

    async def test_a_profile_lets_in_the_tools_of_one_server(self, place: Any, call: Any) -> None:
        one, two = place.server("one", "t"), place.server("two", "t")
        profiles = {"only": {"tools": ["Read", "mcp__one__*"]}}
        async with place.session(
            one, two, options={"profile": "only"}, profiles=profiles
        ) as session:
            await session.settle_tools()
            assert {tool.name for tool in session.tools()} == {"Read", "mcp__one__t"}
            assert session.explain("mcp__two__t").filter == "profile"
            assert not (await call(session, "mcp__one__t")).result.is_error
            assert (await call(session, "mcp__two__t")).result.is_error
        assert one.noted("calls") == ["t"] and not two.noted("calls")

    async def test_a_profile_keeps_out_the_tools_of_one_server(self, place: Any) -> None:
        one, two = place.server("one", "t"), place.server("two", "t")
        profiles = {"most": {"disallowed_tools": ["mcp__two__*"]}}
        async with place.session(
            one, two, options={"profile": "most"}, profiles=profiles
        ) as session:
            await session.settle_tools()
            assert names(session) == {"mcp__one__t"}

    async def test_tools_of_deferred_servers_are_announced_only(self, place: Any) -> None:
        server = place.server("s", "t")
        async with place.session((server, {"deferred": True})) as session:
            await session.settle_tools()
            (tool,) = [t for t in session.tools() if t.source == "mcp"]
            assert tool.disclosure == "deferred"


def _runs(server: Any) -> bool:
    return any(toolcrib.process_started(int(pid)) is not None for pid in server.noted("starts"))
