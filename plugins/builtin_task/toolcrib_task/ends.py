"""The ends of tasks: who was told of them, and how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, frozen

from toolcrib import ContextMessage, ContextMessages, Session, TaskInfo, redacted
from toolcrib_task.notices import messages, notification_id, single_ids
from toolcrib_task.store import TaskStore
from toolcrib_task.task import BackgroundTask

_TAIL_BYTES = 4096


@frozen
class Ends:
    """Tells the host of tasks that start and end, and the model of each end exactly once."""

    _tasks: Mapping[str, BackgroundTask]
    _store: TaskStore
    _session: Session
    _context: ContextMessages
    _agent: str

    def take_messages(self) -> Sequence[ContextMessage]:
        """The ends that nobody was told of, those of earlier sessions too."""
        ended = [task for task in self._tasks.values() if is_news(task)]
        taken: list[ContextMessage] = []
        for earlier in (True, False):
            pairs = [
                (task.info(), task.log.read(since=None, max_bytes=_TAIL_BYTES))
                for task in ended
                if task.earlier is earlier
            ]
            taken += messages(pairs, wakes=not earlier)
        self.mark(ended, True)
        return taken

    def return_messages(self, ids: frozenset[str]) -> None:
        """Offer the ends again that these messages told of."""
        names = single_ids(ids)
        tasks = (task for task in self._tasks.values() if not task.running)
        self.mark([task for task in tasks if notification_id(task.info()) in names], False)

    def mark(self, tasks: Iterable[BackgroundTask], delivered: bool) -> None:
        """Note whether the model was told of these ends."""
        changed = [task for task in tasks if not task.running and task.delivered is not delivered]
        for task in changed:
            task.delivered = delivered
        if changed:
            self._store.delivered([task.id for task in changed], delivered)

    def tell_start(self, task: BackgroundTask) -> None:
        """Have those who follow the events know that a task runs in the background."""
        if self._session.observed:
            from toolcrib import TaskStarted

            info = _without_secrets(task.info())
            self._session.emit(TaskStarted(agent=self._agent, task=info))

    def tell_end(self, task: BackgroundTask) -> None:
        """The same of its end, which is news for the model unless it knows already."""
        if self._session.observed:
            from toolcrib import TaskEnded

            info = _without_secrets(task.info())
            tail = redacted(task.log.read(since=None, max_bytes=_TAIL_BYTES).text)
            self._session.emit(TaskEnded(agent=self._agent, task=info, output_tail=tail))
        if not task.suppressed:
            self._context.announce()

    def tell_after_all(self, task: BackgroundTask) -> None:
        """Whoever asked for a stop does not learn how it came out: have its end told."""
        if task.suppressed:
            task.suppressed = False
            self._store.update(task.info())
            if not task.running:
                self._context.announce()


def is_news(task: BackgroundTask) -> bool:
    """Whether a task has ended in the background and nobody was told."""
    return not task.running and task.detached and not task.suppressed and not task.delivered


def _without_secrets(info: TaskInfo) -> TaskInfo:
    """The record as those who follow events may see it."""
    return evolve(
        info,
        description=redacted(info.description),
        stop_reason=redacted(info.stop_reason),
        details=redacted(info.details),
    )
