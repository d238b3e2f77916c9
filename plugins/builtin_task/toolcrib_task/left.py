"""A task that an earlier session has left running, as work to look after again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from toolcrib import ProcessTree, TaskEnd, TaskInfo, TaskLog, process_started
from toolcrib_task.log import EXIT_NAME
from toolcrib_task.store import Mark

_LOOK_EVERY_S = 0.2


@define(eq=False)
class LeftRunning:
    """A process of somebody else, known by its id, its start and the marker of its descendants.

    How it ended stands in a file that it writes itself; without one nobody can tell.
    """

    _info: TaskInfo
    _mark: Mark | None
    _place: Path
    _added: dict[str, Any] = field(factory=dict)

    @property
    def kind(self) -> str:
        return self._info.kind

    @property
    def id_prefix(self) -> str:
        return self._info.task_id.rpartition("-")[0]

    @property
    def description(self) -> str:
        return self._info.description

    def details(self) -> Mapping[str, Any]:
        return {**self._info.details, **self._added}

    def begin(self, log: TaskLog) -> None:
        raise AssertionError("it runs already")

    async def run(self) -> TaskEnd:
        while self._runs():
            await asyncio.sleep(_LOOK_EVERY_S)
        code = exit_code(self._place)
        if code is None:
            reason = "nobody saw how it ended: the session that started it was gone"
            return TaskEnd(False, reason, unseen=True)
        self._added["exit_code"] = code
        return TaskEnd(code == 0)

    async def stop(self, grace_s: float) -> None:
        if self._mark is not None:
            await ProcessTree.marked(self._mark.token).end(grace_s)

    def kill(self) -> None:
        if self._mark is not None:
            ProcessTree.marked(self._mark.token).kill()

    def leave(self) -> None:
        """It goes on as before."""

    def _runs(self) -> bool:
        mark = self._mark
        return mark is not None and process_started(mark.pid) == mark.started


def exit_code(place: Path) -> int | None:
    """What a task that outlived its session has left in its folder; None when it left nothing."""
    try:
        return int((place / EXIT_NAME).read_text("ascii"))
    except (OSError, ValueError):
        return None
