"""Serving over HTTP: who gets in, how much they may send, and what each client has of its own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as mcp
import psutil
import pytest
from mcp import Client

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "1"},
    },
}
OPEN = ("--allow-origin", "http://localhost:6274", "--allow-host", "crib.test:443")
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def text(result: mcp.CallToolResult) -> str:
    return "\n".join(b.text for b in result.content if isinstance(b, mcp.TextContent))


def token_of(site: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {site.environ['TOKEN']}"}


def test_only_who_has_the_token_and_comes_from_nowhere_foreign_gets_in(site: Any) -> None:
    """A wrong token, a foreign page and a foreign name are refused, whatever they ask for."""
    server = site.http(*OPEN)
    port = server.url.split(":")[2].split("/")[0]
    good = {**ACCEPT, **token_of(site)}
    refused = [
        (401, {"Authorization": ""}),
        (401, {"Authorization": "Bearer wrong"}),
        (401, {"Authorization": f"Basic {site.environ['TOKEN']}"}),
        (401, {"Authorization": "Bearer \u00fc"}),
        (403, {"Origin": "http://evil.test"}),
        (403, {"Origin": "null"}),
        (403, {"Origin": "http://localhost:6274.evil.test"}),
        (421, {"Host": "evil.test"}),
        (421, {"Host": f"evil.test:{port}"}),
        (421, {"Host": "127.0.0.1.evil.test"}),
        (421, {"Host": "10.0.0.1"}),
        (421, {"Host": "a@127.0.0.1"}),
        (421, {"Host": ""}),
        (421, {"Host": "[::1%25eth0]"}),
        (421, {"Host": "evil.test", "X-Forwarded-Host": "localhost"}),
        (401, {"Authorization": f"Bearer {site.environ['TOKEN']}, Bearer x"}),
    ]
    twice = [
        (401, "Authorization", good["Authorization"], good["Authorization"]),
        (403, "Origin", "http://localhost:6274", "http://evil.test"),
    ]
    admitted = [
        {},
        {"Host": f"localhost:{port}"},
        {"Host": "crib.test"},
        {"Host": "LOCALHOST."},
        {"Host": "[::1]:80"},
        {"Origin": "http://localhost:6274"},
        {"Authorization": f"bearer {site.environ['TOKEN']}"},
    ]
    with httpx2.Client(timeout=20, verify=False) as web:
        for status, headers in refused:
            raw: Any = {k: v.encode("latin-1") for k, v in {**good, **headers}.items()}
            for method, path in (("POST", ""), ("GET", ""), ("GET", "/../other")):
                response = web.request(method, server.url + path, headers=raw, json=HELLO)
                assert response.status_code == status, (headers, method, path)
        for status, name, first, second in twice:
            both = [*good.items(), (name, first), (name, second)]
            if name in good:
                both.remove((name, first))
            assert web.post(server.url, headers=both, json=HELLO).status_code == status, name
        for hosts in ("", "Host: localhost\r\nHost: evil.test\r\n"):
            with socket.create_connection(("127.0.0.1", int(port)), timeout=20) as by_hand:
                by_hand.sendall(f"GET /mcp HTTP/1.1\r\n{hosts}\r\n".encode())
                assert by_hand.recv(1000).startswith(b"HTTP/1.1 400 ")
        query = f"?token={site.environ['TOKEN']}&access_token={site.environ['TOKEN']}"
        assert web.post(server.url + query, headers=ACCEPT, json=HELLO).status_code == 401
        for headers in admitted:
            response = web.post(server.url, headers={**good, **headers}, json=HELLO)
            assert response.status_code == 200, headers
        assert web.post(server.url + "/other", headers=good, json=HELLO).status_code == 404
    said = server.stop()
    assert site.environ["TOKEN"] not in said and "WARNING" not in said and "ERROR" not in said


def test_a_page_that_is_let_in_may_ask_before_it_sends_the_token(site: Any) -> None:
    """Browsers do, without the token; others learn nothing."""
    server = site.shared_http(*OPEN, mode="yolo")
    asking = {"Access-Control-Request-Method": "POST", "Origin": "http://localhost:6274"}
    with httpx2.Client(timeout=20, verify=False) as web:
        allowed = web.options(server.url, headers=asking)
        assert allowed.headers["Access-Control-Allow-Origin"] == "http://localhost:6274"
        foreign = web.options(server.url, headers={**asking, "Origin": "http://evil.test"})
        assert foreign.status_code == 403
        assert "Access-Control-Allow-Origin" not in foreign.headers


def test_a_body_that_is_too_large_is_refused(site: Any) -> None:
    """Whether its length is told beforehand or not; the server goes on."""
    server = site.shared_http(mode="yolo")
    headers = {**ACCEPT, **token_of(site)}
    large = json.dumps({**HELLO, "padding": "x" * 9_000_000}).encode()

    def pieces() -> Any:
        for start in range(0, len(large), 100_000):
            yield large[start : start + 100_000]

    with httpx2.Client(timeout=20, verify=False) as web:
        for body in (large, pieces()):
            try:
                assert web.post(server.url, headers=headers, content=body).status_code == 413
            except httpx2.TransportError:
                pass  # it hung up before all was sent
        assert web.post(server.url, headers=headers, json=HELLO).status_code == 200


BODIES: list[tuple[str, bytes, dict[str, str]]] = [
    ("nothing", b"", {}),
    ("no JSON", b"initialize", {}),
    ("a batch", json.dumps([HELLO, HELLO]).encode(), {}),
    ("an empty batch", b"[]", {}),
    ("a text", b'"initialize"', {}),
    ("other bytes", json.dumps(HELLO).replace("by hand", "\xff").encode("latin-1"), {}),
    ("half a pair", json.dumps(HELLO).replace("by hand", "\\ud800").encode(), {}),
    ("no end", b"[" * 1_000_000, {}),
    ("a long number", json.dumps(HELLO).encode().replace(b'"id": 1', b'"id": ' + b"9" * 9_999), {}),
    ("no id", json.dumps(HELLO).encode().replace(b'"id": 1', b'"id": null'), {}),
    ("a number as id", json.dumps(HELLO).encode().replace(b'"id": 1', b'"id": 1.5'), {}),
    ("a form", json.dumps(HELLO).encode(), {"Content-Type": "application/x-www-form-urlencoded"}),
    ("plain text", json.dumps(HELLO).encode(), {"Content-Type": "text/plain"}),
    ("no type", json.dumps(HELLO).encode(), {"Content-Type": ""}),
]


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28", "1999-01-01"])
def test_a_body_that_is_no_message_is_refused(site: Any, version: str) -> None:
    """Whatever it is, and no session is begun for it."""
    server = site.shared_http("--max-clients", "1", mode="yolo")
    headers = {**ACCEPT, **token_of(site), "MCP-Protocol-Version": version}
    with httpx2.Client(timeout=20, verify=False) as web:
        for what, body, more in BODIES:
            response = web.post(server.url, headers={**headers, **more}, content=body)
            assert 400 <= response.status_code < 500, what
        response = web.post(server.url, headers={**ACCEPT, **token_of(site)}, json=HELLO)
        assert response.status_code == 200
        session = {"Mcp-Session-Id": response.headers["Mcp-Session-Id"]}
        web.delete(server.url, headers={**token_of(site), **session})


def test_the_last_of_two_equal_keys_counts_for_everybody(site: Any) -> None:
    """What the user is shown is what would run."""
    server = site.shared_http(mode="manual")
    call: dict[str, Any] = {
        "name": "Bash",
        "arguments": "ARGUMENTS",
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        },
    }
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    twice = '{"command": "touch first", "command": "touch last"}'
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "Bash"}
    with httpx2.Client(
        timeout=20, verify=False, headers={**ACCEPT, **token_of(site), **headers}
    ) as web:
        response = web.post(server.url, content=message.replace('"ARGUMENTS"', twice).encode())
    (asked,) = response.json()["result"]["inputRequests"].values()
    assert "touch last" in asked["params"]["message"]
    assert "touch first" not in asked["params"]["message"]


async def test_each_client_has_a_session_of_its_own(site: Any) -> None:
    """An approval for the session of one says nothing for another, in either era."""
    server = site.shared_http(mode="yolo")
    async with AsyncExitStack() as stack:
        clients: list[Client] = []
        for era, name in (("legacy", "a"), ("legacy", "a"), ("auto", "a"), ("auto", "b")):
            info = mcp.Implementation(name=name, version="1")
            client = server.client(mode=era, client_info=info)
            clients.append(await stack.enter_async_context(client))
        sessions = [text(await client.call_tool("Count", {})) for client in clients]
        assert len(set(sessions)) == 4
        again = [text(await client.call_tool("Count", {})) for client in clients]
        assert again == sessions
        other: Any = {"toolcrib/session": "other"}
        named = await clients[3].call_tool("Count", {}, meta=other)
        assert text(named) not in sessions
        results = await asyncio.gather(*(c.call_tool("Read", {"path": "a.txt"}) for c in clients))
        assert not any(result.is_error for result in results)


async def wait_for(file: Path, content: str) -> None:
    async with asyncio.timeout(20):
        while not file.exists() or file.read_text() != content:
            await asyncio.sleep(0.02)


async def gone(pid: int) -> None:
    async with asyncio.timeout(20):
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_the_session_of_a_client_that_has_gone_is_closed(site: Any, era: str) -> None:
    """At once when it says so, else after a while; its background tasks end with it."""
    server = site.http("--idle-timeout", "1")
    command = {"command": "echo $$ > pid; exec sleep 60", "run_in_background": True}
    async with server.client(mode=era) as client:
        await client.call_tool("Bash", {**command, "description": "a task"})
        file = site.workspace / "pid"
        async with asyncio.timeout(20):
            while not file.exists() or not file.read_text():
                await asyncio.sleep(0.02)
    await gone(int(file.read_text()))
    server.stop()


async def test_too_many_clients_are_turned_away(site: Any) -> None:
    """Those that are there go on."""
    server = site.http("--max-clients", "1")
    async with server.client(mode="legacy") as client:
        await client.list_tools()
        with httpx2.Client(timeout=20, verify=False) as web:
            headers = {**ACCEPT, **token_of(site)}
            assert web.post(server.url, headers=headers, json=HELLO).status_code == 503
        assert not (await client.call_tool("Read", {"path": "a.txt"})).is_error
    async with server.client(mode="legacy") as client:
        assert (await client.list_tools()).tools
    server.stop()


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_the_server_ends_in_order_while_calls_run(site: Any, era: str) -> None:
    """They are cancelled and their processes end; the exit status is 0."""
    server = site.http()
    async with server.client(mode=era) as client:
        slow = asyncio.create_task(client.call_tool("Slow", {"log": "log"}))
        shell = asyncio.create_task(client.call_tool("Bash", {"command": "sleep 61"}))
        await wait_for(site.workspace / "log", "started")
        await asyncio.to_thread(server.stop)
        assert (site.workspace / "log").read_text() == "cancelled"
        slow.cancel()
        shell.cancel()
        await asyncio.gather(slow, shell, return_exceptions=True)
    assert not [line for line in site.processes() if "sleep 61" in line]


def test_a_token_is_made_once_and_kept_from_others(site: Any) -> None:
    """The file of the token is the user's alone, and where it is is said, not what it is."""
    said = []
    for _ in range(2):
        process = site.start("--http", "0")
        assert process.stderr is not None
        line = next(line for line in process.stderr if "send the token" in line)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert process.returncode == 0
        said.append(line)
    file = site.folder / "state" / "serve" / "token"
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert said[0] == said[1] and str(file) in said[0]
    assert len(file.read_text().strip()) >= 32 and file.read_text().strip() not in said[0]


