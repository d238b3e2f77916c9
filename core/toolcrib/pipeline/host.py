"""What the pipeline asks of the agent that it runs for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from toolcrib.contract.contribution import Source
from toolcrib.contract.events import Event
from toolcrib.offered import ToolTable
from toolcrib.pipeline.scheduler import Scheduler
from toolcrib.plugins.hook_calls import HookTable
from toolcrib.registry import ToolRegistry
from toolcrib.runtimes import Generation
from toolcrib.truncation import OutputStore


class Host(Protocol):
    """An agent, as far as the pipeline needs to know it."""

    @property
    def name(self) -> str: ...
    @property
    def session(self) -> Any: ...
    @property
    def registry(self) -> ToolRegistry: ...
    @property
    def table(self) -> ToolTable: ...
    @property
    def hooks(self) -> HookTable: ...
    @property
    def scheduler(self) -> Scheduler: ...
    @property
    def outputs(self) -> OutputStore | None: ...
    @property
    def timeouts(self) -> Mapping[str, float]: ...
    @property
    def generation(self) -> Generation: ...
    @property
    def observed(self) -> bool: ...

    def refusal(self, name: str, source: Source) -> str | None:
        """Why the tool policy forbids a registered tool, or None."""
        ...

    def explain_missing(self, name: str) -> str:
        """What to tell the model about a tool that is not in the table."""
        ...

    def emit(self, event: Event) -> None: ...

    def report(self, plugin: str, stage: str, message: str) -> None: ...
