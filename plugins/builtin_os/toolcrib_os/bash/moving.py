"""Lets a command that the model waits for become a background task."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from attrs import define, field

from toolcrib import Foreground, Lazy, RuntimeUnavailable, TaskInfo, Tasks, ToolcribError
from toolcrib_os.bash.work import ShellWork

NOTED_AFTER_S = 0.5
"""Most commands are over by then, and so the tasks never hear of them."""
_PARKED_BYTES = 1 << 16


@define(eq=False)
class Movable:
    """A command that runs, as the tasks know it: from when it has run for a while.

    `on_detach` is called when the host wants it moved.
    """

    _tasks: Lazy[Tasks]
    _work: ShellWork
    _on_detach: Callable[[], None]
    _parked: list[bytes] = field(factory=list, init=False, repr=False)
    _parked_bytes: int = field(default=0, init=False)
    _foreground: Foreground | None = field(default=None, init=False)
    _refused: bool = field(default=False, init=False)
    _timer: asyncio.TimerHandle = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(NOTED_AFTER_S, self._note)

    @property
    def wanted(self) -> bool:
        """Whether the host has asked for the move."""
        return self._foreground is not None and self._foreground.wanted

    def take(self, data: bytes) -> None:
        """Keep what it writes for the log of the task."""
        if self._foreground is not None:
            self._foreground.log.write(data)
        elif not self._refused:
            self._parked.append(data)
            self._parked_bytes += len(data)
            if self._parked_bytes > _PARKED_BYTES:
                self._note()

    def move(self, timeout_s: float | None) -> TaskInfo | None:
        """Leave it to the tasks, with so many seconds more; None when it cannot be moved."""
        self._note()
        if self._foreground is None:
            return None
        try:
            self._work.moved()
        except RuntimeUnavailable:
            return None
        assert self._work.process is not None
        self._work.process.on_output = self._foreground.log.write
        return self._foreground.hand_over(timeout_s)

    def close(self) -> None:
        """It has ended, or has been moved."""
        self._timer.cancel()
        self._parked.clear()
        if self._foreground is not None:
            self._foreground.close()

    def _note(self) -> None:
        """Make it known to the tasks."""
        self._timer.cancel()
        if self._foreground is not None or self._refused:
            return
        try:
            self._foreground = self._tasks().foreground(self._work, on_detach=self._on_detach)
        except ToolcribError as error:  # the command is none the worse for it
            self._refused = True
            logging.getLogger("toolcrib").warning("no command can be moved: %s", error)
        else:
            for piece in self._parked:
                self._foreground.log.write(piece)
        self._parked.clear()
