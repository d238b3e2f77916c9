"""Requests to the host: parked, answered once by whoever is first, and never approved by mishap."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any, get_args

import pytest

from toolcrib.contract.display import GenericDisplay
from toolcrib.contract.interaction import (
    Answer,
    ApprovalAnswer,
    ApprovalRequest,
    InteractionKind,
    PlanReviewAnswer,
    PlanReviewRequest,
    Question,
    QuestionAnswer,
    QuestionOption,
    QuestionRequest,
    Request,
    UserToolAnswer,
    UserToolRequest,
)
from toolcrib.interactions import Interactions, new_id

YES = ApprovalAnswer(decision="approved")
QUESTION = QuestionRequest(
    id="question_1", agent="main", turn_id="1", questions=(Question(question="Why?"),)
)
PLAN = PlanReviewRequest(
    id="plan_review_1",
    agent="main",
    turn_id="1",
    plan="do",
    options=(QuestionOption(label="fast"),),
)
USER_TOOL = UserToolRequest(
    id="user_tool_1", agent="main", turn_id="1", call_id="c", tool="Lamp", arguments={}
)


def approval(id: str = "approval_1", **fields: Any) -> ApprovalRequest:
    values: dict[str, Any] = {
        "session_id": "s",
        "agent": "main",
        "turn_id": "1",
        "call_id": "c",
        "tool": "Bash",
        "action": "run make",
        "display": GenericDisplay(summary="run make"),
        "policy": "fallback-ask",
    }
    return ApprovalRequest(id=id, **{**values, **fields})


async def never(request: Request) -> Answer:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets the event")


def answering(answer: Any) -> Callable[[Request], Awaitable[Answer]]:
    async def handler(request: Request) -> Answer:
        return answer  # type: ignore[no-any-return]

    return handler


async def parked(service: Interactions, *requests: Request) -> list[asyncio.Task[Answer]]:
    """Tasks that wait for the answers to requests, which are pending by now."""
    tasks = [asyncio.create_task(service.request(request)) for request in requests]
    while len(service.pending()) < len(requests):
        await asyncio.sleep(0)
    return tasks


def decision(answer: Answer) -> str:
    assert isinstance(answer, ApprovalAnswer | PlanReviewAnswer)
    return answer.decision


async def test_the_handler_answers() -> None:
    """What the handler says comes back, and the request is remembered as resolved."""
    service = Interactions(answering(YES))
    assert service.attended
    assert await service.request(approval()) is YES
    assert not service.pending()
    assert service.is_recently_resolved("approval_1")


async def test_without_a_handler_every_kind_is_cancelled_at_once() -> None:
    """Nobody is there: no approval, no answers, an error for a tool of the host's."""
    service = Interactions(None)
    assert not service.attended
    answer = await service.request(approval())
    assert answer == ApprovalAnswer(decision="cancelled", cause="nobody can be asked here")
    questions = await service.request(QUESTION)
    assert questions == QuestionAnswer(answers=None, cause="nobody can be asked here")
    assert decision(await service.request(PLAN)) == "cancelled"
    tool = await service.request(USER_TOOL)
    assert isinstance(tool, UserToolAnswer) and tool.is_error and "Lamp" in tool.output


