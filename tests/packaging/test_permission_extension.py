"""A team's permission policy, installed by pip, has its say on every call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(300)

POLICY = Path(__file__).parents[1] / "third_party" / "acme-policy"
FORBIDDEN = [
    "echo x > infra/main.tf",
    "echo x | tee -a infra/main.tf",
    "cp a.txt infra/",
    "rm infra/main.tf",
    "rm -rf infra",
    "rm -r .",
    "mv infra/main.tf elsewhere",
    "sed -i s/a/b/ infra/main.tf",
    "git checkout -- infra/x",
    "git reset --hard",
    "cd infra && touch new",
    "env -C infra touch new",
    "sh -c 'echo x > infra/main.tf'",
    "echo x > link/main.tf",
    "find infra -delete",
]
IN_DOUBT = ['echo x > "$FILE"', "eval $SCRIPT", "xargs rm < list"]
NETWORK = [
    "curl https://example.org",
    "true && sudo wget -q https://example.org -O page",
    "echo $(ssh host uptime)",
    "timeout 5 nc host 80",
    "scp a.txt host:",
    "rsync -a . host:",
    "git push",
    "git -C sub fetch --all",
    'git "$WHAT"',
    "pip install toolcrib",
    "python3 -m pip install toolcrib",
    "npm ci",
    "docker pull alpine",
]
HARMLESS = ["cat infra/main.tf", "echo curl infra/main.tf", "git status", "touch a.txt"]


@pytest.fixture(scope="module")
def acme(builder: Any, installed: Any) -> Iterator[Any]:
    """An environment with toolcrib and acme-policy; clean afterwards."""
    before = installed.files()
    installed.pip("install", *builder.wheels(POLICY))
    yield installed
    installed.pip("uninstall", "-y", "acme-policy")
    assert installed.files() == before


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A workspace with a protected folder."""
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "main.tf").write_text("old\n", "utf-8")
    (tmp_path / "link").symlink_to("infra")
    (tmp_path / "a.txt").write_text("a\n", "utf-8")
    return tmp_path


def explained(
    acme: Any, there: Path, name: str, /, mode: str = "yolo", config: str = "", **arguments: Any
) -> Any:
    """What is decided of a call, by the installed command."""
    user = there.parent / f"{there.name}.toml"
    user.write_text(config, "utf-8")
    call = json.dumps({"name": name, "arguments": arguments})
    flags = ("--workspace", str(there), "--mode", mode)
    return acme.json("explain", "--call", call, *flags, TOOLCRIB_CONFIG=str(user))


def decided(decision: Any) -> tuple[str, str, str | None]:
    return decision["decision"], decision["policy"], decision["source"]


@pytest.mark.parametrize("mode", ["manual", "yolo", "auto"])
def test_it_denies_writing_in_every_mode(acme: Any, there: Path, mode: str) -> None:
    denied = ("deny", "acme-infra", "acme-infra")
    for name, arguments in (
        ("Write", {"path": "infra/new.tf", "content": "x"}),
        ("Write", {"path": "link/new.tf", "content": "x"}),
        ("Edit", {"path": "infra/main.tf", "old_string": "old", "new_string": "new"}),
    ):
        assert decided(explained(acme, there, name, mode, **arguments)) == denied
    assert decided(explained(acme, there, "Bash", mode, command="rm -rf infra")) == denied
    assert decided(explained(acme, there, "Read", mode, path="infra/main.tf"))[0] == "allow"


def test_it_judges_commands_by_what_they_write_and_reach(acme: Any, there: Path) -> None:
    code = """
import asyncio, json, sys
import toolcrib
from toolcrib.explain import explain_call

async def main():
    async with toolcrib.open_session(sys.argv[1], mode="yolo") as session:
        for command in json.loads(sys.argv[2]):
            call = {"name": "Bash", "arguments": {"command": command}}
            decision = await explain_call(session.main, call)
            print(json.dumps([command, decision.decision, decision.policy]))

asyncio.run(main())
"""
    commands = json.dumps([*FORBIDDEN, *IN_DOUBT, *NETWORK, *HARMLESS])
    printed = acme.check(acme.path("python"), "-c", code, str(there), commands)
    assert [json.loads(line) for line in printed.splitlines()] == [
        *([command, "deny", "acme-infra"] for command in FORBIDDEN),
        *([command, "ask", "acme-infra"] for command in IN_DOUBT),
        *([command, "ask", "acme-network"] for command in NETWORK),
        *([command, "allow", "yolo-mode-approve"] for command in HARMLESS),
    ]


