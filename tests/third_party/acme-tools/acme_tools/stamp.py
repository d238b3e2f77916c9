"""Stamps the results of acme's own tools."""

from __future__ import annotations

import attrs

from toolcrib import Outcome, ToolCall, hookimpl


@hookimpl(tools=["AcmeCount", "AcmeShout"])
def did_execute(call: ToolCall, outcome: Outcome) -> None:
    if outcome.kind == "executed" and isinstance(outcome.result.output, str):
        stamped = f"{outcome.result.output} (stamped by acme)"
        outcome.result = attrs.evolve(outcome.result, output=stamped)
