"""The panel that asks a person at a terminal, and what can be answered to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice

from attrs import frozen
from rich.box import ROUNDED
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from toolcrib.cli.rows import Block, Cut, fitted, on_one_line, rows
from toolcrib.cli.shown import blocks, plan
from toolcrib.contract.interaction import (
    ApprovalRequest,
    ApprovalScope,
    PlanReviewRequest,
    Question,
    QuestionOption,
)

FRAME_CELLS = 4
"""What the frame takes of the width."""
LEAST_ROWS = 6
_SCOPES: dict[ApprovalScope, tuple[str, str]] = {
    "once": ("y", "yes, this once"),
    "session": ("s", "yes, for the rest of this session"),
    "project": ("p", "yes, always in this project"),
    "user": ("a", "yes, always and everywhere"),
}


@frozen
class Choice:
    """One answer: its key, what it means, and how long it holds if it approves a call."""

    key: str
    text: str
    scope: ApprovalScope | None = None
    approves: bool = False


NO = Choice("n", "no")
NO_BUT = Choice("f", "no, and tell the model what to do instead")
REVISE = Choice("r", "not like this, and say what should be different")
LEAVE = Choice("x", "no, and leave plan mode")
VIEW = Choice("v", "view all of it")


@frozen(kw_only=True)
class Screen:
    """A question as it stands on the terminal; `body` is what a call would do, or a plan."""

    title: str
    body: list[Block]
    notes: tuple[Block, ...] = ()
    choices: tuple[Choice, ...] = ()
    below: tuple[Block, ...] = ()
    subtitle: str = ""


def approval_screen(request: ApprovalRequest, waiting: int = 0) -> Screen:
    """How an approval is asked; `waiting` is how many requests wait behind it."""
    offered = [_SCOPES[scope] for scope in request.scopes]
    yes = [
        Choice(*shown, scope, approves=True)
        for shown, scope in zip(offered, request.scopes, strict=True)
    ]
    wider = [choice.key for choice in yes if choice.scope != "once"]
    reason = request.reason or "nothing allows it beforehand"
    agent = f"agent {on_one_line(request.agent)}"
    return Screen(
        title=f"May {on_one_line(request.tool)} run?",
        subtitle=f"{agent}, {waiting} more waiting" if waiting else agent,
        body=blocks(request.display) or [Block(text=request.action)],
        notes=(Block(text=reason, prefix="why "), Block(text=request.policy, prefix="policy ")),
        choices=(*yes, NO, NO_BUT, VIEW),
        below=tuple(_rules(request.rules, wider)),
    )


def question_screen(question: Question) -> Screen:
    """How a question is asked, with the answers to choose from."""
    several = "; several numbers are welcome" if question.multi_select else ""
    hint = f"a number or words of your own{several}" if question.options else "in your own words"
    return Screen(
        title=on_one_line(question.header) or "A question",
        body=[Block(text=question.question)],
        choices=tuple(Choice("", _option(option)) for option in question.options),
        below=(Block(text=hint, style="dim"),),
    )


def plan_screen(request: PlanReviewRequest) -> Screen:
    """How a plan is put forward, with the ways to carry it out."""
    yes = [Choice("", _option(option), approves=True) for option in request.options]
    return Screen(
        title="Shall this plan be carried out?",
        subtitle=f"agent {on_one_line(request.agent)}",
        body=plan(request.plan, request.path),
        choices=(*(yes or [Choice("y", "yes", approves=True)]), REVISE, NO, LEAVE, VIEW),
    )


def _option(option: QuestionOption) -> str:
    return f"{option.label}: {option.description}" if option.description else option.label


def _rules(rules: Sequence[str], wider: list[str]) -> Iterator[Block]:
    """What is allowed from now on by the answers that hold for longer than a call."""
    if not wider or not rules:
        return
    keys = f"{', '.join(wider[:-1])} and {wider[-1]}" if len(wider) > 1 else wider[0]
    yield Block(text=f"{keys} allow{'s' * (len(wider) == 1)} from now on:", prefix="  ")
    yield from (Block(text=rule, prefix="    ") for rule in rules)


def drawn(screen: Screen, console: Console) -> RenderableType:
    """The question, no higher than the terminal if the rest can be viewed in another way."""
    width, height = console.size.width, console.size.height
    if VIEW not in screen.choices:
        height = sys.maxsize
    inner = max(width - FRAME_CELLS, 8)
    notes = _within(screen.notes, inner, height // 4)
    below = [*rows(_choices(screen.choices), width), *_within(screen.below, width, height // 4)]
    # Two for the frame, one between body and notes, one for the answer.
    space = height - len(notes) - len(below) - 4
    body = _within(screen.body, inner, space)
    panel = Panel(
        Group(*body, *([Text(), *notes] if notes else ())),
        title=Text(_short(screen.title, width), style="bold"),
        title_align="left",
        subtitle=Text(_short(screen.subtitle, width)) if screen.subtitle else None,
        subtitle_align="right",
        box=ROUNDED,
        border_style="yellow",
        width=width,
    )
    return Group(panel, *below)


def pages(screen: Screen, console: Console) -> Iterator[list[Text]]:
    """Everything there is to read before an answer, in portions that a terminal shows at once."""
    height = max(console.size.height - 1, LEAST_ROWS)
    unread = rows([*screen.body, *screen.notes, *screen.below], console.size.width)
    while page := [_uncut(row) for row in islice(unread, height)]:
        yield page


def _within(blocks: Sequence[Block], width: int, height: int) -> list[Text]:
    shown = fitted(blocks, width, max(height, LEAST_ROWS))
    if isinstance(shown, Cut):
        count = f"more than {shown.left_out:,}" if shown.at_least else f"{shown.left_out:,}"
        between = Text(f"... {count} rows left out, v shows them ...", style="bold reverse")
        shown = [*shown.first, between, *shown.last]
    return [_uncut(row) for row in shown]


def _choices(choices: Sequence[Choice]) -> Iterator[Block]:
    for number, choice in enumerate(choices, 1):
        yield Block(text=on_one_line(choice.text), prefix=f"  {number} {choice.key or ' '}  ")


def _short(text: str, width: int) -> str:
    kept = Text(text)
    kept.truncate(max(width - 8, 8), overflow="ellipsis")
    return kept.plain


def _uncut(row: Text) -> Text:
    """The row as it is: it has been broken to the width already."""
    row.no_wrap = True
    row.overflow = "crop"
    return row
