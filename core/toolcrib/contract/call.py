"""A call and its outcome, as hooks see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableSet
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from attrs import define, field

from toolcrib.contract.contribution import Source
from toolcrib.contract.execution import RunnableExecution
from toolcrib.contract.result import ToolResult

if TYPE_CHECKING:
    from toolcrib.approvals.store import SessionApprovals
    from toolcrib.config.settings import Settings
    from toolcrib.contract.events import Event
    from toolcrib.interactions import Interactions
    from toolcrib.paths import Workspace
    from toolcrib.permissions.approved import Approved
    from toolcrib.permissions.ruleset import RuleSet
    from toolcrib.plugins.hook_calls import Implementation

T = TypeVar("T")

OutcomeKind = Literal[
    "executed",
    "preflight-rejected",
    "resolution-failed",
    "vetoed",
    "aborted",
    "synthetic",
    "skipped",
]


class SessionView(Protocol):
    """What hooks may know of the session that a call belongs to."""

    @property
    def id(self) -> str: ...
    @property
    def workspace(self) -> Workspace: ...
    @property
    def environment(self) -> Mapping[str, str]: ...
    @property
    def mode(self) -> str: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def permission_rules(self) -> RuleSet: ...
    @property
    def interactions(self) -> Interactions: ...
    @property
    def awaiting(self) -> MutableSet[Approved]:
        """The calls that wait for an approval, or have it and do not run yet."""
        ...

    @property
    def approvals(self) -> SessionApprovals: ...

    def permission_checks(self, tool: str) -> tuple[Implementation, ...]:
        """The plugins' `check_permission` for calls of one tool, first to last."""
        ...

    @property
    def observed(self) -> bool:
        """Whether anybody follows the events."""
        ...

    def emit(self, event: Event) -> None:
        """Give an event to everybody who follows them."""
        ...

    def section(self, name: str) -> Mapping[str, Any]:
        """The values of a table of the configuration."""
        ...

    def entries(self, cls: type[T]) -> tuple[tuple[str, T], ...]:
        """The entries of the array of tables that a class describes, each with its place."""
        ...

    def report(self, plugin: str, stage: str, message: str) -> None:
        """Note that a plugin's hook failed, and tell those who listen."""
        ...


@define
class ToolCall:
    """One call on its way through the pipeline.

    `raw_arguments` is what the model sent, `arguments` the parsed and valid JSON object, `args`
    the same as an instance of the tool's input class. `execution` is there once the call was
    resolved. `source` and `domain` say where the tool comes from and what it is about. `agent`
    names the agent that makes the call, `session` is the session it belongs to and can be a key of
    weak mappings. `allowed_by` names the plugin that answered `Allow`. `approved` is what somebody
    approved, to be compared with what is about to run; `withheld` tells which paths the result
    must leave out.
    """

    id: str
    name: str
    raw_arguments: Any = field(default=None, repr=False)
    arguments: Mapping[str, Any] = field(factory=dict, repr=False)
    args: Any = field(default=None, repr=False)
    execution: RunnableExecution | None = field(default=None, repr=False)
    source: Source | None = None
    domain: str = "other"
    turn_id: str | None = None
    agent: str = "main"
    session: SessionView | None = field(default=None, repr=False)
    allowed_by: str | None = None
    approved: Approved | None = field(default=None, repr=False)
    withheld: Callable[[str], bool] | None = field(default=None, repr=False)


@define
class Outcome:
    """How a call ended; `did_execute` hooks may replace `result`."""

    kind: OutcomeKind
    result: ToolResult