async def test_programs_that_tools_start_do_not_get_the_token(site: Any) -> None:
    """It is no business of a model."""
    server = site.shared_http(mode="yolo")
    async with server.client() as client:
        result = await client.call_tool("Bash", {"command": "env"})
    assert "PATH=" in text(result) and site.environ["TOKEN"] not in text(result)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--http", "nowhere"], "HOST:]PORT"),
        (["--http", "70000"], "HOST:]PORT"),
        (["--http", "0.0.0.0:0"], "--allow-remote"),
        (["--http", "0.0.0.0:0", "--allow-remote"], "--token-env"),
        (["--http", "0", "--token-env", "EMPTY"], "EMPTY"),
        (["--http", "0", "--token-env", "SHORT"], "SHORT"),
        (["--http", "192.0.2.1:0", "--allow-remote", "--token-env", "TOKEN"], "192.0.2.1"),
        (["--http", "[::]:0"], "--allow-remote"),
        (["--http", "0:0"], "--allow-remote"),
        (["--http", "[::ffff:0.0.0.0]:0", "--token-env", "TOKEN"], "--allow-remote"),
        (["--http", "::1:0"], "HOST:]PORT"),
        (["--http", "0", "--token-env", "TOKEN", "--allow-host", "http://a.test"], "a.test"),
        (["--http", "0", "--token-env", "TOKEN", "--allow-origin", "*"], "origin"),
        (["--http", "0", "--token-env", "TOKEN", "--allow-origin", "localhost:1"], "origin"),
        (["--token-env", "TOKEN"], "--http"),
        (["--profile", "none"], "none"),
        (["--http", "0", "--token-env", "TOKEN", "--profile", "none"], "none"),
        (["--runtime", "none"], "none"),
        (["--workspace", "/dev/null"], "/dev/null"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(
    site: Any, arguments: list[str], reason: str
) -> None:
    """The exit status is 2, and nothing goes to standard output."""
    process = site.start(*arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    out, said = process.communicate(timeout=20)
    assert process.returncode == 2 and not out.replace("printed by a plugin", "")
    assert reason in said.splitlines()[-1] and "Traceback" not in said


@pytest.mark.parametrize("way", [[], ["--http", "0", "--token-env", "TOKEN"]])
def test_a_configuration_that_is_broken_is_said_in_one_line(site: Any, way: list[str]) -> None:
    """With the line in which it is."""
    site.configure("[tools]\n[permission\n")
    process = site.start(*way, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    out, said = process.communicate(timeout=20)
    assert process.returncode == 2 and not out
    assert "toolcrib.toml:2" in said.splitlines()[-1] and "Traceback" not in said


def test_the_help_has_examples(site: Any) -> None:
    """Each of them with an option that it has."""
    process = site.start("--help", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    examples = out.split("Examples:")[1]
    assert "toolcrib serve --http" in examples and '"mcpServers"' in examples


def test_the_other_loopback_address_serves_as_well(site: Any) -> None:
    """Where the machine has it."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    process = site.start("--http", "[::1]:0", "--token-env", "TOKEN")
    line = next(line for line in process.stderr if "/mcp" in line)
    url = line.split("over ")[1].split(";")[0]
    with httpx2.Client(timeout=20, verify=False) as web:
        response = web.post(url, headers={**ACCEPT, **token_of(site)}, json=HELLO)
        assert response.status_code == 200 and "[::1]" in url
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_a_port_that_is_taken_is_named(site: Any) -> None:
    """And the way out."""
    server = site.shared_http(mode="yolo")
    port = server.url.split(":")[2].split("/")[0]
    second = site.start("--http", port)
    _, said = second.communicate(timeout=20)
    assert second.returncode == 2 and f"127.0.0.1:{port}" in said


def test_other_machines_are_let_in_only_with_a_token_of_ones_own(site: Any) -> None:
    """Then addresses in numbers are fine, foreign names still are not."""
    process = site.start("--http", "0.0.0.0:0", "--allow-remote", "--token-env", "TOKEN")
    assert process.stderr is not None
    lines = [process.stderr.readline() for _ in range(5)]
    port = next(line for line in lines if "/mcp" in line).split("0.0.0.0:")[1].split("/")[0]
    assert any("not encrypted" in line for line in lines)
    headers = {**ACCEPT, **token_of(site)}
    with httpx2.Client(timeout=20, verify=False) as web:
        url = f"http://127.0.0.1:{port}/mcp"
        for host, status in (("127.0.0.1", 200), ("192.0.2.7:80", 200), ("evil.test", 421)):
            response = web.post(url, headers={**headers, "Host": host}, json=HELLO)
            assert response.status_code == status
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 0
