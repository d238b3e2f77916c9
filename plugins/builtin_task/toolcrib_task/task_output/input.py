"""The arguments of TaskOutput."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le, MinLen
from attrs import frozen
from typing_extensions import Doc

MIN_BYTES = 1_024
MAX_BYTES = 32_768


@frozen(kw_only=True)
class TaskOutputInput:
    """Of which task, and which piece of its output."""

    task_id: Annotated[str, MinLen(1), Doc("Id of the task, as its start or TaskList tells.")]
    tail_bytes: Annotated[
        int,
        Ge(MIN_BYTES),
        Le(MAX_BYTES),
        Doc(
            "How many bytes of output to show at most: the last ones, or with since_offset the "
            f"first ones from there on. Default: {MAX_BYTES}."
        ),
    ] = MAX_BYTES
    since_offset: Annotated[
        int | None,
        Ge(0),
        Doc(
            "Show the output from this byte on, 0 being its beginning. To see only what is new, "
            "give the next_offset of the call before."
        ),
    ] = None
