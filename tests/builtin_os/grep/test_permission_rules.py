"""A search of a folder leaves out what rules keep from the model, and needs no question for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolcrib.testing import ToolHarness


@pytest.fixture
def tree(workspace: Path) -> Path:
    for name in ("src/a.txt", "private/b.txt", "notes.txt"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("needle\n")
    (workspace / "link.txt").symlink_to("private/b.txt")
    return workspace


@pytest.mark.parametrize("decision", ["deny", "ask"])
@pytest.mark.parametrize("output_mode", ["content", "files_with_matches", "count_matches"])
async def test_grep_shows_nothing_of_a_withheld_file(
    tree: Path, decision: str, output_mode: str
) -> None:
    rules = {decision: ["Read(private/**)"]}
    async with ToolHarness(tree, config={"permission": rules}) as crib:
        for more in ({}, {"follow": True}):
            done = await crib.call("Grep", pattern="needle", output_mode=output_mode, **more)
            text = str(done.result.output)
            assert done.outcome == "executed"
            assert "notes.txt" in text and "a.txt" in text
            assert "b.txt" not in text and "link.txt" not in text
            assert "permission rules" in f"{text}{done.result.note}"
        for path in ("private", "private/b.txt"):
            assert (await crib.call("Grep", pattern="needle", path=path)).outcome == "vetoed"


async def test_glob_shows_no_name_of_one(tree: Path) -> None:
    rules: dict[str, Any] = {"deny": ["Read(**/b.txt)"]}
    async with ToolHarness(tree, config={"permission": rules}) as crib:
        done = await crib.call("Glob", pattern="**/*.txt")
        assert "notes.txt" in str(done.result.output) and "b.txt" not in str(done.result.output)
        done = await crib.call("Glob", pattern="private/b.txt")
        assert "private/b.txt" not in str(done.result.output).replace("'private/b.txt'", "")


async def test_rules_about_writing_withhold_nothing(tree: Path) -> None:
    rules: dict[str, Any] = {"deny": ["Write(private/**)", "Edit(private/**)", "Read"]}
    async with ToolHarness(tree, config={"permission": rules}) as crib:
        done = await crib.call("Grep", pattern="needle")
        assert "b.txt" in str(done.result.output)
