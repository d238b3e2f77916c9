"""Why a tool of a server is not there: what people and models are told, and what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FAILING = {"command": sys.executable, "args": ["-c", "import no_such_module"]}
PROGRAM = str(Path(sys.executable).parent / "toolcrib")


async def told(session: Any, call: Any, name: str) -> str:
    """What is said of a missing tool; a model is told the same as a person."""
    done = await call(session, name)
    assert done.outcome == "preflight-rejected"
    decision = session.explain(name)
    assert decision.reason in done.result.output
    assert (decision.name, decision.active) == (name, False)
    assert decision.plugin == "feature-mcp"
    return f"{decision.reason}; {decision.remedy}"


async def test_the_state_of_its_server_and_what_to_do_are_named(place: Any, call: Any) -> None:
    fine = place.server("fine one", "keep", "drop")
    place.configure(
        bad={"command": 7},
        **{"fails here": FAILING, "idle": {**fine.entry, "enabled": False}},
    )
    async with place.session((fine, {"disabled_tools": ["drop"]})) as session:
        failed = await told(session, call, "mcp__fails_here__x")
        assert "'fails here'" in failed and "no_such_module" in failed and "code 1" in failed
        assert "toolcrib mcp test 'fails here'" in failed
        off = await told(session, call, "mcp__idle__x")
        assert "'idle'" in off and "disabled" in off and str(place.file) in off
        bad = await told(session, call, "mcp__bad__x")
        assert "'bad'" in bad and "command" in bad and str(place.file) in bad
        left_out = await told(session, call, "mcp__fine_one__drop")
        assert "'fine one'" in left_out and "disabled_tools" in left_out
        assert "'mcp__fine_one__keep'" in await told(session, call, "mcp__fine_one__keeps")
        unknown = await told(session, call, "mcp__fine_on__keep")
        assert session.explain("mcp__fine_on__keep").filter == "unknown"
        assert session.explain("mcp__fine_one__keeps").filter == "withheld"
        assert "configured" in unknown and "'mcp__fine_one__keep'" in unknown


async def test_of_a_server_that_is_gone(place: Any, call: Any) -> None:
    fine = place.server("fine", "keep")
    place.configure(fine)
    async with place.session() as session:
        assert not (await call(session, "mcp__fine__keep")).result.is_error
        place.configure()
        session.reload()
        gone = await told(session, call, "mcp__fine__keep")
        assert "'fine'" in gone and "removed" in gone


async def test_without_any_server(place: Any, call: Any) -> None:
    async with place.session() as session:
        told_ = await told(session, call, "mcp__some__tool")
        assert "'some'" in told_ and "toolcrib mcp add" in told_
        assert session.explain("mcp__some").filter == "unknown"


@pytest.mark.parametrize("configured", [True, False])
async def test_of_a_feature_that_is_off(place: Any, call: Any, configured: bool) -> None:
    if configured:
        place.configure(fails=FAILING)
    async with place.session(features={"mcp": False}) as session:
        assert "feature 'mcp' is off" in await told(session, call, "mcp__fails__x")


def test_the_command_that_explains_names_the_failure_too(place: Any) -> None:
    place.configure(fails=FAILING)
    done = subprocess.run(
        [PROGRAM, "explain", "mcp__fails__x", "--json"],
        capture_output=True,
        cwd=place.folder / "ws",
        env={**place.environ, "XDG_STATE_HOME": os.path.join(place.folder, "state")},
        timeout=60,
    )
    (found,) = json.loads(done.stdout)
    assert "no_such_module" in found["reason"] and "'fails'" in found["reason"]
    assert "toolcrib mcp test fails" in found["remedy"]
