"""A task that an earlier session has left running, as work to look after again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from toolcrib import TaskEnd, TaskInfo, TaskLog
from toolcrib_task.restart import read_exit
from toolcrib_task.rows import Mark

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
        while self._mark is not None and self._mark.alive():
            await asyncio.sleep(_LOOK_EVERY_S)
        if self._mark is not None:
            await self._mark.tree().end()  # what the command has left running
        found = read_exit(self._place)
        if found is None:
            reason = "nobody saw how it ended: the session that started it was gone"
            return TaskEnd(False, reason, unseen=True)
        self._added["exit_code"] = found[0]
        return TaskEnd(found[0] == 0)

    async def stop(self, grace_s: float) -> None:
        if self._mark is not None:
            await self._mark.tree().end(grace_s)

    def kill(self) -> None:
        if self._mark is not None:
            self._mark.tree().kill()

    def leave(self) -> None:
        """It goes on as before."""
