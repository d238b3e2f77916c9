"""Arguments that a tool puts right before they are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolcrib import (
    Accesses,
    RunnableExecution,
    Tool,
    ToolContext,
    ToolContribution,
    ToolResult,
    hookimpl,
)
from toolcrib.testing import ToolHarness


class Trimming(Tool[dict[str, Any]]):
    """Takes the blanks off the word that it wants to be short; `seen` is what it was asked for."""

    name = "Trimming"
    description = "Repeats a word."
    Input = {  # noqa: RUF012
        "type": "object",
        "properties": {"word": {"type": "string", "maxLength": 3}},
        "additionalProperties": False,
    }

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def repair_arguments(self, arguments: Any) -> Any:
        self.seen.append(arguments)
        if not isinstance(arguments.get("word"), str):
            raise LookupError("there is no word")
        return {**arguments, "word": arguments["word"].strip()}

    def resolve_execution(self, args: dict[str, Any]) -> RunnableExecution:
        async def execute(context: ToolContext) -> ToolResult:
            return ToolResult(args["word"])

        return RunnableExecution(execute, approval_rule=self.name, accesses=Accesses.none())


class Plugin:
    def __init__(self) -> None:
        self.tool = Trimming()

    @hookimpl
    def contribute_tool(self) -> ToolContribution:
        return ToolContribution(name="Trimming", factory=self.tool)


@pytest.mark.parametrize(
    ("word", "outcome", "repaired"),
    [
        ("abc", "executed", False),
        ("  abc  ", "executed", True),
        ("abcdef", "preflight-rejected", True),
        (None, "preflight-rejected", True),
    ],
)
async def test_only_what_the_schema_refuses_is_repaired_and_checked_again(
    workspace: Path, word: Any, outcome: str, repaired: bool
) -> None:
    plugin = Plugin()
    async with ToolHarness(workspace, plugins=[plugin]) as harness:
        done = await harness.call("Trimming", word=word)
    assert done.outcome == outcome
    assert bool(plugin.tool.seen) is repaired
    if outcome == "executed":
        assert done.result.output == "abc"
