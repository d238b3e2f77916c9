"""Records of background tasks: what is known of one, how it ended, what it has written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import field, frozen

TaskStatus = Literal["running", "completed", "failed", "timed_out", "killed", "lost"]
"""`lost`: nobody saw how it ended, since the program that looked after it was gone by then."""
STOPPED_BY_USER = "stopped by the user"
"""The reason of a task that a person has stopped."""


@frozen(kw_only=True)
class TaskInfo:
    """What there is to know of a task.

    Attributes:
        task_id: `PREFIX-` and eight of `0-9a-z`.
        kind: `process`, `agent`, `question` or what else an extension runs.
        detached: False while the call that started it still waits for it.
        started_at: in seconds of the epoch, like `ended_at`.
        stop_reason: why it was stopped, or what went wrong; None after a natural end.
        suppressed: whether nobody is told of its end, as when the model has stopped it itself.
        timeout_s: how long it may take, in seconds; None for ever.
        details: what its kind adds, ready for JSON: of a process `command`, `pid`, `exit_code`.
    """

    task_id: str
    kind: str
    description: str
    status: TaskStatus
    detached: bool
    started_at: float
    ended_at: float | None = None
    stop_reason: str | None = None
    suppressed: bool = False
    timeout_s: float | None = None
    details: Mapping[str, Any] = field(factory=dict)

    @property
    def active(self) -> bool:
        return self.status == "running"


@frozen
class TaskEnd:
    """How work ended; `reason` says what went wrong beyond an exit code.

    `despite_stop` says that all was done although it was told to stop, so that it counts;
    `unseen` that nobody knows, so that the task is lost.
    """

    succeeded: bool
    reason: str | None = None
    despite_stop: bool = False
    unseen: bool = False


@frozen(kw_only=True)
class TaskOutput:
    """A piece of what a task has written.

    Attributes:
        text: cleaned for reading, cut between characters.
        start: the offset in bytes at which it begins; `end` the one to read on from.
        total_bytes: how much the task has written so far.
        path: the file that holds all of it; None when there is none.
        kept_bytes: how much of it was kept.
        problem: why not everything was kept.
    """

    text: str
    start: int
    end: int
    total_bytes: int
    kept_bytes: int
    path: str | None = None
    problem: str | None = None
    binary: bool = False

    @property
    def truncated(self) -> bool:
        """Whether something in front of `start` was left out."""
        return self.start > 0
