"""The thirteen ways a call can be shown to a person, as one tagged union."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from attrs import asdict, evolve, frozen


@frozen(kw_only=True)
class CommandDisplay:
    """A shell command."""

    kind: ClassVar[str] = "command"
    command: str
    cwd: str | None = None
    description: str | None = None
    language: str = "bash"


@frozen(kw_only=True)
class FileIODisplay:
    """Work on one file or a search below one folder; `path` is absolute."""

    kind: ClassVar[str] = "file_io"
    operation: Literal["read", "write", "edit", "glob", "grep"]
    path: str
    detail: str | None = None
    content: str | None = None
    before: str | None = None
    after: str | None = None


@frozen(kw_only=True)
class DiffDisplay:
    """A change of one file as a unified diff."""

    kind: ClassVar[str] = "diff"
    path: str
    diff: str


@frozen(kw_only=True)
class SearchDisplay:
    """A query to a search engine."""

    kind: ClassVar[str] = "search"
    query: str


@frozen(kw_only=True)
class UrlFetchDisplay:
    """A page to be fetched."""

    kind: ClassVar[str] = "url_fetch"
    url: str


@frozen(kw_only=True)
class AgentCallDisplay:
    """A sub-agent to be started."""

    kind: ClassVar[str] = "agent_call"
    agent: str
    prompt: str
    background: bool = False


@frozen(kw_only=True)
class SkillCallDisplay:
    """A skill to be loaded."""

    kind: ClassVar[str] = "skill_call"
    skill: str
    arguments: str | None = None


@frozen(kw_only=True)
class TodoListDisplay:
    """The items of a todo list, each a mapping with `title` and `status`."""

    kind: ClassVar[str] = "todo_list"
    items: tuple[Mapping[str, str], ...]


@frozen(kw_only=True)
class TaskDisplay:
    """A background task that is looked at or waited for."""

    kind: ClassVar[str] = "task"
    task_id: str
    description: str | None = None


@frozen(kw_only=True)
class TaskStopDisplay:
    """A background task that is to be stopped."""

    kind: ClassVar[str] = "task_stop"
    task_id: str
    description: str | None = None


@frozen(kw_only=True)
class PlanReviewDisplay:
    """A plan to be reviewed, with the options to choose from."""

    kind: ClassVar[str] = "plan_review"
    plan: str
    path: str | None = None
    options: tuple[str, ...] = ()


@frozen(kw_only=True)
class GoalStartDisplay:
    """A goal to be started."""

    kind: ClassVar[str] = "goal_start"
    goal: str
    budget: str | None = None


@frozen(kw_only=True)
class GenericDisplay:
    """Anything else: a line, and the arguments."""

    kind: ClassVar[str] = "generic"
    summary: str
    detail: Any = None


Display = (
    CommandDisplay
    | FileIODisplay
    | DiffDisplay
    | SearchDisplay
    | UrlFetchDisplay
    | AgentCallDisplay
    | SkillCallDisplay
    | TodoListDisplay
    | TaskDisplay
    | TaskStopDisplay
    | PlanReviewDisplay
    | GoalStartDisplay
    | GenericDisplay
)


def display_to_dict(display: Display) -> dict[str, Any]:
    """The display as JSON-ready data, tagged with `kind`, fields that say nothing left out."""
    fields = {name: value for name, value in asdict(display).items() if value is not None}
    return {"kind": display.kind, **fields}


def without_secrets(display: Display | None) -> Display | None:
    """The display as those who follow events may see it, without values named like secrets."""
    from toolcrib.redaction import redacted

    if display is None:
        return None
    shown = {
        name: redacted(value)
        for name, value in asdict(display, recurse=False).items()
        if isinstance(value, str | Mapping)
    }
    return evolve(display, **shown)
