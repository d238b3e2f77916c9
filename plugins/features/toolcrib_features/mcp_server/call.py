"""One call of a client, which may outlive the request that began it while its user is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from typing import Any

import mcp_types as mcp
from attrs import define, field

from toolcrib import Completion
from toolcrib_features.mcp_server.asking import Elicit
from toolcrib_features.mcp_server.progress import Progress

_running: ContextVar[Call | None] = ContextVar("toolcrib_mcp_call", default=None)


def running_call() -> Call | None:
    """The call in whose course the code runs, be it in an agent that the call has started."""
    call = _running.get()
    return None if call is None or call.done else call


@define
class _Question:
    form: mcp.ElicitRequestFormParams
    answer: asyncio.Future[mcp.ElicitResult]


@define(eq=False)
class Call:
    """Runs in a task of its own; whoever follows it is told when it asks or has ended.

    `elicit` is how its questions reach the user; None where they cannot. A client that is asked by
    way of results (`in_rounds`) sends the request again with the answers, which `settle` takes.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    elicit: Elicit | None = None
    progress: Progress = field(factory=Progress, init=False)
    _questions: dict[str, _Question] = field(factory=dict, init=False)
    _asked: int = field(default=0, init=False)
    _stirred: asyncio.Event = field(factory=asyncio.Event, init=False)
    _task: asyncio.Task[Completion] | None = field(default=None, init=False)

    def begin(self, completions: AsyncIterator[Completion]) -> None:
        """Start to run."""
        self._task = asyncio.create_task(self._run(completions), name=f"mcp call {self.id}")
        self._task.add_done_callback(lambda _: self._stirred.set())

    @property
    def done(self) -> bool:
        return self._task is not None and self._task.done()

    async def stir(self) -> None:
        """Wait until the call has ended or its user is to be asked."""
        while not self.done and not self._questions:
            self._stirred.clear()
            await self._stirred.wait()

    def completion(self) -> Completion | None:
        """How the call ended; None when it was cancelled."""
        assert self._task is not None
        return None if self._task.cancelled() else self._task.result()

    def cancel(self) -> None:
        """Stop the call, and no other one."""
        if self._task is not None:
            self._task.cancel()

    async def ended(self) -> None:
        """Wait for the end, whatever it is."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def ask_in_rounds(self, form: mcp.ElicitRequestFormParams) -> mcp.ElicitResult:
        """Leave a question to whoever follows the call, and wait for the answer."""
        self._asked += 1
        key = f"question_{self._asked}"
        answer: asyncio.Future[mcp.ElicitResult] = asyncio.get_running_loop().create_future()
        self._questions[key] = _Question(form, answer)
        self._stirred.set()
        try:
            return await answer
        finally:
            self._questions.pop(key, None)

    def questions(self) -> dict[str, mcp.ElicitRequestFormParams]:
        """What the user is to be asked, by the keys that the answers have to have."""
        return {key: question.form for key, question in self._questions.items()}

    def settle(self, answers: Mapping[str, object]) -> None:
        """Take answers; questions without one are asked again."""
        for key, answer in answers.items():
            question = self._questions.get(key)
            if question is not None and isinstance(answer, mcp.ElicitResult):
                del self._questions[key]
                if not question.answer.done():
                    question.answer.set_result(answer)

    async def _run(self, completions: AsyncIterator[Completion]) -> Completion:
        _running.set(self)
        async for done in completions:
            return done
        raise RuntimeError(f"the call {self.id} of {self.name!r} has no result")
