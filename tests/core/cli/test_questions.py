"""Questions, plans and several requests at a time, put to a person at a real terminal."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from core.cli.conftest import Cli

if sys.platform == "win32":
    pytest.skip("terminals are of POSIX", allow_module_level=True)

import pexpect  # type: ignore[import-untyped]

PROGRAM = """
import asyncio, json, sys
import attrs
from toolcrib.cli.approval import terminal_handler
from toolcrib.contract.display import CommandDisplay
from toolcrib.contract.interaction import *
from toolcrib.interactions import Interactions

service = Interactions(terminal_handler())
origin = {"agent": "main", "turn_id": "1"}
two = (QuestionOption(label="left", description="short"), QuestionOption(label="right"))

def approval(name):
    return ApprovalRequest(
        id=name, session_id="s", call_id=name, tool=name, action=name, policy="fallback-ask",
        display=CommandDisplay(command=name), **origin,
    )

def question(*questions):
    return QuestionRequest(id="question_1", questions=questions, **origin)

def plan(*options):
    return PlanReviewRequest(id="plan_review_1", plan="# Do this", options=options, **origin)

async def main():
    async with asyncio.TaskGroup() as group:
        requests = eval(sys.argv[1])
        tasks = [group.create_task(service.request(each)) for each in requests]
    print("answers", json.dumps([attrs.asdict(task.result()) for task in tasks]))

asyncio.run(main())
"""
ANSWER = "answer[^:]*: "
Ask = Callable[[str], Any]


@pytest.fixture
def ask(cli: Cli) -> Iterator[Ask]:
    """Put requests, written in Python, to whoever sits at a new terminal."""
    started = []

    def ask(requests: str) -> Any:
        process = pexpect.spawn(
            sys.executable,
            ["-c", PROGRAM, requests],
            cwd=str(cli.workspace),
            env=cli.environ,
            dimensions=(30, 90),
            encoding="utf-8",
            timeout=30,
            # Whoever runs the tests in the background ignores it, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        started.append(process)
        return process

    yield ask
    for process in started:
        process.close(force=True)


def answer(process: Any, *lines: str) -> None:
    for line in lines:
        process.expect(ANSWER)
        process.sendline(line)


def answers(process: Any) -> Any:
    process.expect(r"answers (\[.*\])\r")
    return json.loads(process.match[1])


WAY = "question(Question(question='Which way?', header='Way', options=two{}))"


@pytest.mark.parametrize(
    ("typed", "given"),
    [("2", "right"), ("left", "left"), ("  up and away ", "up and away"), ("2nd", "2nd")],
)
def test_a_question_with_options(ask: Ask, typed: str, given: str) -> None:
    """An option by its number, or any words."""
    process = ask(f"[{WAY.format('')}]")
    process.expect("Which way")
    answer(process, "", "3", "0", typed)
    assert answers(process) == [{"answers": {"Which way?": given}, "cause": None}]


@pytest.mark.parametrize(
    ("typed", "given"), [("2, 1 2", "right, left"), ("1", "left"), ("both", "both")]
)
def test_several_answers_to_a_question(ask: Ask, typed: str, given: str) -> None:
    process = ask(f"[{WAY.format(', multi_select=True')}]")
    answer(process, "1,7", typed)
    assert answers(process)[0]["answers"] == {"Which way?": given}


def test_several_questions(ask: Ask) -> None:
    """One after the other; a number is an answer where there is nothing to choose from."""
    process = ask("[question(Question(question='Who?'), Question(question='How many?'))]")
    answer(process, "Ann", "7")
    assert answers(process)[0]["answers"] == {"Who?": "Ann", "How many?": "7"}


def test_the_end_of_input_dismisses_all_questions(ask: Ask) -> None:
    process = ask("[question(Question(question='Who?'), Question(question='How many?'))]")
    answer(process, "Ann")
    process.expect(ANSWER)
    process.sendeof()
    (given,) = answers(process)
    assert given["answers"] is None and given["cause"]


@pytest.mark.parametrize(
    ("key", "decision"),
    [("y", "approved"), ("n", "rejected"), ("x", "rejected_and_exited"), ("r", "revise")],
)
def test_a_plan(ask: Ask, key: str, decision: str) -> None:
    process = ask("[plan()]")
    process.expect("# Do this")
    answer(process, key)
    if key == "r":
        process.expect("different")
        process.sendline("shorter")
    (given,) = answers(process)
    assert given["decision"] == decision and given["selected"] is None
    assert given["feedback"] == ("shorter" if key == "r" else None)


def test_a_plan_with_ways_to_choose_from(ask: Ask) -> None:
    """There is no plain yes then."""
    process = ask("[plan(*two)]")
    answer(process, "y", "2")
    (given,) = answers(process)
    assert (given["decision"], given["selected"]) == ("approved", "right")


def test_requests_at_the_same_time_are_put_one_by_one(ask: Ask) -> None:
    """In their order, each with its own answer."""
    process = ask("[approval('one'), approval('two'), question(Question(question='Who?'))]")
    process.expect("May one run")
    answer(process, "y")
    process.expect("May two run")
    process.expect("1 more waiting")
    answer(process, "n", "Ann")
    one, two, who = answers(process)
    assert (one["decision"], two["decision"]) == ("approved", "rejected")
    assert who["answers"] == {"Who?": "Ann"}


def test_a_tool_of_a_host_is_not_run(ask: Ask) -> None:
    """At a terminal nobody can carry it out."""
    process = ask(
        "[UserToolRequest(id='user_tool_1', call_id='c', tool='Lamp', arguments={}, **origin)]"
    )
    (given,) = answers(process)
    assert given["is_error"] and "Lamp" in given["output"]
