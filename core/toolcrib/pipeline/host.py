"""What the pipeline asks of the agent that it runs for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from toolcrib.contract.events import Event
from toolcrib.offered import ToolTable
from toolcrib.pipeline.scheduler import Scheduler
from toolcrib.plugins.hook_calls import HookTable
from toolcrib.registry import RegisteredTool, ToolRegistry
from toolcrib.runtimes import Generation
from toolcrib.truncation import OutputStore

if TYPE_CHECKING:
    from toolcrib.selection import ToolSelection


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
    def selection(self) -> ToolSelection | None: ...
    @property
    def observed(self) -> bool: ...

    def refusal(self, entry: RegisteredTool) -> str | None:
        """Why the tool policy forbids a registered tool, or None."""
        ...

    def explain_missing(self, name: str) -> str:
        """What to tell the model about a tool that is not in the table."""
        ...

    def emit(self, event: Event) -> None: ...

    def report(self, plugin: str, stage: str, message: str) -> None: ...
