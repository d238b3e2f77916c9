"""The `[task]` table of the configuration."""

from __future__ import annotations

from attrs import Attribute, field, frozen

from toolcrib import settings


def _positive(instance: object, attribute: Attribute[int], value: int | None) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ValueError(f"task.{attribute.name} must be a positive whole number, not {value!r}")


def _not_negative(instance: object, attribute: Attribute[float], value: float) -> None:
    if isinstance(value, bool) or not 0 <= value < float("inf"):
        raise ValueError(f"task.{attribute.name} must be 0 or more seconds, not {value!r}")


@settings("task")
@frozen(kw_only=True)
class TaskSettings:
    """How background tasks are looked after.

    `max_running_tasks` bounds those that run at once; unset, nothing does. `keep_alive_on_exit`
    lets them go on when the session ends. A task that is told to stop has `kill_grace_period_s`
    seconds before it is killed. One that writes more than `output_limit_bytes` is stopped.
    """

    max_running_tasks: int | None = field(default=None, validator=_positive)
    keep_alive_on_exit: bool = False
    kill_grace_period_s: float = field(default=5.0, validator=_not_negative)
    output_limit_bytes: int = field(default=16 << 20, validator=_positive)
