"""What is written down of a task, and how it is told from what came after it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Self

from attrs import asdict, fields, frozen

from toolcrib import ProcessTree, TaskInfo, process_started, redacted, this_host

STATUSES = frozenset({"running", "completed", "failed", "timed_out", "killed", "lost"})
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*-[0-9a-z]{8}")
_FIELDS = tuple(field.name for field in fields(TaskInfo))


@frozen(kw_only=True)
class Mark:
    """How a process is found again that may outlive us.

    `started` tells it from a later process of the same number, `token` marks its descendants.
    """

    pid: int
    started: str | None
    token: str

    @classmethod
    def of(cls, pid: int, token: str) -> Self:
        """The mark of a process that runs now."""
        return cls(pid=pid, started=process_started(pid), token=token)

    @classmethod
    def of_unstarted(cls, token: str) -> Self:
        """The mark of a process that is about to be started."""
        return cls(pid=0, started=None, token=token)

    def alive(self) -> bool:
        return lives(self.pid, self.started)

    def tree(self) -> ProcessTree:
        """All that carries the token, and all that hangs together with the process if it lives."""
        tree = ProcessTree.marked(self.token)
        if self.alive():
            tree.root = self.pid
        return tree


@frozen(kw_only=True)
class Restored:
    """A task as it is written down.

    Attributes:
        info: what is known of it.
        delivered: whether its end has been told.
        kept: whether it goes on without a session that looks after it.
        output_bytes: how much it had written when that was last counted.
    """

    info: TaskInfo
    delivered: bool = False
    kept: bool = False
    mark: Mark | None = None
    output_bytes: int = 0


@frozen(kw_only=True)
class Stored(Restored):
    """A task of any session, for people.

    Attributes:
        session: the id of the session that has it, or had it last.
        agent: whose task it is.
        owner_alive: whether a session looks after it now.
    """

    session: str
    agent: str
    workspace: str
    owner_alive: bool


def lives(pid: int | None, started: str | None) -> bool:
    """Whether the very process still runs; one that only waits to be buried does not."""
    return pid is not None and started is not None and process_started(pid) == started


def owner_gone(host: str | None, pid: int | None, started: str | None) -> bool:
    """Whether no session has a row: it was left, or its process ended. Elsewhere nobody knows."""
    return host is None or (host == this_host() and not lives(pid, started))


def is_task_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def info_text(info: TaskInfo) -> str:
    """A record for the disk, where no secret is written down."""
    values = {name: getattr(info, name) for name in _FIELDS}
    return json.dumps(redacted(values), default=str, skipkeys=True)


def mark_text(mark: Mark | None) -> str | None:
    return None if mark is None else json.dumps(asdict(mark))


def read_row(info: str, kept: int, mark: str | None, output_bytes: int, delivered: int) -> Restored:
    """The record of a row; raises ValueError when somebody has garbled it."""
    try:
        return Restored(
            info=_info(json.loads(info)),
            delivered=bool(delivered),
            kept=bool(kept),
            mark=None if mark is None else _mark(json.loads(mark)),
            output_bytes=int(output_bytes),
        )
    except (TypeError, RecursionError) as error:
        raise ValueError(f"no record of a task: {error}") from error


def _info(values: Mapping[str, Any]) -> TaskInfo:
    info = TaskInfo(**values)
    texts = (info.task_id, info.kind, info.description, info.stop_reason or "")
    numbers = (info.started_at, info.ended_at or 0.0, info.timeout_s or 0.0)
    if (
        info.status not in STATUSES
        or not isinstance(info.details, dict)
        or not all(isinstance(text, str) for text in texts)
        or not all(isinstance(number, int | float) for number in numbers)
        or not is_task_id(info.task_id)
    ):
        raise ValueError("no record of a task")
    return info


def _mark(values: Mapping[str, Any]) -> Mark:
    mark = Mark(**values)
    if not isinstance(mark.pid, int) or not isinstance(mark.token, str) or mark.pid < 0:
        raise ValueError("no mark of a process")
    return mark
