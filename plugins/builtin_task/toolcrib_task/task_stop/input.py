"""The arguments of TaskStop."""

from __future__ import annotations

from typing import Annotated

from annotated_types import MinLen
from attrs import frozen
from typing_extensions import Doc

DEFAULT_REASON = "stopped with TaskStop"


@frozen(kw_only=True)
class TaskStopInput:
    """Which task to stop, and why."""

    task_id: Annotated[str, MinLen(1), Doc("Id of the task, as its start or TaskList tells.")]
    reason: Annotated[
        str | None,
        Doc("Why it is stopped, in a few words; it is kept with the task."),
    ] = None

    @property
    def stated_reason(self) -> str:
        """The reason, or a general one when none was given."""
        return (self.reason or "").strip() or DEFAULT_REASON