@pytest.mark.parametrize(
    "failure", [ValueError("broken"), TimeoutError(), SystemExit(0), asyncio.CancelledError()]
)
async def test_a_handler_that_raises_approves_nothing(failure: BaseException) -> None:
    """Whatever a handler raises, the answer is cancelled, with a cause."""

    async def handler(request: Request) -> Answer:
        raise failure

    answer = await Interactions(handler).request(approval())
    assert isinstance(answer, ApprovalAnswer)
    assert answer.decision == "cancelled" and answer.cause


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (approval(), None),
        (approval(), True),
        (approval(), UserToolAnswer(output="yes")),
        (approval(), ApprovalAnswer(decision="yes")),  # type: ignore[arg-type]
        (approval(), ApprovalAnswer(decision="approved", scope="user")),
        (approval(scopes=("once", "session")), ApprovalAnswer(decision="approved", scope="user")),
        (QUESTION, YES),
        (QUESTION, QuestionAnswer(answers={"What?": "that"})),
        (QUESTION, QuestionAnswer(answers={"Why?": 3})),  # type: ignore[dict-item]
        (QUESTION, QuestionAnswer(answers=["so"])),  # type: ignore[arg-type]
        (PLAN, QuestionAnswer(answers={})),
        (PLAN, PlanReviewAnswer(decision="approved", selected="slow")),
        (PLAN, PlanReviewAnswer(decision="fine")),  # type: ignore[arg-type]
        (USER_TOOL, YES),
        (USER_TOOL, UserToolAnswer(output=b"raw")),  # type: ignore[arg-type]
    ],
)
async def test_an_answer_that_does_not_fit(request_: Request, answer: Any) -> None:
    """From the handler it cancels the request; from outside it is refused, and the wait goes on."""
    given = await Interactions(answering(answer)).request(request_)
    if isinstance(given, UserToolAnswer):
        assert given.is_error
    else:
        assert given.cause and "cannot be used" in given.cause
    if isinstance(given, ApprovalAnswer | PlanReviewAnswer):
        assert given.decision == "cancelled"
    if isinstance(given, QuestionAnswer):
        assert given.answers is None

    service = Interactions(never)
    (task,) = await parked(service, request_)
    with pytest.raises(ValueError, match=request_.id):
        service.respond(request_.id, answer)
    assert service.pending() == (request_,)
    service.cancel(request_.id, "end of test")
    await task


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (
            approval(scopes=("once", "user")),
            ApprovalAnswer(decision="approved", scope="user", feedback="go", by="me"),
        ),
        (approval(), ApprovalAnswer(decision="rejected", scope="user", feedback="no")),
        (QUESTION, QuestionAnswer(answers={"Why?": "so"})),
        (QUESTION, QuestionAnswer(answers=None)),
        (PLAN, PlanReviewAnswer(decision="approved", selected="fast")),
        (PLAN, PlanReviewAnswer(decision="rejected_and_exited", feedback="no")),
        (USER_TOOL, UserToolAnswer(output="on")),
    ],
)
async def test_an_answer_from_outside(request_: Request, answer: Answer) -> None:
    """The first answer counts, the handler is cancelled, a second answer comes too late."""
    ended = asyncio.Event()

    async def handler(request: Request) -> Answer:
        try:
            return await never(request)
        finally:
            ended.set()

    service = Interactions(handler)
    (task,) = await parked(service, request_)
    await asyncio.sleep(0)
    assert service.respond(request_.id, answer)
    assert not service.respond(request_.id, answer)
    assert not service.cancel(request_.id, "too late")
    assert await task is answer
    await ended.wait()


async def test_an_unknown_request_cannot_be_answered() -> None:
    """An id that never was is no error: answers may come late."""
    service = Interactions(never)
    assert not service.respond("approval_0", YES)
    assert not service.cancel("approval_0", "why not")


async def test_cancelling_the_waiting_call_withdraws_the_request() -> None:
    """Listeners see it go, the handler is cancelled, and no answer reaches anybody."""
    ended = asyncio.Event()

    async def handler(request: Request) -> Answer:
        try:
            return await never(request)
        finally:
            ended.set()

    service = Interactions(handler)
    seen: list[tuple[str, ...]] = []
    service.on_change(seen.append)
    (task,) = await parked(service, approval())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == [("approval_1",), ()]
    assert not service.respond("approval_1", YES)
    assert service.is_recently_resolved("approval_1")
    await ended.wait()


async def test_a_handler_that_answers_while_it_is_cancelled() -> None:
    """Words that come after the end change nothing."""

    async def handler(request: Request) -> Answer:
        try:
            return await never(request)
        except asyncio.CancelledError:
            return YES

    service = Interactions(handler)
    (task,) = await parked(service, approval())
    await asyncio.sleep(0)
    service.cancel("approval_1", "the turn ended")
    assert decision(await task) == "cancelled"


async def test_a_handler_that_never_answers_runs_out_of_time() -> None:
    """The limit is for approvals: a question may take as long as it takes."""
    service = Interactions(never, timeout_s=0.01)
    (question,) = await parked(service, QUESTION)
    answer = await service.request(approval())
    assert isinstance(answer, ApprovalAnswer)
    assert answer.decision == "cancelled" and answer.cause and "0.01 s" in answer.cause
    assert not question.done()
    service.cancel("question_1", "end of test")
    await question


