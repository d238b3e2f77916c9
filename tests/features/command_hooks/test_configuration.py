"""Which hooks there are: whose files count, what is refused, and what it costs to have none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from toolcrib.cli.checks import check_configuration
from toolcrib.errors import ConfigError
from toolcrib.testing import ToolHarness

PLUGIN = "feature-command-hooks"
MARK = {"command": "touch marker"}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "user.toml"
    file.write_text("")
    return {"HOME": str(tmp_path), "TOOLCRIB_CONFIG": str(file)}


def hook(command: str, event: str = "PreToolUse") -> str:
    return f"[[hooks]]\nevent = '{event}'\ncommand = '{command}'\n"


FAULTS = {
    "matcher = '('": "regular expression",
    "timeout = 0": "at least 1",
    "timeout = 601": "at most 600",
    "timeout = true": "a number",
    "on_error = 'shrug'": "'deny'",
    "matchr = 'x'": "'matcher'",
    "command = 3": "text",
    "command = ' '": "a command",
    "event = 'Stop'": "'PreToolUse'",
    "event = 'UserPromptSubmit'": "'PreToolUse'",
    "event = 'PostToolUse'\non_error = 'deny'": "PreToolUse",
}


@pytest.mark.parametrize("line", FAULTS)
def test_what_cannot_be_meant_is_refused_with_its_line(
    workspace: Path, tmp_path: Path, environ: dict[str, str], line: str
) -> None:
    """When a session opens, and by `config check`."""
    keys = {"event": "event = 'PreToolUse'", "command": "command = 'true'"}
    keys[line.partition(" ")[0]] = line
    text = "\n[[hooks]]\nevent = 'PostToolUse'\ncommand = 'true'\n[[hooks]]\n"
    (tmp_path / "user.toml").write_text(text + "\n".join(keys.values()) + "\n")
    with pytest.raises(ConfigError) as caught:
        ToolHarness(workspace, environ=environ)
    (problem,) = caught.value.problems
    assert problem.file == str(tmp_path / "user.toml")
    assert problem.line is not None and problem.line >= 5
    assert problem.key.startswith("hooks[1]")
    assert FAULTS[line] in problem.text
    assert check_configuration(workspace, environ).findings == (problem,)


@pytest.mark.parametrize("key", ["event", "command"])
def test_a_hook_needs_an_event_and_a_command(
    workspace: Path, tmp_path: Path, environ: dict[str, str], key: str
) -> None:
    lines = [line for line in hook("true").splitlines() if not line.startswith(key)]
    (tmp_path / "user.toml").write_text("\n".join(lines))
    with pytest.raises(ConfigError, match=f"{key!r}"):
        ToolHarness(workspace, environ=environ)


@pytest.mark.parametrize("text", ["[hooks]\nevent = 'PreToolUse'\n", "hooks = [1]\n"])
def test_hooks_are_an_array_of_tables(
    workspace: Path, tmp_path: Path, environ: dict[str, str], text: str
) -> None:
    (tmp_path / "user.toml").write_text(text)
    with pytest.raises(ConfigError, match="hooks"):
        ToolHarness(workspace, environ=environ)


async def test_the_file_of_a_workspace_counts_only_when_it_is_trusted(
    workspace: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    """And then beside the user's, never instead of it."""
    (workspace / "toolcrib.toml").write_text(hook("touch theirs"))
    async with ToolHarness(workspace, environ=environ) as crib:
        assert (await crib.call("Bash", MARK)).outcome == "executed"
        assert any(notice.key == "hooks" for notice in crib.session.notices)
    assert not (workspace / "theirs").exists()
    (tmp_path / "user.toml").write_text(hook("touch mine; exit 2"))
    trusting = {**environ, "TOOLCRIB_TRUST_WORKSPACE": "1"}
    async with ToolHarness(workspace, environ=trusting) as crib:
        assert (await crib.call("Bash", MARK)).outcome == "vetoed"
    assert (workspace / "theirs").exists() and (workspace / "mine").exists()


HookNames = Callable[[ToolHarness], set[str]]


@pytest.fixture
def in_the_path() -> HookNames:
    """The pipeline's hooks that the feature takes part in."""

    def in_the_path(crib: ToolHarness) -> set[str]:
        names = ("before_execute", "check_permission", "will_execute", "did_execute", "observe")
        table = crib.session.main.hooks
        return {name for name in names if any(i.plugin == PLUGIN for i in table.all(name))}

    return in_the_path


async def test_without_hooks_it_is_not_in_the_path_of_a_call(
    workspace: Path, environ: dict[str, str], in_the_path: HookNames
) -> None:
    """Not even when somebody turns it on."""
    environ["TOOLCRIB_FEATURE_COMMAND_HOOKS"] = "1"
    async with ToolHarness(workspace, environ=environ) as crib:
        assert in_the_path(crib) == set()
        assert not crib.session.main.features["command-hooks"].enabled


async def test_it_is_in_the_path_of_those_calls_only_that_a_hook_is_for(
    workspace: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "user.toml").write_text(
        hook("true") + "matcher = 'Bash'\n" + hook("true", "PostToolUse") + "matcher = 'Read'\n"
    )
    async with ToolHarness(workspace, environ=environ) as crib:
        table = crib.session.main.hooks
        found = {
            (name, tool)
            for name in ("before_execute", "check_permission", "did_execute")
            for tool in ("Bash", "Read", "Glob")
            if any(i.plugin == PLUGIN for i in table.for_tool(name, tool))
        }
    assert found == {
        ("before_execute", "Bash"),
        ("check_permission", "Bash"),
        ("did_execute", "Bash"),
        ("did_execute", "Read"),
    }


async def test_with_hooks_it_can_be_turned_off(
    workspace: Path, tmp_path: Path, environ: dict[str, str], in_the_path: HookNames
) -> None:
    (tmp_path / "user.toml").write_text(hook("exit 2"))
    async with ToolHarness(workspace, environ=environ) as crib:
        assert in_the_path(crib) == {"before_execute", "check_permission", "did_execute"}
    (tmp_path / "user.toml").write_text(
        hook("exit 2") + "[features]\ncommand-hooks = false\n",
    )
    async with ToolHarness(workspace, environ=environ) as crib:
        assert in_the_path(crib) == set()
        assert (await crib.call("Bash", MARK)).outcome == "executed"


async def test_a_change_of_the_file_counts_for_the_next_call(
    workspace: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    """A change that cannot be used leaves everything as it was."""
    file = tmp_path / "user.toml"
    outcomes = []
    async with ToolHarness(workspace, environ=environ) as crib:
        for text in ("", hook("exit 2"), "[[hooks]]\n", hook("true"), hook("exit  2"), ""):
            file.write_text(text)
            with suppress(ConfigError):
                crib.session.reload()
            outcomes.append((await crib.call("Bash", MARK)).outcome)
    assert outcomes == ["executed", "vetoed", "vetoed", "executed", "vetoed", "executed"]


def test_a_mistake_in_a_feature_that_is_off_does_not_matter(
    workspace: Path, tmp_path: Path, environ: dict[str, Any]
) -> None:
    environ["TOOLCRIB_FEATURE_COMMAND_HOOKS"] = "0"
    (tmp_path / "user.toml").write_text("[[hooks]]\n")
    ToolHarness(workspace, environ=environ)
