"""A session with one faulty server beside good ones: nobody else notices."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
from attrs import frozen

import toolcrib

SCRIPT = Path(__file__).parent / "chaos" / "server.py"
HANGING_S = 5
"""How long a hanging server is waited for: longer than everything else takes."""


@frozen
class Outcome:
    """What becomes of a call to the server, of what it does, and of the server itself."""

    state: Literal["connected", "failed"] = "connected"
    why: str = ""
    """A part of the reason for the state."""
    answer: str = "done do"
    """A part of what the model gets."""
    error: bool = False
    effects: int = 1
    hangs: bool = False
    tools: tuple[str, ...] = ("do", "look")
    called: str = "do"


def unusable(why: str, *, hangs: bool = False) -> Outcome:
    """Of a server that never lists a tool."""
    return Outcome("failed", why, why, error=True, effects=0, hangs=hangs, tools=())


FAULTS = {
    "never": unusable("within 5 s", hangs=True),
    "exit": unusable("exited with code 3"),
    "half-frame": unusable("exited with code 7"),
    "bad-handshake": unusable("wrong shape"),
    "list-shape": unusable("no list 'tools'"),
    "dies-in-call": Outcome(answer="outcome is unknown", error=True),
    "always-dies-in-call": Outcome(answer="outcome is unknown", error=True),
    "banner": Outcome(),
    "stderr-flood": Outcome(),
    "endless-noise": unusable("no JSON-RPC"),
    "endless-pages": Outcome(
        answer="done tool49", tools=tuple(f"tool{n}" for n in range(50)), called="tool49"
    ),
    "same-cursor": Outcome(answer="done second", tools=("first", "second"), called="second"),
    "bad-tools": Outcome(tools=("do", "look", "odd")),
    "storm": Outcome(tools=("do", "look", "new")),
    "twice": Outcome(answer="one"),
    "result-shape": Outcome(answer="wrong shape", error=True),
    "no-object": Outcome(answer="no JSON-RPC", error=True),
    "bad-bytes": Outcome(answer="caf"),
    "refuses": Outcome(answer="error -32000", error=True),
    "asks": Outcome(),
    "ignores-shutdown": Outcome(),
    "child": Outcome(),
    # One that only reads, since others wait for a call that may do anything.
    "silent": Outcome(answer="did not answer", error=True, hangs=True, called="look"),
}


def names(session: toolcrib.Session) -> set[str]:
    return {tool.name for tool in session.tools() if tool.source == "mcp"}


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_others_work(place: Any, call: Any, until: Any, fault: str) -> None:
    expected = FAULTS[fault]
    folder = place.folder / "chaos"
    folder.mkdir()
    bad = place.server("bad")
    bad.folder = folder
    entry = {
        "command": sys.executable,
        "args": ["-I", str(SCRIPT), fault, str(folder)],
        "startup_timeout_s": HANGING_S if fault == "never" else 15,
        "tool_timeout_s": HANGING_S if fault == "silent" else 15,
        "trusted": fault == "silent",
    }
    (place.folder / "ws" / "f.txt").write_text("there")
    good = [place.server(name, "t") for name in ("good", "zeal")]
    told: list[toolcrib.McpServerStatus] = []

    def listen(event: object) -> None:
        if isinstance(event, toolcrib.McpServerStatus) and event.name == "bad":
            told.append(event)

    async with place.session((bad, entry), *good) as session:
        session.subscribe(listen)
        faulty = asyncio.create_task(call(session, f"mcp__bad__{expected.called}"))
        for _ in range(2):
            assert "there" in str((await call(session, "Read", path="f.txt")).result.output)
            for server in good:
                done = await call(session, f"mcp__{server.name}__t")
                assert done.result.output == f"{server.folder.name}:t"
        if expected.hangs:
            assert not faulty.done()
        done = await faulty
        assert done.result.is_error == expected.error, done.result.output
        assert expected.answer in str(done.result.output)
        assert "\x1b" not in str(done.result.output)
        tools = {f"mcp__bad__{tool}" for tool in expected.tools}
        offered = {"mcp__good__t", "mcp__zeal__t", *tools}
        await until(lambda: told[-1].status == expected.state and names(session) == offered)
        assert expected.why in (told[-1].error or "")
        assert bad.noted("effects") == [expected.called] * expected.effects
    with (folder / "starts").open("a") as file:  # what must be gone in the end
        file.writelines(f"{pid}\n" for pid in bad.noted("child"))


async def test_a_call_that_hangs_delays_no_other_of_its_batch_when_it_may_overlap(
    place: Any,
) -> None:
    """Without `parallel` nobody knows what it touches, and later calls wait for it."""
    folder = place.folder / "chaos"
    folder.mkdir()
    bad = place.server("bad")
    bad.folder = folder
    entry = {"command": sys.executable, "args": ["-I", str(SCRIPT), "silent", str(folder)]}
    (place.folder / "ws" / "f.txt").write_text("there")
    async with place.session((bad, {**entry, "parallel": True})) as session:
        calls = [
            {"id": "1", "name": "mcp__bad__look", "arguments": {}},
            {"id": "2", "name": "Read", "arguments": {"path": "f.txt"}},
        ]
        done = []
        async for each in session.execute(calls):
            done.append(each.id)
            session.cancel()
        assert done == ["2", "1"]
