"""One connection to a server that does something wrong, over its standard streams."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from toolcrib import end_orphans, process_started
from toolcrib_features.mcp import connection as connections
from toolcrib_features.mcp import lines
from toolcrib_features.mcp.connection import Connection
from toolcrib_features.mcp.model import (
    RequestRefused,
    RequestTimedOut,
    ServerError,
    ServerUnreachable,
)

if TYPE_CHECKING:
    from features.mcp.chaos.conftest import MakeChaos, Open


async def call(connection: Connection, name: str = "do", **limits: Any) -> Any:
    return await connection.call(name, {}, **{"silence_s": 10.0, "ceiling_s": 20.0, **limits})


def text_of(answer: Any) -> str:
    return str(answer["content"][0]["text"])


async def test_what_a_server_says_of_itself(chaos: MakeChaos, opened: Open) -> None:
    connection = await opened(chaos("fine"))
    assert (connection.server_name, connection.server_version) == ("chaos", "1")
    assert connection.protocol_version == "2025-11-25"
    assert "careful" in connection.instructions
    assert "\x1b" not in connection.instructions
    assert connection.has("tools")
    assert not connection.has("resources")


async def test_lines_that_are_no_protocol_are_counted(chaos: MakeChaos, opened: Open) -> None:
    connection = await opened(chaos("banner"))
    assert len((await connection.list_tools()).tools) == 2
    assert connection.noise == 3


@pytest.mark.parametrize("fault", ["dies-of-unknown", "mute-at-unknown", "picky-version"])
async def test_the_handshake_of_older_servers(chaos: MakeChaos, opened: Open, fault: str) -> None:
    """They end at the question of the present protocol, do not answer it, or name versions."""
    connection = await opened(chaos(fault))
    assert text_of(await call(connection)) == "done do"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("unknown-version", "1999-01-01"),
        ("bad-handshake", "wrong shape"),
        ("endless-noise", "no JSON-RPC"),
        ("half-frame", "code 7"),
        ("exit", "API_KEY is missing"),
        ("exit", "code 3"),
        ("reads-nothing", "code 4"),
        ("reads-nothing", "no module"),
        ("complains-and-exits", "the last words"),
        ("killed", "SIGKILL"),
        ("killed", "no memory"),
        ("launcher", "code 5"),  # what it has started holds its streams open
    ],
)
async def test_why_there_is_no_connection(chaos: MakeChaos, fault: str, reason: str) -> None:
    faulty = chaos(fault).with_(startup_timeout_s=1.5 if fault == "launcher" else 15)
    with pytest.raises(ServerError) as caught:
        await faulty.connect()
    assert reason in str(caught.value)
    assert "\x1b" not in str(caught.value)
    faulty.assert_gone()


async def test_the_settings_of_a_server_are_not_shown(chaos: MakeChaos) -> None:
    faulty = chaos("exit").with_(env={"VALUE": "hunter2hunter2"})
    with pytest.raises(ServerUnreachable) as caught:
        await faulty.connect()
    assert "VALUE=" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"command": "no-such-program"}, "no-such-program"),
        ({"cwd": "no-such-folder"}, "no-such-folder"),
        ({"args": ("nul\0",)}, "cannot be started"),
    ],
)
async def test_a_server_that_cannot_be_started(
    chaos: MakeChaos, changes: dict[str, Any], reason: str
) -> None:
    files = len(os.listdir("/dev/fd"))
    with pytest.raises(ServerError, match=reason):
        await chaos("fine").with_(**changes).connect()
    assert len(os.listdir("/dev/fd")) == files


async def test_a_limit_for_starting(chaos: MakeChaos) -> None:
    faulty = chaos("never").with_(startup_timeout_s=0.3)
    with pytest.raises(ServerUnreachable, match="within"):
        await faulty.connect()
    faulty.assert_gone()


async def test_a_server_that_takes_longer_than_the_first_question(
    chaos: MakeChaos, opened: Open
) -> None:
    connection = await opened(chaos("late", 1.0))
    assert text_of(await call(connection)) == "done do"


async def test_all_pages_are_read(chaos: MakeChaos, opened: Open) -> None:
    listing = await (await opened(chaos("pages"))).list_tools()
    assert [tool.name for tool in listing.tools] == ["page1", "page2"]


@pytest.mark.parametrize(("fault", "pages"), [("endless-pages", 50), ("same-cursor", 2)])
async def test_pages_have_an_end(chaos: MakeChaos, opened: Open, fault: str, pages: int) -> None:
    listing = await (await opened(chaos(fault))).list_tools()
    assert len(listing.tools) == pages


async def test_a_bad_tool_costs_only_itself(chaos: MakeChaos, opened: Open) -> None:
    listing = await (await opened(chaos("bad-tools"))).list_tools()
    assert [tool.name for tool in listing.tools] == ["do", "look", "odd"]
    assert listing.tools[2].data["annotations"] == "none"
    assert len(listing.quarantined) == 5
    assert listing.quarantined.keys() >= {"no-schema", "list-schema"}


async def test_tools_that_are_no_list(chaos: MakeChaos, opened: Open) -> None:
    connection = await opened(chaos("list-shape"))
    with pytest.raises(ServerError, match="wrong shape"):
        await connection.list_tools()
    await connection.ping(5)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("twice", "one"),
        ("bad-bytes", "caf�"),
        ("batch", "in a batch"),
        ("stderr-flood", "done do"),
        ("asks", "done do"),
        ("big-line", "x" * 2_000_000),
    ],
)
async def test_odd_answers_that_are_understood(
    chaos: MakeChaos, opened: Open, fault: str, said: str
) -> None:
    connection = await opened(chaos(fault))
    await connection.list_tools()
    assert text_of(await call(connection)) == said
    assert text_of(await call(connection)) == said


async def test_a_line_that_is_too_long_costs_only_its_answer(
    chaos: MakeChaos, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1_000_000)
    connection = await opened(chaos("too-long-line"))
    with pytest.raises(ServerError, match="its answer") as caught:
        await call(connection)
    assert type(caught.value) is ServerError
    assert text_of(await call(connection)) == "done do"


async def test_a_line_that_is_too_long_and_nobody_s_ends_the_connection(
    chaos: MakeChaos, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1_000_000)
    connection = await opened(chaos("endless-line"))
    with pytest.raises(ServerUnreachable, match="too long") as caught:
        await call(connection)
    assert not caught.value.unsent


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("result-shape", ServerError), ("no-object", RequestRefused), ("refuses", RequestRefused)],
)
async def test_answers_that_make_no_sense(
    chaos: MakeChaos, opened: Open, fault: str, kind: type[ServerError]
) -> None:
    connection = await opened(chaos(fault))
    with pytest.raises(kind) as caught:
        await call(connection)
    assert type(caught.value) is kind
    assert len(str(caught.value)) < 1_200
    assert "\x1b" not in str(caught.value)
    await connection.ping(5)


@pytest.mark.parametrize(
    ("fault", "reason"), [("dies-in-call", "code 9"), ("closes-stdout", "standard output")]
)
async def test_a_connection_that_is_lost_in_a_call(
    chaos: MakeChaos, opened: Open, fault: str, reason: str
) -> None:
    faulty = chaos(fault)
    connection = await opened(faulty)
    with pytest.raises(ServerUnreachable, match=reason) as caught:
        await call(connection)
    assert not caught.value.unsent
    await connection.closed.wait()
    assert reason in connection.why_closed
    faulty.assert_gone()
    with pytest.raises(ServerUnreachable, match=reason) as caught:
        await call(connection)
    assert caught.value.unsent
    assert faulty.lines("effects") == ["do"]


async def test_progress_is_a_sign_of_life(chaos: MakeChaos, opened: Open) -> None:
    heard: list[Any] = []
    connection = await opened(chaos("progress"))
    answer = await call(
        connection, silence_s=0.5, on_progress=lambda *progress: heard.append(progress)
    )
    assert text_of(answer) == "done do"
    assert (0.0, 8.0, None) in heard


@pytest.mark.parametrize(
    ("fault", "limits"),
    [
        ("silent", {"silence_s": 0.3, "ceiling_s": 9.0}),
        ("progress-only", {"silence_s": 0.3, "ceiling_s": 0.8}),
    ],
)
async def test_a_server_is_told_that_it_took_too_long(
    chaos: MakeChaos, opened: Open, fault: str, limits: dict[str, Any]
) -> None:
    faulty = chaos(fault)
    connection = await opened(faulty)
    with pytest.raises(RequestTimedOut):
        await call(connection, **limits)
    await connection.ping(5)
    assert "notifications/cancelled" in faulty.lines("seen")


async def test_a_server_is_told_that_nobody_waits(chaos: MakeChaos, opened: Open) -> None:
    faulty = chaos("silent")
    connection = await opened(faulty)
    calling = asyncio.create_task(call(connection))
    while "tools/call" not in faulty.lines("seen"):
        await asyncio.sleep(0.01)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await connection.ping(5)
    assert "notifications/cancelled" in faulty.lines("seen")


async def test_a_server_that_reads_nothing_holds_nobody(chaos: MakeChaos, opened: Open) -> None:
    """Its pipe is full; a line that was begun is finished when it reads again."""
    connection = await opened(chaos("fine"))
    assert connection.pid is not None
    os.kill(connection.pid, signal.SIGSTOP)
    with pytest.raises(RequestTimedOut):
        await connection.call("do", {"much": "x" * 1_000_000}, silence_s=0.2, ceiling_s=0.2)
    os.kill(connection.pid, signal.SIGCONT)
    assert text_of(await call(connection)) == "done do"


async def test_text_that_no_encoder_takes(chaos: MakeChaos, opened: Open) -> None:
    connection = await opened(chaos("fine"))
    answer = await connection.call("do", {"half": "\ud800"}, silence_s=5, ceiling_s=5)
    assert text_of(answer) == "done do"


@pytest.mark.parametrize("fault", ["fine", "ignores-shutdown", "child"])
async def test_closing_leaves_nothing(chaos: MakeChaos, fault: str) -> None:
    faulty = chaos(fault)
    connection = await faulty.connect()
    await connection.aclose()
    await connection.aclose()
    faulty.assert_gone()


async def test_closing_ends_what_a_wrapper_started(chaos: MakeChaos) -> None:
    faulty = chaos("fine")
    script = 'server="$1"; shift; "$server" "$@" & wait'
    config = faulty.config
    faulty = faulty.with_(
        command="sh",
        args=(
            "-c",
            f"exec 3<&0; {script.replace('&', '<&3 &')}",
            "sh",
            config.command,
            *config.args,
        ),
    )
    connection = await faulty.connect()
    assert text_of(await call(connection)) == "done do"
    await connection.aclose()
    faulty.assert_gone()


async def test_tasks_share_a_connection(chaos: MakeChaos) -> None:
    """It is opened in one, used in two, of which one is cancelled, and closed in a fourth."""
    faulty = chaos("fine")
    connection = await asyncio.create_task(faulty.connect())
    calling = [asyncio.create_task(call(connection)) for _ in range(2)]
    calling[1].cancel()
    assert text_of(await calling[0]) == "done do"
    await asyncio.gather(*(asyncio.create_task(connection.aclose()) for _ in range(2)))
    faulty.assert_gone()


@pytest.mark.parametrize("pause", [0, 0.001, 0.05, 0.3])
async def test_connecting_can_be_cancelled(chaos: MakeChaos, pause: float) -> None:
    faulty = chaos("mute-at-unknown")
    connecting = asyncio.create_task(faulty.connect())
    await asyncio.sleep(pause)
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    assert not connections._owners
    faulty.assert_gone()


async def test_a_call_ends_with_its_connection(chaos: MakeChaos) -> None:
    faulty = chaos("silent")
    connection = await faulty.connect()
    calling = asyncio.create_task(call(connection))
    while "tools/call" not in faulty.lines("seen"):
        await asyncio.sleep(0.01)
    await connection.aclose()
    with pytest.raises(ServerUnreachable):
        await calling
    faulty.assert_gone()


async def test_a_server_whose_launcher_ends_lives_on(chaos: MakeChaos) -> None:
    faulty = chaos("fine")
    config = faulty.config
    faulty = faulty.with_(
        command="sh", args=("-c", 'exec 3<&0; "$@" <&3 &', "sh", config.command, *config.args)
    )
    connection = await faulty.connect()
    await asyncio.sleep(0.1)
    assert text_of(await call(connection)) == "done do"
    await connection.aclose()
    faulty.assert_gone()


async def test_a_server_is_gone_although_a_child_holds_its_output(
    chaos: MakeChaos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_AGAIN_SECONDS", 0.2)
    faulty = chaos("child")
    connection = await faulty.connect()
    assert connection.pid is not None
    os.kill(connection.pid, signal.SIGKILL)
    async with asyncio.timeout(5):
        await connection.closed.wait()
    assert "SIGKILL" in connection.why_closed
    faulty.assert_gone()


HOST = """
import asyncio, os, sys
from toolcrib_features.mcp.connection import connect
from toolcrib_features.mcp.model import ServerConfig

async def main():
    config = ServerConfig(name="s", command=sys.executable, args=tuple(sys.argv[1:]))
    await connect(config, environ=os.environ, cwd="/")
    print("connected", flush=True)
    await asyncio.sleep(300)

asyncio.run(main())
"""


def test_a_host_that_is_killed_leaves_what_the_next_one_ends(chaos: MakeChaos) -> None:
    faulty = chaos("ignores-shutdown")
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, *faulty.config.args], stdout=subprocess.PIPE
    )
    assert host.stdout is not None
    assert host.stdout.readline() == b"connected\n"
    host.kill()
    host.communicate()
    assert process_started(int(faulty.lines("starts")[0])) is not None
    end_orphans()
    faulty.assert_gone()
