"""The events that hooks and hosts can observe; each has a `type` for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import field, frozen

from toolcrib.contract.call import OutcomeKind
from toolcrib.contract.context import Update
from toolcrib.contract.display import Display
from toolcrib.contract.result import ContentPart
from toolcrib.contract.task_records import TaskInfo


@frozen(kw_only=True)
class ToolCallStarted:
    """A call was adjudicated: it is about to run, or has been refused. Sent once for each call.

    `arguments` lacks the values of properties that are named like secrets.
    """

    type: ClassVar[str] = "tool.call.started"
    agent: str
    turn_id: str | None
    call_id: str
    name: str
    arguments: Any = field(repr=False)
    description: str | None = None
    display: Display | None = None


@frozen(kw_only=True)
class ToolProgress:
    """News from a running body."""

    type: ClassVar[str] = "tool.progress"
    agent: str
    turn_id: str | None
    call_id: str
    update: Update


@frozen(kw_only=True)
class ToolResultReady:
    """A call has its one result. `duration_ms` is the time the body ran, `queue_ms` its wait."""

    type: ClassVar[str] = "tool.result"
    agent: str
    turn_id: str | None
    call_id: str
    name: str
    outcome: OutcomeKind
    output: str | tuple[ContentPart, ...] = field(repr=False)
    is_error: bool
    duration_ms: float
    queue_ms: float


@frozen(kw_only=True)
class ToolListUpdated:
    """The table of active tools changed; `replaced` are those that may look different now."""

    type: ClassVar[str] = "tool.list.updated"
    agent: str
    reason: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    replaced: tuple[str, ...] = ()


@frozen(kw_only=True)
class PluginProblem:
    """A plugin failed in a place where the host goes on without it.

    `details` are for programs what the message is for people, where a plugin gives any.
    """

    type: ClassVar[str] = "plugin.problem"
    plugin: str
    stage: str
    message: str
    details: Mapping[str, Any] = field(factory=dict)


@frozen(kw_only=True)
class RuntimeChanged:
    """Tools act in another runtime now, or theirs can do more or less than before.

    `os`, `shell` and `cwd` are what a model has to know of the place; `text` says it in words.
    """

    type: ClassVar[str] = "runtime.changed"
    agent: str
    id: str
    generation: str
    status: str
    capabilities: tuple[str, ...]
    os: str
    shell: str
    cwd: str
    text: str


@frozen(kw_only=True)
class PermissionDecided:
    """What was decided of a call: by which policy, and by which rule of which file and line.

    `decision` is `allow`, `ask` or `deny`; `arguments` lacks secrets.
    """

    type: ClassVar[str] = "permission.decided"
    agent: str
    turn_id: str | None
    call_id: str
    name: str
    mode: str
    decision: str
    policy: str
    rule: str | None = None
    source: str | None = None
    reason: str | None = None
    arguments: Any = field(default=None, repr=False)


@frozen(kw_only=True)
class ApprovalRequested:
    """Somebody is being asked whether a call may run."""

    type: ClassVar[str] = "permission.approval.requested"
    agent: str
    turn_id: str | None
    call_id: str
    name: str
    request_id: str
    policy: str
    reason: str | None = None
    display: Display | None = None
    arguments: Any = field(default=None, repr=False)


@frozen(kw_only=True)
class ApprovalResolved:
    """The answer to a request; `request_id` is None when nobody could be asked.

    `decision` is `approved`, `rejected` or `cancelled`, `scope` how long it holds, `by` who or what
    answered, `cause` why it was cancelled, `remembered` the rules that hold from now on, `written`
    the `file:line` of those that outlive the session, and `duration_ms` how long the answer took,
    in milliseconds.
    """

    type: ClassVar[str] = "permission.approval.resolved"
    agent: str
    turn_id: str | None
    call_id: str
    name: str
    request_id: str | None
    decision: str
    scope: str
    by: str | None
    cause: str | None
    has_feedback: bool
    remembered: tuple[str, ...]
    written: tuple[str, ...] = ()
    duration_ms: float


@frozen(kw_only=True)
class PermissionModeChanged:
    """The permission mode of the session is another one."""

    type: ClassVar[str] = "permission.mode.changed"
    before: str
    mode: str


@frozen(kw_only=True)
class ConfigurationReloaded:
    """A configuration file changed and was read again; with a `problem`, the old one holds."""

    type: ClassVar[str] = "configuration.reloaded"
    problem: str | None = None


@frozen(kw_only=True)
class TaskStarted:
    """A task runs in the background: it was started there, or moved there."""

    type: ClassVar[str] = "task.started"
    agent: str
    task: TaskInfo


@frozen(kw_only=True)
class TaskEnded:
    """A task in the background has ended. `output_tail` is the end of what it wrote."""

    type: ClassVar[str] = "task.ended"
    agent: str
    task: TaskInfo
    output_tail: str = field(default="", repr=False)


@frozen(kw_only=True)
class McpServerStatus:
    """An MCP server is in another state now.

    `status` is `disabled`, `starting`, `connected`, `failed`, `needs-auth` or `removed`, `error`
    says why; `tool_count` counts the tools that the agent is offered of it.
    """

    type: ClassVar[str] = "mcp.server.status"
    name: str
    transport: str
    status: str
    tool_count: int
    error: str | None = None


@frozen(kw_only=True)
class ContextMessagesReady:
    """There is news for the model: `Session.context_messages` gives it."""

    type: ClassVar[str] = "context.messages.ready"
    agent: str


Event = (
    ToolCallStarted
    | ToolProgress
    | ToolResultReady
    | ToolListUpdated
    | PluginProblem
    | RuntimeChanged
    | PermissionDecided
    | PermissionModeChanged
    | ConfigurationReloaded
    | ApprovalRequested
    | ApprovalResolved
    | TaskStarted
    | TaskEnded
    | McpServerStatus
    | ContextMessagesReady
)


def event_to_dict(event: Event) -> dict[str, Any]:
    """The event as JSON-ready data, tagged with `type`."""
    from attrs import asdict

    from toolcrib.contract.content import content_to_json
    from toolcrib.contract.display import display_to_dict

    shown: dict[str, Any] = {"type": event.type}
    for name in type(event).__attrs_attrs__:
        value = getattr(event, name.name)
        if name.name == "display":
            value = display_to_dict(value) if value is not None else None
        elif name.name == "output":
            value = content_to_json(value)
        elif name.name == "update":
            value = {key: item for key, item in asdict(value).items() if item is not None}
        elif isinstance(value, TaskInfo):
            value = asdict(value)
        elif isinstance(value, Mapping):
            value = dict(value)
        shown[name.name] = value
    return shown
