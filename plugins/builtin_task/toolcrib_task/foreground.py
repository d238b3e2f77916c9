"""A call that somebody waits for, as long as it is not moved to the background."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define

from toolcrib import TaskInfo
from toolcrib_task.log import OutputLog
from toolcrib_task.task import BackgroundTask


@define(eq=False)
class ForegroundCall:
    """See `toolcrib.Foreground`; `task` is what it becomes when it is moved."""

    task: BackgroundTask
    _on_detach: Callable[[], None]
    _hand_over: Callable[[float | None], TaskInfo]
    _forget: Callable[[], None]
    wanted: bool = False
    _over: bool = False

    @property
    def task_id(self) -> str:
        return self.task.id

    @property
    def log(self) -> OutputLog:
        return self.task.log

    def ask(self) -> None:
        """Tell whoever waits that it should hand the call over."""
        if not self.wanted and not self._over:
            self.wanted = True
            self._on_detach()

    def hand_over(self, timeout_s: float | None) -> TaskInfo:
        """Leave the call to the tasks, with so many seconds more."""
        self._over = True
        return self._hand_over(timeout_s)

    def close(self) -> None:
        """Forget a call that has ended in the foreground."""
        if not self._over:
            self._over = True
            self._forget()
