"""Asks the person at the terminal: approvals, questions, plans."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from toolcrib.cli.keyboard import EndOfInput, find_terminal, in_background, keyboard
from toolcrib.contract.interaction import (
    Answer,
    ApprovalAnswer,
    ApprovalRequest,
    InteractionHandler,
    PlanReviewAnswer,
    PlanReviewRequest,
    Question,
    QuestionAnswer,
    QuestionRequest,
    Request,
    UserToolRequest,
)
from toolcrib.interactions import cancelled_answer

if TYPE_CHECKING:
    from toolcrib.cli.dialogue import Dialogue

BY = "terminal"


def terminal_handler(*, input_is_taken: bool = False) -> InteractionHandler | None:
    """What answers for a person at the terminal, or None when nobody can be asked.

    `input_is_taken` says that standard input brings what the command works on, so that it may be
    something else than the terminal; see `find_terminal`.
    """
    path = find_terminal(input_is_taken=input_is_taken)
    return None if path is None else TerminalHandler(path)


class TerminalHandler:
    """Puts one request after the other to the person at a terminal, given by its path."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def __call__(self, request: Request) -> Answer:
        self._waiting += 1
        try:
            async with self._turn:
                return await self._ask(request)
        finally:
            self._waiting -= 1

    async def _ask(self, request: Request) -> Answer:
        if in_background():
            return cancelled_answer(request, "it runs in the background, where nobody can answer")
        from toolcrib.cli.dialogue import Dialogue

        with keyboard(self._path) as keys:
            dialogue = Dialogue(keys)
            try:
                return await self._put(request, dialogue)
            except EndOfInput:
                dialogue.say("\nThe end of input is no answer.")
                return cancelled_answer(request, "the input ended without an answer")
            except asyncio.CancelledError:
                dialogue.say("")
                raise

    async def _put(self, request: Request, dialogue: Dialogue) -> Answer:
        match request:
            case ApprovalRequest():
                return await _approval(request, dialogue, self._waiting - 1)
            case QuestionRequest():
                answers = {
                    each.question: await _answer(each, dialogue) for each in request.questions
                }
                return QuestionAnswer(answers=answers)
            case PlanReviewRequest():
                return await _review(request, dialogue)
            case UserToolRequest():
                return cancelled_answer(request, "the command line carries out no tools of a host")


async def _approval(request: ApprovalRequest, dialogue: Dialogue, waiting: int) -> ApprovalAnswer:
    from toolcrib.cli.panel import NO_BUT, approval_screen

    choice = await dialogue.choose(approval_screen(request, waiting))
    if choice.scope is not None:
        return ApprovalAnswer(decision="approved", scope=choice.scope, by=BY)
    feedback = await dialogue.line("what should it do instead? ") if choice is NO_BUT else ""
    return ApprovalAnswer(decision="rejected", feedback=feedback or None, by=BY)


async def _answer(question: Question, dialogue: Dialogue) -> str:
    """The labels of the options whose numbers were typed, or else the text."""
    from toolcrib.cli.panel import question_screen

    labels = [option.label for option in question.options]
    screen = question_screen(question)
    while True:
        typed = await dialogue.free(screen)
        numbers = typed.replace(",", " ").split() if question.multi_select else [typed]
        if not labels or not all(number.isdecimal() for number in numbers):
            return typed
        if all(0 < int(number) <= len(labels) for number in numbers):
            return ", ".join(dict.fromkeys(labels[int(number) - 1] for number in numbers))
        dialogue.say(f"There is no answer {typed}: the last one is {len(labels)}.")


async def _review(request: PlanReviewRequest, dialogue: Dialogue) -> PlanReviewAnswer:
    from toolcrib.cli.panel import LEAVE, REVISE, plan_screen

    screen = plan_screen(request)
    choice = await dialogue.choose(screen)
    if choice is REVISE:
        feedback = await dialogue.line("what should be different? ")
        return PlanReviewAnswer(decision="revise", feedback=feedback or None)
    if choice.approves:
        number = screen.choices.index(choice)
        selected = request.options[number].label if request.options else None
        return PlanReviewAnswer(decision="approved", selected=selected)
    return PlanReviewAnswer(decision="rejected_and_exited" if choice is LEAVE else "rejected")
