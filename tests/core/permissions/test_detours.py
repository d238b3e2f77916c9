"""Rules about paths and commands hold on detours: through links, `..`, `/proc` and options."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from toolcrib.explain import explain_call
from toolcrib.testing import ToolHarness


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def harness(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ToolHarness]:
    folder = tmp_path_factory.mktemp("detours").resolve()
    workspace, home = folder / "ws", folder / "home"
    for name in ("private/sub", "infra/sub", "out", "pub"):
        (workspace / name).mkdir(parents=True)
    home.mkdir()
    (workspace / "private/key").write_text("k")
    (workspace / "infra/main.tf").write_text("t")
    (workspace / ".env").write_text("A=1")
    (workspace / "link").symlink_to("private/sub")
    (workspace / "ilink").symlink_to("infra/sub")
    (workspace / "out/elsewhere").symlink_to("../infra")
    (workspace / "innocent").symlink_to(".env")
    deny = ["Read(private/**)", "Write(infra/**)", "Bash(git push{, *})"]
    config = {"permission": {"deny": deny, "allow": ["Bash(wc *)", "Bash(make*)", "Write(out/**)"]}}
    harness = ToolHarness(workspace, home=home, mode="yolo", config=config)
    yield harness
    await harness.aclose()


async def decision(harness: ToolHarness, command: str) -> str:
    call: dict[str, Any] = {"name": "Bash", "arguments": {"command": command}}
    return (await explain_call(harness.session.main, call)).decision


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "command",
    [
        "cat link/../key",
        "cat link/../k*",
        "cat privat[^x]/key",
        "cat privat[[:alpha:]]/key",
        'cat privat[e"]"]/key',
        "cat privat[\\!e]/key",
        "cat {pub,private}/new",
        "touch {infra,pub}/new",
        "cat " + "{a,b}" * 40,
        "cat " + "/*" * 12 + "/nothing",
        "cd link && cat ../key",
        "env -C link/.. cat key",
        "git -C link/.. show HEAD:./key",
        "echo x > ilink/../main.tf",
        "cd ilink && echo x > ../main.tf",
        "echo x > out/elsewhere/sub/../main.tf",
        "ln -s . p; cat p/private/key",
        "ln -s . a; ln -s a/private b; cat b/key",
        "ln -s .. pub/p; cat pub/p/private/key",
        "ln -s ../infra pub; echo x > pub/infra/main.tf",
        "ln -s $X/infra q; echo x > q/main.tf",
        "ln -s infra q && cd q && echo x > main.tf",
        "ln infra/main.tf hard",
        "link infra/main.tf hard",
        "cp -al infra hard",
        "cat /proc/self/cwd/private/key",
        "cd private && cat /proc/thread-self/cwd/key",
        "cat /proc/self/root/$PWD/private/key",
        "vim -es private/key",
        "sqlite3 private/key .dump",
        "git grep foo",
        "git archive HEAD private",
        "git clone x infra/y",
        "git -C . push",
        "git -c a=b --no-pager push origin",
        "uv run git push",
        "npx --yes git push",
        "grep -r foo . --include='*'",
        "grep -r foo . --exclude=x --include=*.py",
        "grep -r foo . --include='[^x]*'",
        "grep -r foo . -e --include=*.py",
        "grep -r -- foo . --include=*.py",
        "grep -r foo . --include=*.{py,env}",
        "grep -r foo . $x --include=*.py",
    ],
)
async def test_what_is_forbidden_does_not_run(harness: ToolHarness, command: str) -> None:
    assert await decision(harness, command) != "allow"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "command",
    [
        "cd link/.. && cat README",
        "cat pub/../README",
        "cat pub/[^.]* {README,pub}/new",
        "ln -s README pub/r; cat pub/r",
        "ln -sfn pub current && touch current/x",
        "git -C pub/.. status",
        "git -C pub log -p ../README",
        "uv run pytest",
        "grep -rn foo . --include=*.py",
        "grep -rn --include='*.{py}' foo . --exclude-dir=node_modules",
        "grep -rn foo . --include=*.{ts,tsx} | head -20",
        "x=$(git rev-parse HEAD); echo $x",
        "cat /proc/self/status",
    ],
)
async def test_a_detour_to_what_is_free_is_free(harness: ToolHarness, command: str) -> None:
    assert await decision(harness, command) == "allow"


@pytest.mark.asyncio(loop_scope="module")
async def test_an_allowed_command_gets_no_secret_through_a_link(harness: ToolHarness) -> None:
    harness.session.use_mode("manual")
    try:
        assert await decision(harness, "wc -l < innocent") == "ask"
        assert await decision(harness, "wc -l < README") == "allow"
    finally:
        harness.session.use_mode("yolo")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "command",
    [
        "./make test",
        "for HOME in evil; do make; done",
        "select MAKEFLAGS in x; do make; done",
        "(( MAKEFLAGS=1 )); make",
        ": ${MAKEFLAGS:=x}; make",
        "npm_config_script_shell=./evil; make",
        "read http_proxy < README; make",
        "set -a; x=1; make",
        "printf -v HOME x; make",
    ],
)
async def test_a_program_is_allowed_as_it_is_found_and_with_its_own_variables(
    harness: ToolHarness, command: str
) -> None:
    harness.session.use_mode("manual")
    try:
        assert await decision(harness, command) == "ask"
    finally:
        harness.session.use_mode("yolo")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "command",
    [
        "set -euo pipefail; make",
        "while IFS= read -r line; do printf '%s\\n' \"$line\"; done < README",
        "make & sleep 1; wait; make test",
        "for file in a b; do make; done",
    ],
)
async def test_what_steers_a_script_needs_no_rule(harness: ToolHarness, command: str) -> None:
    harness.session.use_mode("manual")
    try:
        assert await decision(harness, command) == "allow"
    finally:
        harness.session.use_mode("yolo")


async def test_what_only_reads_goes_together_with_what_a_rule_allows(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    workspace = tmp_path_factory.mktemp("reads").resolve()
    (workspace / ".env").write_text("A=1")
    permission = {"allow": ["Bash(make*)"], "allow_read_only_commands": True}
    async with ToolHarness(workspace, mode="manual", config={"permission": permission}) as harness:
        assert await decision(harness, "make test 2>&1 | tail -20") == "allow"
        message = "make MESSAGE=\"$(cat <<'E'\nTitle\nE\n)\""
        assert await decision(harness, message) == "allow"
        for command in ("make; cat .env", "make; cat .git/config", "make | tee log", "make; rm x"):
            assert await decision(harness, command) == "ask"
