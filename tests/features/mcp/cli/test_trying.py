"""`toolcrib mcp test` and `list`: how a server is, for people and for programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from toolcrib import process_started

if TYPE_CHECKING:
    from features.mcp.cli.conftest import Home

TABLED = Path(__file__).parent.parent / "tabled.py"
TEST_KEYS = {
    "name",
    "state",
    "error",
    "server",
    "protocol",
    "noise",
    "tools",
    "left_out",
    "quarantined",
    "changed",
    "offers",
    "source",
}


def configure(mcp: Home, name: str, tools: list[Any], **more: object) -> None:
    """Configure a server that lists these tools; each is a name or a definition."""
    listed = [tool if isinstance(tool, dict) else {"name": tool} for tool in tools]
    table = [{"description": "Does it.", "inputSchema": {"type": "object"}, **t} for t in listed]
    mcp.write("server/table.json", {"tools": table})
    entry = {"command": sys.executable, "args": ["-I", str(TABLED), str(mcp.folder / "server")]}
    mcp.write("config/toolcrib/mcp.json", {"mcpServers": {name: {**entry, **more}}})


@pytest.mark.parametrize(
    ("count", "told"), [(0, "no tools"), (1, "1 tool:"), (2, "2 tools:"), (300, "300 tools:")]
)
def test_tools_are_counted_and_named(mcp: Home, count: int, told: str) -> None:
    names = [f"t{number}" for number in range(count)]
    configure(mcp, "a b", names)
    done = mcp("test", "a b")
    lines = done.out.splitlines()
    assert done.status == 0 and lines[1] == told
    assert lines[2:] == [f"  mcp__a_b__{name}  Does it." for name in names]
    assert mcp("list").out.split("\t")[:3] == ["a b", "connected", str(count)]
    assert [each["tools"] for each in mcp("list", "--json").json] == [names]


def test_text_of_any_width_and_shape_stays_on_its_line(mcp: Home) -> None:
    wide = {"name": "重い", "description": "全部を\n数える 👩‍👩‍👧 " + "長" * 500}
    empty = {"name": "e", "description": ""}
    configure(mcp, "日本 s", [wide, empty])
    done = mcp("test", "日本 s")
    assert done.status == 0 and len(done.out.splitlines()) == 4
    assert "全部を 数える" in done.out and not any(
        line != line.rstrip() for line in done.out.split("\n")
    )
    assert len(mcp("list").out.splitlines()) == 1
    mcp.variables["LANG"] = mcp.variables["LC_ALL"] = "C"
    mcp.variables["PYTHONIOENCODING"] = "ascii"
    assert mcp("test", "日本 s").status == 0 and mcp("list").status == 0


def test_what_sessions_do_not_have_is_told_apart(mcp: Home) -> None:
    bad = {"name": "bad", "inputSchema": {"type": "array"}}
    configure(mcp, "s", ["keep", "drop", bad], disabledTools=["drop"])
    found = mcp("test", "s", "--json").json
    assert found.keys() == TEST_KEYS
    assert (found["tools"], found["left_out"]) == (["mcp__s__keep"], ["drop"])
    assert list(found["quarantined"]) == ["bad"]
    done = mcp("test", "s")
    assert "1 tool:" in done.out and "'drop'" in done.out and "'bad'" in done.out
    assert mcp("list").out.split("\t")[2] == "1"
    (listed,) = mcp("list", "--json").json
    assert listed["left_out"] == ["drop"] and listed["offers"] == []


@pytest.mark.parametrize(
    ("more", "state", "told"),
    [
        ({"enabled": False}, "disabled", "mcp.json:"),
        ({"command": sys.executable, "args": ["-c", "exit(3)"]}, "failed", "code 3"),
        ({"startupTimeoutMs": -1}, "failed", "startupTimeoutMs"),
    ],
)
def test_one_that_cannot_be_used_says_why(
    mcp: Home, more: dict[str, Any], state: str, told: str
) -> None:
    configure(mcp, "s", ["t"], **more)
    done, as_json = mcp("test", "s"), mcp("test", "s", "--json")
    assert done.status == as_json.status == 1
    assert state in done.out and told in done.out
    assert as_json.json.keys() == TEST_KEYS and as_json.json["state"] == state
    (listed,) = mcp("list", "--json").json
    assert (listed["state"], listed["tools"]) == (state, [])


@pytest.mark.parametrize("part", [("test", "s"), ("list",)])
def test_an_interruption_leaves_no_server(mcp: Home, part: tuple[str, ...]) -> None:
    code = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(300)"
    pid = mcp.workspace / "pid"
    entry = {"command": sys.executable, "args": ["-c", code]}
    file = mcp.write("config/toolcrib/mcp.json", {"mcpServers": {"s": entry}})
    environ = {"PATH": os.environ["PATH"], "HOME": str(mcp.folder)}
    environ |= {"XDG_CONFIG_HOME": str(mcp.folder / "config")}
    program = [str(Path(sys.executable).parent / "toolcrib"), "mcp", *part]
    running = subprocess.Popen(
        program, cwd=mcp.workspace, env=environ, stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 30
    while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130 and b"Traceback" not in said
    while process_started(int(pid.read_text())) is not None:
        assert time.monotonic() < deadline, "the server is still there"
        time.sleep(0.02)
    assert json.loads(file.read_text())["mcpServers"] == {"s": entry}
