"""The arguments of WaitFor."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Le, MaxLen, MinLen
from attrs import frozen
from typing_extensions import Doc

MAX_TIMEOUT_S = 600


@frozen(kw_only=True)
class WaitForInput:
    """What to wait for, and how long."""

    timeout: Annotated[
        int,
        Ge(1),
        Le(MAX_TIMEOUT_S),
        Doc("How long to wait at most, in seconds. Running out of it is no error."),
    ]
    task_id: Annotated[
        str | None,
        MinLen(1),
        Doc("The task to wait for. Without it and task_ids: the first to end of those that run."),
    ] = None
    task_ids: Annotated[
        list[Annotated[str, MinLen(1)]] | None,
        MinLen(1),
        MaxLen(100),
        Doc("Several tasks to wait for, instead of task_id; see mode."),
    ] = None
    mode: Annotated[
        Literal["any", "all"],
        Doc("Whether one of the tasks is enough or all are waited for. Default: any."),
    ] = "any"
    pattern: Annotated[
        str | None,
        MinLen(1),
        MaxLen(1_000),
        Doc(
            "Also stop waiting for a task when a line of its output matches this regular "
            "expression, such as `listening on|error:`. Output from before the call counts. "
            "Rust syntax as in Grep: no look-around, no backreferences; `(?i)` ignores case."
        ),
    ] = None

    def __attrs_post_init__(self) -> None:
        if self.task_id is not None and self.task_ids is not None:
            raise ValueError("give task_id or task_ids, not both")

    @property
    def named(self) -> tuple[str, ...]:
        """The tasks that were named, each once."""
        return tuple(dict.fromkeys(self.task_ids or ([self.task_id] if self.task_id else [])))
