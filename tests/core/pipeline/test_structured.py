"""Data beside the output of a call, which never says what the output does not."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

import toolcrib
from toolcrib.contract.context import ToolContext

DATA = {"secret": "hunter2"}


async def tell(context: ToolContext) -> toolcrib.ToolResult:
    return toolcrib.ToolResult("the secret is hunter2", structured=DATA)


async def tell_much(context: ToolContext) -> toolcrib.ToolResult:
    return toolcrib.ToolResult("word " * 20_000, structured={"words": "word " * 20_000})


def hide(call: Any, outcome: Any) -> None:
    outcome.result = attrs.evolve(outcome.result, output="the secret is hidden")


def hide_everywhere(call: Any, outcome: Any) -> None:
    hidden = {"secret": "hidden"}
    outcome.result = attrs.evolve(outcome.result, output="hidden", structured=hidden)


def remark(call: Any, outcome: Any) -> None:
    outcome.result = attrs.evolve(outcome.result, note="a remark")


@pytest.mark.parametrize(
    ("hook", "left"),
    [(None, DATA), (remark, DATA), (hide, None), (hide_everywhere, {"secret": "hidden"})],
)
async def test_data_goes_with_the_output_that_a_hook_has_changed(
    bench: Any, run: Any, hook: Any, left: Any
) -> None:
    """Unless the hook has put others in their place."""
    if hook is not None:
        bench.plugin("hook", did_execute=hook)
    bench.tool("Tell", tell)
    (done,) = (await run(bench.open(), "Tell")).values()
    assert done.result.structured == left


async def test_data_goes_with_output_that_is_too_long(bench: Any, run: Any) -> None:
    """What is cut for the model comes back to it by no other way."""
    bench.tool("Tell", tell_much)
    (done,) = (await run(bench.open(), "Tell")).values()
    assert done.result.truncated and done.result.structured is None
