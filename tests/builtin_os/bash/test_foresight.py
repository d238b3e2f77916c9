"""What Bash says of a command before it runs: what it touches, for the rules and the scheduler."""

from __future__ import annotations

import pytest

import toolcrib
from toolcrib.testing import ToolHarness


def foreseen(crib: ToolHarness, command: str, **more: object) -> toolcrib.RunnableExecution:
    entry = crib.session.main.registry.get("Bash")
    assert entry is not None
    execution = entry.tool.resolve_execution(entry.tool.Input(command=command, **more))  # type: ignore[attr-defined]
    assert isinstance(execution, toolcrib.RunnableExecution)
    return execution


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cat a.txt", ["a.txt"]),
        ("cd sub && cat a.txt", ["sub/a.txt"]),
        ("git log -1", []),
        ("sleep 1; echo done", []),
        ("sort < a.txt | uniq -c", ["a.txt"]),
    ],
)
async def test_a_command_that_surely_only_reads_runs_beside_others(
    crib: ToolHarness, command: str, paths: list[str]
) -> None:
    (crib.root / "sub").mkdir()
    accesses = foreseen(crib, command).accesses
    assert accesses is not None and not accesses.written_paths()
    named = {getattr(item, "path", "") for item in accesses.items}
    assert {str(crib.root / path) for path in paths} <= named


@pytest.mark.parametrize(
    "command",
    [
        "cat $X",
        "cat *.txt",
        "cat a.txt > b.txt",
        "make",
        "python3 -c 1",
        "eval $X",
        "sed -i s/a/b/ a.txt",
        "cat a.txt; touch b",
    ],
)
async def test_any_other_runs_alone(crib: ToolHarness, command: str) -> None:
    assert foreseen(crib, command).accesses is None


async def test_paths_start_in_the_folder_of_the_call(crib: ToolHarness) -> None:
    (crib.root / "sub").mkdir()
    analysis = foreseen(crib, "cat a.txt > ../b.txt", cwd="sub").analysis
    assert analysis is not None
    touched = {(effect.operation, effect.path) for effect in analysis.effects}
    assert touched == {
        ("read", str(crib.root / "sub/a.txt")),
        ("write", str(crib.root / "b.txt")),
    }