def test_the_veto_and_the_events_name_it(acme: Any, there: Path) -> None:
    batch = json.dumps([{"id": "1", "name": "Bash", "arguments": {"command": "rm infra/main.tf"}}])
    flags = ("--workspace", str(there), "--mode", "auto", "--json", "--events")
    done = acme.run(acme.path("toolcrib"), "run", "-", *flags, given=batch)
    events = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    (event,) = [event for event in events if event["type"] == "permission.decided"]
    assert (event["decision"], event["policy"], event["source"]) == (
        "deny",
        "acme-infra",
        "acme-infra",
    )
    completion = json.loads(done.stdout)
    assert completion["outcome"] == "vetoed"
    assert "'acme-infra'" in completion["output"]
    assert "pull requests" in completion["output"]
    assert (there / "infra" / "main.tf").exists()


def test_an_allow_rule_of_the_user_goes_before_what_stands_behind_it(
    acme: Any, there: Path
) -> None:
    allow = '[permission]\nallow = ["Bash(git push origin *)", "Bash(rm *)"]\n'
    pushing = explained(acme, there, "Bash", config=allow, command="git push origin main")
    assert decided(pushing)[:2] == ("allow", "user-configured-allow")
    removing = explained(acme, there, "Bash", config=allow, command="rm infra/main.tf")
    assert decided(removing)[:2] == ("deny", "acme-infra")


def test_a_deny_rule_of_the_user_beats_its_approval(acme: Any, there: Path) -> None:
    page = {"path": "docs/page.md", "content": "x"}
    free = explained(acme, there, "Write", "manual", **page)
    assert decided(free) == ("allow", "acme-docs", "acme-docs")
    deny = '[permission]\ndeny = ["Write(docs/**)"]\n'
    denied = explained(acme, there, "Write", "manual", deny, **page)
    assert decided(denied)[:2] == ("deny", "user-configured-deny")
    assert denied["rule"] == "Write(docs/**)"


@pytest.mark.parametrize("name", ["acme-infra", "acme-policy"])
def test_blocking_it_takes_it_away(acme: Any, there: Path, name: str) -> None:
    blocked = f'[plugins]\nblocked = ["{name}"]\n'
    command = {"command": "touch infra/new"}
    assert decided(explained(acme, there, "Bash", config=blocked, **command))[0] == "allow"
    push = decided(explained(acme, there, "Bash", config=blocked, command="git push"))
    assert push[0] == ("ask" if name == "acme-infra" else "allow")


def test_a_workspace_cannot_block_it(acme: Any, there: Path) -> None:
    (there / "toolcrib.toml").write_text('[plugins]\nblocked = ["acme-policy"]\n', "utf-8")
    denied = explained(acme, there, "Bash", command="touch infra/new")
    assert decided(denied)[:2] == ("deny", "acme-infra")


def test_when_it_fails_nothing_runs(acme: Any, there: Path) -> None:
    """Here for want of a name of a folder in its own table of the configuration."""
    failed = explained(acme, there, "Bash", config="[acme_policy]\nprotected = 5\n", command="ls")
    assert decided(failed) == ("deny", "acme-infra", "acme-infra")
    assert "TypeError" in failed["reason"]


def test_its_settings_move_it(acme: Any, there: Path) -> None:
    config = '[acme_policy]\nprotected = "prod"\n'
    moved = explained(acme, there, "Bash", config=config, command="touch prod/new")
    assert decided(moved)[:2] == ("deny", "acme-infra")
    assert decided(explained(acme, there, "Bash", config=config, command="rm infra/main.tf"))[
        0
    ] == ("allow")


def test_its_types_are_sound(installed: Any, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    installed.mypy(POLICY, cache=tmp_path)
