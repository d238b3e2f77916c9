"""A session with one faulty server beside good ones: nobody else notices."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent / "chaos" / "server.py"

STARTS = {"never", "exit", "half-frame", "bad-handshake", "list-shape"}
"""Faults with which no tool is ever listed."""
DIES = {"dies-in-call", "always-dies-in-call"}
FAULTS = [
    *sorted(STARTS | DIES),
    "banner", "stderr-flood", "endless-noise", "endless-pages", "same-cursor", "bad-tools",
    "storm", "twice", "result-shape", "no-object", "bad-bytes", "refuses", "asks",
    "ignores-shutdown", "child", "silent",
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_others_work(place: Any, call: Any, fault: str) -> None:
    folder = place.folder / "chaos"
    folder.mkdir()
    bad = place.server("bad")
    bad.folder = folder
    entry = {
        "command": sys.executable,
        "args": ["-I", str(SCRIPT), fault, str(folder)],
        "startup_timeout_s": 1.5 if fault == "never" else 15,
        "tool_timeout_s": 1,
    }
    (place.folder / "ws" / "f.txt").write_text("there")
    good = [place.server(name, "t") for name in ("good", "zeal")]
    async with place.session((bad, entry), *good) as session:
        faulty = asyncio.create_task(call(session, "mcp__bad__do"))
        for _ in range(2):
            assert "there" in str((await call(session, "Read", path="f.txt")).result.output)
            for server in good:
                done = await call(session, f"mcp__{server.name}__t")
                assert not done.result.is_error, done.result.output
        done = await faulty
        if fault in STARTS | DIES | {"silent", "refuses", "no-object"}:
            assert done.result.is_error, done.result.output
        if fault in DIES:
            assert bad.noted("effects") == ["do"]
            assert "unknown" in done.result.output
        if fault in STARTS:
            assert not bad.noted("effects")
    with (folder / "starts").open("a") as file:  # what must be gone in the end
        file.writelines(f"{pid}\n" for pid in bad.noted("child"))
