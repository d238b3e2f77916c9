"""Requests of a session as forms, and what becomes of the answers."""

from __future__ import annotations

from typing import Any

import jsonschema  # type: ignore[import-untyped]
import mcp_types as mcp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib import (
    ApprovalAnswer,
    ApprovalRequest,
    GenericDisplay,
    PlanReviewAnswer,
    PlanReviewRequest,
    Question,
    QuestionAnswer,
    QuestionOption,
    QuestionRequest,
    UserToolAnswer,
    UserToolRequest,
)
from toolcrib_features.mcp_server.asking import MAX_CHARS, answer, form

OF = {"agent": "main", "turn_id": "1", "call_id": "1"}


def approval(**more: Any) -> ApprovalRequest:
    values: dict[str, Any] = {
        "id": "a",
        "session_id": "s",
        "tool": "Write",
        "action": "write a.txt",
        "display": GenericDisplay(summary="write", detail={"content": "text"}),
        "policy": "p",
        "scopes": ("once", "session", "user"),
        **OF,
        **more,
    }
    return ApprovalRequest(**values)


def plan() -> PlanReviewRequest:
    options = (QuestionOption(label="fast"), QuestionOption(label="careful"))
    return PlanReviewRequest(id="p", plan="1. do it", options=options, **OF)


def answering(**content: Any) -> Any:
    async def elicit(shown: mcp.ElicitRequestFormParams) -> mcp.ElicitResult:
        jsonschema.Draft7Validator.check_schema(shown.requested_schema)
        return mcp.ElicitResult(action="accept", content=content)

    return elicit


async def test_a_plan_is_reviewed() -> None:
    """Approved in one of the offered ways, sent back with words, or rejected."""
    approved = await answer(plan(), answering(decision="approve", option="careful"))
    assert approved == PlanReviewAnswer(decision="approved", selected="careful")
    revise = await answer(plan(), answering(decision="revise", feedback="shorter"))
    assert revise == PlanReviewAnswer(decision="revise", feedback="shorter")
    for content in ({"decision": "reject"}, {"decision": "what?"}, {"option": "fast"}):
        rejected = await answer(plan(), answering(**content))
        assert isinstance(rejected, PlanReviewAnswer) and rejected.decision == "rejected"


async def test_an_approval_never_outlives_the_session() -> None:
    """What would be written into a file is not offered to a client."""
    choices = form(approval()).requested_schema["properties"]["decision"]["enum"]
    assert choices == ["allow once", "allow for this session", "deny"]
    once = form(approval(scopes=("once",))).requested_schema["properties"]["decision"]["enum"]
    assert once == ["allow once", "deny"]


@settings(max_examples=60)
@given(st.none() | st.text(max_size=20) | st.booleans() | st.integers() | st.lists(st.text()))
async def test_nothing_but_a_clear_yes_allows(said: Any) -> None:
    """Whatever a client sends."""
    given = await answer(approval(), answering(decision=said))
    assert isinstance(given, ApprovalAnswer)
    assert (given.decision == "approved") == (said in ("allow once", "allow for this session"))


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_no_answer_is_no_yes(action: Any) -> None:
    """Of any request."""

    async def elicit(shown: mcp.ElicitRequestFormParams) -> mcp.ElicitResult:
        return mcp.ElicitResult(action=action, content={"decision": "allow once"})

    asked = QuestionRequest(id="q", questions=(Question(question="Why?"),), **OF)
    refused = await answer(approval(), elicit)
    assert isinstance(refused, ApprovalAnswer) and refused.decision != "approved"
    silent = await answer(asked, elicit)
    assert isinstance(silent, QuestionAnswer) and silent.answers is None
    review = await answer(plan(), elicit)
    assert isinstance(review, PlanReviewAnswer) and review.decision != "approved"


async def test_tools_of_a_host_are_none_of_the_clients_business() -> None:
    """There is no form for them."""
    request = UserToolRequest(id="u", tool="Host", agent="main", turn_id=None, call_id="1")
    refused = await answer(request, answering())
    assert isinstance(refused, UserToolAnswer) and refused.is_error


@settings(max_examples=60)
@given(st.text(max_size=200))
def test_a_form_shows_no_character_that_hides_others(action: str) -> None:
    """Neither control characters nor those that change the direction of the text."""
    message = form(approval(action=action)).message
    assert all(c.isprintable() or c in "\n\t" for c in message)


def test_a_long_form_says_what_it_leaves_out() -> None:
    """The beginning and the end are shown."""
    message = form(approval(action="begin" + "x" * 3 * MAX_CHARS + "end")).message
    assert len(message) < MAX_CHARS + 200 and "begin" in message and "not shown" in message