async def test_several_wait_at_the_same_time() -> None:
    """They are listed in their order, by kind too, and answered in any order."""
    service = Interactions(never)
    first, second = approval("approval_1"), approval("approval_2")
    tasks = await parked(service, first, QUESTION, second)
    assert service.pending() == (first, QUESTION, second)
    assert service.pending("approval") == (first, second)
    assert service.pending("user_tool") == ()
    service.respond("approval_2", YES)
    assert service.pending() == (first, QUESTION)
    service.cancel("approval_1", "why not")
    service.cancel("question_1", "why not")
    assert [type(answer) for answer in await asyncio.gather(*tasks)] == [
        ApprovalAnswer,
        QuestionAnswer,
        ApprovalAnswer,
    ]


async def test_the_end_of_a_turn_cancels_only_what_belongs_to_it() -> None:
    """Turns of two agents can have the same number."""
    service = Interactions(never)
    mine, other = approval("approval_1"), approval("approval_2", turn_id="2")
    foreign = approval("approval_3", agent="helper")
    tasks = await parked(service, mine, other, foreign)
    assert service.cancel_for_turn("main", "1", "the turn ended") == 1
    assert service.cancel_for_turn("main", "7", "the turn ended") == 0
    answer = await tasks[0]
    assert isinstance(answer, ApprovalAnswer) and answer.cause == "the turn ended"
    assert service.pending() == (other, foreign)
    for each in (other, foreign):
        service.cancel(each.id, "end of test")
    await asyncio.gather(*tasks)


async def test_an_id_is_used_once() -> None:
    """Neither beside a request that waits nor right after it."""
    service = Interactions(never)
    (task,) = await parked(service, approval())
    with pytest.raises(ValueError, match="approval_1"):
        await service.request(approval())
    service.respond("approval_1", YES)
    await task
    with pytest.raises(ValueError, match="approval_1"):
        await service.request(approval())


async def test_what_was_resolved_is_remembered_for_a_while() -> None:
    """A minute at most, and the last 256 at most."""
    now = [100.0]
    service = Interactions(answering(YES), clock=lambda: now[0])
    for number in range(300):
        await service.request(approval(f"approval_{number}"))
    recent = [number for number in range(300) if service.is_recently_resolved(f"approval_{number}")]
    assert recent == list(range(44, 300))
    now[0] += 61
    assert not service.is_recently_resolved("approval_299")
    assert await service.request(approval("approval_299")) is YES
    assert service.is_recently_resolved("approval_299")


async def test_listeners_come_and_go() -> None:
    """One that raises costs the others nothing; one that was ended hears no more."""
    service = Interactions(answering(YES))
    seen: list[tuple[str, ...]] = []

    def failing(ids: tuple[str, ...]) -> None:
        raise RuntimeError("no")

    service.on_change(failing)
    end = service.on_change(seen.append)
    service.on_change(seen.append)
    end()
    end()
    await service.request(approval())
    assert seen == [("approval_1",), ()]


async def test_a_race_has_one_winner() -> None:
    """Answers, cancellations and the handler in every order: one of them counts, once."""
    for order in itertools.permutations(("respond", "cancel", "handler", "call")):
        release = asyncio.Event()

        async def handler(request: Request, release: asyncio.Event = release) -> Answer:
            await release.wait()
            return ApprovalAnswer(decision="rejected")

        service = Interactions(handler)
        (task,) = await parked(service, approval())
        changes: list[tuple[str, ...]] = []
        service.on_change(changes.append)
        counted = []
        for step in order:
            if step == "respond":
                counted.append(service.respond("approval_1", YES))
            elif step == "cancel":
                counted.append(service.cancel("approval_1", "why not"))
            elif step == "handler":
                release.set()
            else:
                task.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([task])
        assert counted.count(True) <= 1
        assert changes == [()]
        assert not service.pending()


def test_new_ids() -> None:
    """Each starts with its kind, and none comes twice."""
    for kind in get_args(InteractionKind):
        assert new_id(kind).startswith(f"{kind}_")
        assert new_id(kind) != new_id(kind)
