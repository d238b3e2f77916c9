"""Six sets of rules decide on hundreds of shell commands as a careful person would."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from toolcrib.explain import explain_call
from toolcrib.testing import ToolHarness

TABLE = tomllib.loads(Path(__file__).with_name("command_table.toml").read_text("utf-8"))
RULES: dict[str, dict[str, Any]] = TABLE["rules"]
SIGNS = {"+": "allow", "?": "ask", "-": "deny", ".": None}
COMMANDS = {
    (group, command): dict(zip(RULES, map(SIGNS.__getitem__, signs.split()), strict=True))
    for group, rows in TABLE["commands"].items()
    for command, signs in rows.items()
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sessions(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[str, Any]]:
    """A session for each set of rules, all in one workspace."""
    folder = tmp_path_factory.mktemp("table").resolve()
    workspace, home = folder / "ws", folder / "home"
    for name in ("src/b", "sub", "infra", "out", "links"):
        (workspace / name).mkdir(parents=True)
    home.mkdir()
    for name in (".env", ".env.example", "README.md", "src/a.py", "src/b/c.py", "infra/main.tf"):
        (workspace / name).write_text("foo\n")
    (workspace / "yarn.lock").write_text("")
    (workspace / "links/secret").symlink_to("../.env")
    (workspace / "links/infra").symlink_to("../infra")
    subprocess.run(["git", "init", "-q", workspace], check=True)
    harnesses = {
        name: ToolHarness(
            workspace,
            home=home,
            mode=rules["mode"],
            config={"permission": {key: rules[key] for key in rules if key != "mode"}},
        )
        for name, rules in RULES.items()
    }
    yield {name: harness.session for name, harness in harnesses.items()}
    for harness in harnesses.values():
        await harness.aclose()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("command", "expected"),
    [pytest.param(key[1], row, id=f"{key[0]}: {key[1]}") for key, row in COMMANDS.items()],
)
async def test_command(
    sessions: dict[str, Any], command: str, expected: dict[str, str | None]
) -> None:
    found: dict[str, tuple[str, str, str | None]] = {}
    for name, session in sessions.items():
        call = {"name": "Bash", "arguments": {"command": command}}
        judgement = await explain_call(session.main, call)
        found[name] = (judgement.decision, judgement.policy, judgement.reason)
    wrong = {
        name: found[name] for name, sign in expected.items() if sign not in (None, found[name][0])
    }
    assert not wrong, {name: (expected[name], *what) for name, what in wrong.items()}


def test_the_table_is_large_enough() -> None:
    assert len(COMMANDS) >= 200
    assert len(RULES) == 6
