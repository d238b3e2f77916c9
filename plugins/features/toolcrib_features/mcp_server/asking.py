"""Questions of a session as forms that an MCP client shows to its user, and the answers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as mcp
from attrs import asdict
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from toolcrib import (
    ApprovalAnswer,
    ApprovalRequest,
    CommandDisplay,
    DiffDisplay,
    PlanReviewAnswer,
    PlanReviewRequest,
    QuestionAnswer,
    QuestionRequest,
    UserToolAnswer,
    UserToolRequest,
    cancelled_answer,
)

Request = ApprovalRequest | QuestionRequest | PlanReviewRequest | UserToolRequest
Answer = ApprovalAnswer | QuestionAnswer | PlanReviewAnswer | UserToolAnswer
Elicit = Callable[[mcp.ElicitRequestFormParams], Awaitable[mcp.ElicitResult]]
"""Shows a form to the user of the client and gives what they did with it."""

BY = "mcp client"
MAX_CHARS = 6000
"""Of what a call would do, only so many characters are shown."""
CANNOT_ASK = (
    "the MCP client cannot show questions to its user: allow the call by a rule in toolcrib.toml, "
    "choose another mode, or use a client that supports elicitation"
)
_ONCE, _SESSION, _DENY = "allow once", "allow for this session", "deny"
_DECISION, _FEEDBACK = "decision", "feedback"
_REVIEW = {"approve": "approved", "revise": "revise", "reject": "rejected"}


async def answer(request: Request, elicit: Elicit | None) -> Answer:
    """Put the request to the user; where that cannot be done it counts as cancelled."""
    if elicit is None or isinstance(request, UserToolRequest):
        return cancelled_answer(request, CANNOT_ASK)
    try:
        shown = await elicit(form(request))
    except MCPError as error:
        return cancelled_answer(request, f"the MCP client did not ask its user: {error}")
    except ValidationError:
        return cancelled_answer(request, "what the MCP client sent is no answer to the form")
    if shown.action == "cancel" or (shown.action == "accept" and not shown.content):
        return cancelled_answer(request, "the user gave no answer")
    content = shown.content if shown.action == "accept" else None
    match request:
        case ApprovalRequest():
            return _approval(content)
        case QuestionRequest():
            return QuestionAnswer(answers=_answers(request, content))
        case PlanReviewRequest():
            return _review(request, content)


def form(
    request: ApprovalRequest | QuestionRequest | PlanReviewRequest,
) -> mcp.ElicitRequestFormParams:
    """What the client shows."""
    match request:
        case ApprovalRequest():
            message, properties = _approval_message(request), _approval_fields(request)
        case QuestionRequest():
            message, properties = _question_message(request), _question_fields(request)
        case PlanReviewRequest():
            message, properties = (
                _plain(f"Approve this plan?\n\n{request.plan}"),
                _review_fields(request),
            )
    required = [_DECISION] if _DECISION in properties else []
    schema = {"type": "object", "properties": properties, "required": required}
    return mcp.ElicitRequestFormParams(message=message, requested_schema=schema)


def _approval_message(request: ApprovalRequest) -> str:
    lines = [f"May {request.tool} run?", request.action]
    if request.reason:
        lines.append(f"Asked because: {request.reason}")
    lines += ["", _detail(request)]
    return _plain("\n".join(lines))


def _detail(request: ApprovalRequest) -> str:
    display = request.display
    if isinstance(display, CommandDisplay):
        where = f"\nin {display.cwd}" if display.cwd else ""
        return f"$ {display.command}{where}"
    if isinstance(display, DiffDisplay):
        return f"{display.path}\n{display.diff}"
    said = {key: value for key, value in asdict(display).items() if value not in (None, "", ())}
    return json.dumps(said, ensure_ascii=False, indent=1, default=str)


def _approval_fields(request: ApprovalRequest) -> dict[str, Any]:
    choices = [_ONCE, _SESSION, _DENY] if "session" in request.scopes else [_ONCE, _DENY]
    remembered = f" For the session: {', '.join(request.rules)}" if _SESSION in choices else ""
    return {
        _DECISION: _choice("Decision", f"Whether it may run.{_plain(remembered)}", choices),
        _FEEDBACK: _text("Feedback", "What the model is told when you deny."),
    }


def _approval(content: Mapping[str, Any] | None) -> ApprovalAnswer:
    feedback = _said(content, _FEEDBACK)
    match (content or {}).get(_DECISION):
        case "allow once":
            return ApprovalAnswer(decision="approved", by=BY)
        case "allow for this session":
            return ApprovalAnswer(decision="approved", scope="session", by=BY)
        case _:
            return ApprovalAnswer(decision="rejected", feedback=feedback, by=BY)


def _question_message(request: QuestionRequest) -> str:
    lines = []
    for question in request.questions:
        lines.append(question.question)
        lines += [
            f"- {option.label}: {option.description}"
            for option in question.options
            if option.description
        ]
    return _plain("\n".join(lines))


def _question_fields(request: QuestionRequest) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for number, question in enumerate(request.questions, 1):
        title, key = question.header or f"Question {number}", f"answer_{number}"
        labels = [option.label for option in question.options]
        if labels and not question.multi_select:
            fields[key] = _choice(title, question.question, labels)
            fields[f"other_{number}"] = _text(f"{title}: other", "Another answer than those.")
        else:
            several = f" One or several of: {', '.join(labels)}" if labels else ""
            fields[key] = _text(title, f"{question.question}{several}")
    return fields


def _answers(
    request: QuestionRequest, content: Mapping[str, Any] | None
) -> Mapping[str, str] | None:
    if content is None:
        return None
    return {
        question.question: said
        for number, question in enumerate(request.questions, 1)
        if (said := _said(content, f"other_{number}") or _said(content, f"answer_{number}"))
    }


def _review_fields(request: PlanReviewRequest) -> dict[str, Any]:
    fields = {_DECISION: _choice("Decision", "What becomes of the plan.", list(_REVIEW))}
    if request.options:
        labels = [option.label for option in request.options]
        fields["option"] = _choice("Option", "Which way to go.", labels)
    return {**fields, _FEEDBACK: _text("Feedback", "What should be different.")}


def _review(request: PlanReviewRequest, content: Mapping[str, Any] | None) -> PlanReviewAnswer:
    feedback, chosen = _said(content, _FEEDBACK), _said(content, "option")
    labels = [option.label for option in request.options]
    selected = chosen if chosen in labels else None
    match (content or {}).get(_DECISION):
        case "approve":
            return PlanReviewAnswer(decision="approved", selected=selected, feedback=feedback)
        case "revise":
            return PlanReviewAnswer(decision="revise", feedback=feedback)
        case _:
            return PlanReviewAnswer(decision="rejected", feedback=feedback)


def _said(content: Mapping[str, Any] | None, key: str) -> str | None:
    value = (content or {}).get(key)
    return value.strip() or None if isinstance(value, str) else None


def _choice(title: str, description: str, choices: list[str]) -> dict[str, Any]:
    return {"type": "string", "title": title, "description": description, "enum": choices}


def _text(title: str, description: str) -> dict[str, Any]:
    return {"type": "string", "title": title, "description": description}


def _plain(text: str) -> str:
    """The text for people: what could hide or rewrite a part of it is made visible."""
    clean = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
    if len(clean) > MAX_CHARS:
        half, hidden = MAX_CHARS // 2, len(clean) - MAX_CHARS
        clean = f"{clean[:half]}\n[{hidden} characters are not shown here]\n{clean[-half:]}"
    return clean
