"""`toolcrib mcp accept`: the user agrees to what a server has changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from features.mcp.cli.conftest import Home

TABLED = Path(__file__).parent.parent / "tabled.py"


def describe(mcp: Home, text: str) -> None:
    tool = {"name": "t; x", "description": text, "inputSchema": {"type": "object"}}
    mcp.write("server/table.json", {"tools": [tool]})


def configure(mcp: Home, **more: object) -> None:
    entry = {"command": sys.executable, "args": ["-I", str(TABLED), str(mcp.folder / "server")]}
    mcp.write("config/toolcrib/mcp.json", {"mcpServers": {"s": {**entry, **more}}})
    describe(mcp, "before")


def test_nothing_has_changed_at_first(mcp: Home) -> None:
    configure(mcp)
    assert mcp("test", "s").status == 0
    done = mcp("accept", "s")
    assert done.status == 0 and "nothing to accept" in done.out


def test_a_change_is_shown_and_needs_an_answer(mcp: Home) -> None:
    configure(mcp)
    mcp("test", "s")
    describe(mcp, "after\u202e\x1b[31m")
    assert mcp("test", "s", "--json").json["changed"] == ["t; x"]
    refused = mcp("accept", "s")
    assert refused.status == 1
    assert "before" in refused.out and "after" in refused.out
    assert "\x1b" not in refused.out and "\u202e" not in refused.out
    assert mcp("test", "s", "--json").json["changed"] == ["t; x"]
    explained = mcp.toolcrib("explain", "mcp__s__t_x")
    assert "toolcrib mcp accept s 't; x'" in explained.out + explained.err
    assert mcp("accept", "s", "t; x", "--yes").status == 0
    assert mcp("test", "s", "--json").json["changed"] == []


def test_what_changes_of_a_server_that_is_not_pinned_needs_nobody(mcp: Home) -> None:
    configure(mcp, pinned=False)
    mcp("test", "s")
    describe(mcp, "after")
    assert mcp("test", "s", "--json").json["changed"] == []
    (listed,) = mcp("list", "--json").json
    assert (listed["state"], listed["changed"], listed["pinned"]) == ("connected", [], False)


def test_only_what_has_changed_can_be_accepted(mcp: Home) -> None:
    configure(mcp)
    mcp("test", "s")
    assert mcp("accept", "s", "other", "--yes").status != 0
    assert mcp("accept", "nobody", "--yes").status != 0


def test_a_damaged_memory_is_told(mcp: Home) -> None:
    configure(mcp)
    mcp("test", "s")
    (file,) = (mcp.folder / "state" / "toolcrib" / "mcp" / "servers").glob("s-*.json")
    file.write_text("{")
    done = mcp("accept", "s", "--yes")
    assert done.status != 0 and "damaged" in done.err and "Traceback" not in done.err
    assert mcp("test", "s").status == 1


def test_a_server_that_never_lists_its_tools_is_given_up(mcp: Home) -> None:
    configure(mcp, startupTimeoutMs=1500)
    mcp.write("server/table.json", {"tools": [], "list_s": 300})
    done = mcp("test", "s")
    assert done.status == 1 and "failed" in done.out
