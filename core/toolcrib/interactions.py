"""The questions of a session that wait for its host, and what became of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic
from typing import Any, get_args, get_type_hints
from uuid import uuid4

from attrs import frozen

from toolcrib.contract.context import Update
from toolcrib.contract.interaction import (
    Answer,
    ApprovalAnswer,
    ApprovalRequest,
    InteractionHandler,
    InteractionKind,
    PlanReviewAnswer,
    PlanReviewRequest,
    QuestionAnswer,
    QuestionRequest,
    Request,
    UserToolAnswer,
    UserToolRequest,
)
from toolcrib.contract.result import MediaPart, TextPart

RECENT_S = 60.0
RECENT_IDS = 256
NOBODY = "nobody can be asked here"
_ANSWERS: dict[type[Request], type[Answer]] = {
    ApprovalRequest: ApprovalAnswer,
    QuestionRequest: QuestionAnswer,
    PlanReviewRequest: PlanReviewAnswer,
    UserToolRequest: UserToolAnswer,
}
Listener = Callable[[tuple[str, ...]], None]
Progress = Callable[[Update], None]


def new_id(kind: InteractionKind) -> str:
    """An id that no other request has, such as `approval_<uuid>`."""
    return f"{kind}_{uuid4()}"


def cancelled_answer(request: Request, cause: str) -> Answer:
    """The answer to a request that nobody answered; of an approval it is never a yes."""
    match request:
        case ApprovalRequest():
            return ApprovalAnswer(decision="cancelled", cause=cause)
        case QuestionRequest():
            return QuestionAnswer(answers=None, cause=cause)
        case PlanReviewRequest():
            return PlanReviewAnswer(decision="cancelled", cause=cause)
        case UserToolRequest():
            return UserToolAnswer(output=f"{request.tool!r} was not run: {cause}", is_error=True)


@frozen(eq=False)
class _Parked:
    request: Request
    answer: asyncio.Future[Answer]
    progress: Progress | None = None


class Interactions:
    """Parks each request until the handler, or whoever calls `respond`, has answered it.

    Several can wait at the same time. A handler may leave the answering to others: it tells them
    and then waits for ever, since it is cancelled as soon as the request has an answer.

    Args:
        handler: what the host gave `open_session(interact=...)`; without one every request is
            answered at once, as cancelled.
        timeout_s: seconds after which an approval counts as cancelled; None waits for ever.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        handler: InteractionHandler | None,
        *,
        timeout_s: float | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._handler = handler
        self._timeout_s = timeout_s
        self._clock = clock
        self._parked: dict[str, _Parked] = {}
        self._resolved: dict[str, float] = {}
        self._handling: set[asyncio.Task[None]] = set()
        self._listeners: list[Listener] = []

    @property
    def attended(self) -> bool:
        """Whether there is a handler to ask."""
        return self._handler is not None

    async def request(self, request: Request, *, progress: Progress | None = None) -> Answer:
        """Ask and wait for the answer, which is of the request's kind.

        A handler that raises, or answers what was not asked, cancels the request; the cause says
        so. When the waiting call is cancelled, so are request and handler. `progress` is given what
        whoever answers tells meanwhile.

        Raises:
            ValueError: the id is that of a request that waits or was answered a moment ago.
        """
        if request.id in self._parked or self.is_recently_resolved(request.id):
            raise ValueError(f"the id {request.id!r} is taken: every request needs its own")
        if self._handler is None:
            return cancelled_answer(request, NOBODY)
        loop = asyncio.get_running_loop()
        parked = _Parked(request, loop.create_future(), progress)
        self._parked[request.id] = parked
        self._tell()
        handling = loop.create_task(self._handle(self._handler, parked))
        # The loop itself holds tasks weakly, and a handler may still clear up when all is over.
        self._handling.add(handling)
        handling.add_done_callback(self._handling.discard)
        timer = None
        if self._timeout_s is not None and isinstance(request, ApprovalRequest):
            cause = f"nobody answered within {self._timeout_s:g} s"
            timer = loop.call_later(self._timeout_s, self.cancel, request.id, cause)
        try:
            return await parked.answer
        finally:
            if timer is not None:
                timer.cancel()
            handling.cancel()
            self._remove(request.id)

    def pending(self, kind: InteractionKind | None = None) -> tuple[Request, ...]:
        """The requests that wait, the oldest first; of one kind only when it is given."""
        requests = (parked.request for parked in self._parked.values())
        return tuple(each for each in requests if kind in (None, each.kind))

    def respond(self, id: str, answer: Answer) -> bool:
        """Answer a request from outside; False when it does not wait (any more).

        Raises:
            ValueError: the answer does not fit the request, which goes on waiting.
        """
        parked = self._parked.get(id)
        if parked is None:
            if self.is_recently_resolved(id):
                logging.getLogger("toolcrib").info("an answer to %s came too late", id)
            return False
        problem = _problem(parked.request, answer)
        if problem is not None:
            raise ValueError(f"the request {id!r} cannot be answered like that: {problem}")
        return self._settle(parked, answer)

    def progress(self, id: str, text: str | None = None, *, percent: float | None = None) -> bool:
        """Tell how far the answer to a request is; False when it does not wait (any more).

        `percent` runs from 0 to 100. Those who follow the session see it as the call's progress.
        """
        parked = self._parked.get(id)
        if parked is not None and parked.progress is not None:
            parked.progress(Update("progress", text, percent))
        return parked is not None

    def cancel(self, id: str, cause: str) -> bool:
        """Answer a request as cancelled; False when it does not wait (any more)."""
        parked = self._parked.get(id)
        return parked is not None and self._settle(parked, cancelled_answer(parked.request, cause))

    def cancel_for_turn(self, agent: str, turn_id: str | None, cause: str) -> int:
        """Cancel what waits for one turn of one agent; returns how many did."""
        ids = [r.id for r in self.pending() if (r.agent, r.turn_id) == (agent, turn_id)]
        return sum(self.cancel(id, cause) for id in ids)

    def is_recently_resolved(self, id: str) -> bool:
        """Whether a request got its answer in the last 60 seconds, and among the last 256."""
        resolved = self._resolved.get(id)
        return resolved is not None and self._clock() - resolved < RECENT_S

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Have `listener` given the ids that wait, at each change; returns what ends it."""
        # An object of its own, so that a listener given twice can be ended once.
        entry = partial(listener)
        self._listeners.append(entry)

        def end() -> None:
            if entry in self._listeners:
                self._listeners.remove(entry)

        return end

    async def _handle(self, handler: InteractionHandler, parked: _Parked) -> None:
        request = parked.request
        try:
            answer: Any = await handler(request)
            problem = _problem(request, answer)
            if problem is not None:
                answer = cancelled_answer(
                    request, f"the handler's answer cannot be used: {problem}"
                )
        except (Exception, SystemExit) as error:
            answer = cancelled_answer(request, f"asking failed: {type(error).__name__}: {error}")
        except BaseException:
            self._settle(parked, cancelled_answer(request, "the handler was interrupted"))
            raise
        self._settle(parked, answer)

    def _settle(self, parked: _Parked, answer: Answer) -> bool:
        if parked.answer.done():
            return False
        parked.answer.set_result(answer)
        self._remove(parked.request.id)
        return True

    def _remove(self, id: str) -> None:
        if self._parked.pop(id, None) is None:
            return
        self._resolved.pop(id, None)  # to be the newest also when the id is used again
        self._resolved[id] = self._clock()
        if len(self._resolved) > RECENT_IDS:
            del self._resolved[next(iter(self._resolved))]
        self._tell()

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(tuple(self._parked))
            except Exception:
                logging.getLogger("toolcrib").exception("a listener to pending requests failed")


def _problem(request: Request, answer: object) -> str | None:
    """What keeps an answer from being one to this request, or None."""
    expected = _ANSWERS[type(request)]
    if not isinstance(answer, expected):
        return f"{request.kind!r} takes {expected.__name__}, not {type(answer).__name__}"
    match request, answer:
        case ApprovalRequest(scopes=scopes), ApprovalAnswer(decision=decision, scope=scope):
            if decision not in _decisions(ApprovalAnswer):
                return f"{decision!r} is no decision"
            if decision == "approved" and scope not in scopes:
                return f"the scope {scope!r} was not offered, only {', '.join(scopes)}"
        case QuestionRequest(questions=questions), QuestionAnswer(answers=answers):
            return _questions_problem({each.question for each in questions}, answers)
        case PlanReviewRequest(options=options), PlanReviewAnswer() as review:
            if review.decision not in _decisions(PlanReviewAnswer):
                return f"{review.decision!r} is no decision"
            if review.selected not in (None, *(option.label for option in options)):
                return f"the option {review.selected!r} was not offered"
        case _, UserToolAnswer() as result:
            return _result_problem(result)
    return None


def _questions_problem(asked: set[str], answers: Mapping[str, str] | None) -> str | None:
    if answers is None:
        return None
    if not isinstance(answers, Mapping):
        return f"the answers have to be a mapping, not {type(answers).__name__}"
    for question, answer in answers.items():
        if question not in asked:
            return f"{question!r} was not asked"
        if not isinstance(answer, str):
            return f"the answer to {question!r} has to be text, not {type(answer).__name__}"
    return None


def _result_problem(result: UserToolAnswer) -> str | None:
    output, note = result.output, result.note
    parts = output if isinstance(output, tuple) else ()
    if not isinstance(output, str | tuple):
        return f"the output has to be text or a tuple of parts, not {type(output).__name__}"
    for part in parts:
        if not isinstance(part, TextPart | MediaPart):
            return f"a part of the output is {type(part).__name__}, not TextPart or MediaPart"
    if note is not None and not isinstance(note, str):
        return f"the note has to be text, not {type(note).__name__}"
    for name, flag in (("is_error", result.is_error), ("stop_turn", result.stop_turn)):
        if not isinstance(flag, bool):
            return f"{name} has to be true or false, not {flag!r}"
    return None


def _decisions(answer: type[Answer]) -> tuple[str, ...]:
    return get_args(get_type_hints(answer)["decision"])
