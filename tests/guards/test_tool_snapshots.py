"""What a model sees of each builtin tool is pinned, so that a change of it shows in review.

`UPDATE_SNAPSHOTS=1 pytest tests/guards` writes the files anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib.testing import ToolHarness

SNAPSHOTS = Path(__file__).parent / "snapshots"
TOOLS = (
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "Read",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "WaitFor",
    "Write",
    "select_tools",
)


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """The table of builtin tools with its defaults; what depends on the machine is replaced."""
    workspace = tmp_path_factory.mktemp("snapshots") / "workspace"
    workspace.mkdir()
    session = ToolHarness(
        workspace,
        environ={"TOOLCRIB_FEATURE_TOOL_SELECT": "1"},
        model_capabilities=("dynamically_loaded_tools", "tool_use"),
    ).session
    yield {
        tool.name: {
            "name": tool.name,
            "description": tool.description.replace(session.runtime.shell, "/bin/bash"),
            "parameters": tool.parameters,
        }
        for tool in session.tools()
    }


def test_the_builtin_tools_are_these(listed: dict[str, dict[str, Any]]) -> None:
    assert sorted(listed) == sorted(TOOLS)


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_looks_as_it_did(name: str, listed: dict[str, dict[str, Any]]) -> None:
    file = SNAPSHOTS / f"{name}.json"
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        file.write_text(json.dumps(listed[name], indent=2, ensure_ascii=False) + "\n", "utf-8")
    assert listed[name] == json.loads(file.read_text("utf-8"))


@pytest.mark.parametrize("name", TOOLS)
def test_a_model_is_told_what_each_argument_is(
    name: str, listed: dict[str, dict[str, Any]]
) -> None:
    schema = listed[name]["parameters"]
    assert schema["additionalProperties"] is False
    for argument, described in schema["properties"].items():
        assert described.get("description"), argument
    assert "${" not in listed[name]["description"]
