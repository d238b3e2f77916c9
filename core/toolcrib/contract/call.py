"""A call and its outcome, as hooks see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import define, field

from toolcrib.contract.contribution import Source
from toolcrib.contract.execution import RunnableExecution
from toolcrib.contract.result import ToolResult

OutcomeKind = Literal[
    "executed",
    "preflight-rejected",
    "resolution-failed",
    "vetoed",
    "aborted",
    "synthetic",
    "skipped",
]


@define
class ToolCall:
    """One call on its way through the pipeline.

    `raw_arguments` is what the model sent, `arguments` the parsed and valid JSON object, `args`
    the same as an instance of the tool's input class. `execution` is there once the call was
    resolved. `agent` names the agent that makes the call.
    """

    id: str
    name: str
    raw_arguments: Any = field(default=None, repr=False)
    arguments: Mapping[str, Any] = field(factory=dict, repr=False)
    args: Any = field(default=None, repr=False)
    execution: RunnableExecution | None = field(default=None, repr=False)
    source: Source | None = None
    turn_id: str | None = None
    agent: str = "main"


@define
class Outcome:
    """How a call ended; `did_execute` hooks may replace `result`."""

    kind: OutcomeKind
    result: ToolResult
