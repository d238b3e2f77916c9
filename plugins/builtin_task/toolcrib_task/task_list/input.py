"""The arguments of TaskList."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le, MinLen
from attrs import frozen
from typing_extensions import Doc

from toolcrib import TaskStatus

DEFAULT_LIMIT = 20
MAX_LIMIT = 100


@frozen(kw_only=True)
class TaskListInput:
    """Which tasks to list."""

    active_only: Annotated[
        bool,
        Doc("Only tasks that still run. False lists ended ones too, newest first. Default: true."),
    ] = True
    limit: Annotated[
        int,
        Ge(1),
        Le(MAX_LIMIT),
        Doc(f"How many tasks to list at most. Default: {DEFAULT_LIMIT}."),
    ] = DEFAULT_LIMIT
    status: Annotated[
        TaskStatus | None,
        Doc("Only tasks of this status; one that has ended is looked for whatever active_only is."),
    ] = None
    kind: Annotated[
        str | None,
        MinLen(1),
        Doc("Only tasks of this kind, such as `process` for commands of Bash."),
    ] = None

    @property
    def running_only(self) -> bool:
        """Whether tasks that have ended are left out."""
        return self.status == "running" or (self.active_only and self.status is None)
