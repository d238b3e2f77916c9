"""Everything that can be done with tasks, in any order and at the same time."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from toolcrib import TaskEnded, TaskStarted

STEPS = 60
COMMANDS = (
    "echo one; exit 0",
    "echo two >&2; exit 2",
    "sleep 0.05; echo three",
    "trap '' TERM; echo four; while :; do sleep 0.02; done",
    "setsid -f sleep 300; sleep 0.02",
    "exec sleep 300",
    "seq 1 5000",
)


class Person:
    """Does things at random, and remembers what has to hold in the end."""

    def __init__(self, host: Any, seed: int) -> None:
        self.host = host
        self.choice = random.Random(seed)
        self.told: Counter[str] = Counter()
        self.returned: list[Any] = []
        self.suppressed: set[str] = set()
        self.doing: list[asyncio.Future[Any]] = []

    @property
    def ids(self) -> list[str]:
        return [info.task_id for info in self.host.tasks.list(active_only=False)]

    def some_id(self) -> str:
        return self.choice.choice(self.ids or ["bash-00000000"])

    async def step(self) -> None:
        action = self.choice.choice(
            (self.start, self.start, self.call, self.stop, self.wait, self.read, self.take)
        )
        work = asyncio.ensure_future(action())
        self.doing.append(work)
        await asyncio.sleep(self.choice.choice((0, 0, 0.002, 0.02)))
        if self.choice.random() < 0.1:
            work.cancel()

    async def start(self) -> None:
        await self.host.bash(
            self.choice.choice(COMMANDS), timeout=self.choice.choice((1, 60, 60, 60))
        )

    async def call(self) -> None:
        """One that is waited for, and that may be moved meanwhile."""
        call = asyncio.ensure_future(
            self.host.harness.call("Bash", command=self.choice.choice(COMMANDS), timeout=1)
        )
        self.doing.append(call)  # it goes on when the one that started it is cancelled
        await asyncio.sleep(self.choice.choice((0, 0.01, 0.1)))
        for info in self.host.tasks.list():
            if not info.detached:
                self.host.tasks.detach(info.task_id)
        await call

    async def stop(self) -> None:
        task_id, notify = self.some_id(), self.choice.random() < 0.5
        info = self.host.tasks.get(task_id)
        if info is not None and info.active and info.detached and not notify:
            self.suppressed.add(task_id)
        await self.host.tasks.stop(task_id, "enough", notify=notify)

    async def wait(self) -> None:
        ids = [self.some_id() for _ in range(3)]
        await self.host.tasks.wait(ids, timeout_s=0.1, for_all=self.choice.random() < 0.5)
        await self.host.tasks.news(ids, timeout_s=0.1)

    async def read(self) -> None:
        task_id = self.some_id()
        self.host.tasks.output(task_id, since=self.choice.choice((None, 0, 3, 10**9)), max_bytes=64)
        self.host.tasks.get(task_id)

    async def take(self) -> None:
        messages = self.host.harness.session.context_messages()
        if self.choice.random() < 0.3:
            self.host.harness.session.return_messages(messages)
        else:
            self.note(messages)

    def note(self, messages: list[Any]) -> None:
        for message in messages:
            self.told.update(message.origin.get("task_ids") or [message.origin["task_id"]])


@pytest.mark.parametrize("seed", range(6))
async def test_each_task_ends_once_and_is_told_of_once(chaos: Any, seed: int) -> None:
    host = chaos.open()
    person = Person(host, seed)
    for _ in range(STEPS):
        await person.step()
    outcomes = await asyncio.gather(*person.doing, return_exceptions=True)
    failures = [o for o in outcomes if isinstance(o, Exception)]
    assert not failures, failures
    await asyncio.gather(*(host.tasks.stop(info.task_id) for info in host.tasks.list()))
    assert host.tasks.list() == ()
    await chaos.all_gone()

    started = Counter(e.task.task_id for e in host.events if isinstance(e, TaskStarted))
    ended = Counter(e.task.task_id for e in host.events if isinstance(e, TaskEnded))
    assert started == ended == Counter(person.ids)
    for event in host.events:
        if isinstance(event, TaskEnded):
            assert host.info(event.task.task_id).status == event.task.status != "running"
            assert host.info(event.task.task_id).ended_at >= event.task.started_at
    person.note(host.harness.session.context_messages())
    assert set(person.told.values()) <= {1}
    untold = set(person.ids) - set(person.told)
    assert untold <= person.suppressed
    assert host.told() == []


@pytest.mark.parametrize("seed", range(4))
async def test_closing_in_the_middle_of_it_leaves_nothing(chaos: Any, seed: int) -> None:
    host = chaos.open()
    person = Person(host, 100 + seed)
    for _ in range(STEPS // 2):
        await person.step()
    closing = asyncio.ensure_future(host.harness.aclose())
    await asyncio.gather(*person.doing, return_exceptions=True)
    await closing
    await chaos.all_gone()
    assert host.tasks.list() == ()
    later = chaos.open()
    assert later.tasks.list() == ()
