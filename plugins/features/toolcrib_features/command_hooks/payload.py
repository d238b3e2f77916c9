"""What a command reads on standard input: one JSON object about the event."""

from __future__ import annotations

import json
from typing import Any

from toolcrib import Outcome, TextPart, ToolCall, ToolResult, redacted

MAX_OUTPUT_CHARS = 2_000


def call_payload(event: str, call: ToolCall) -> dict[str, Any]:
    """The keys that a call has before it runs."""
    assert call.session is not None
    return {
        "hook_event_name": event,
        "session_id": call.session.id,
        "cwd": call.session.workspace.root,
        "agent_id": call.agent,
        "turn_id": call.turn_id,
        "tool_name": call.name,
        "tool_input": call.arguments,
        "tool_call_id": call.id,
    }


def ended_payload(event: str, call: ToolCall, outcome: Outcome) -> dict[str, Any]:
    """The keys of a call, and the beginning of its output or of what went wrong."""
    said = _beginning(outcome.result)
    failed = event == "PostToolUseFailure"
    more = {"error": {"kind": outcome.kind, "message": said}} if failed else {"tool_output": said}
    return {**call_payload(event, call), **more}


def approval_payload(event: str, session: Any, about: Any) -> dict[str, Any]:
    """The keys of an approval that is asked for or was answered; arguments lack secrets."""
    payload = {
        "hook_event_name": event,
        "session_id": session.id,
        "cwd": session.workspace.root,
        "agent_id": about.agent,
        "turn_id": about.turn_id,
        "tool_name": about.name,
        "tool_call_id": about.call_id,
        "request_id": about.request_id,
    }
    if event == "PermissionRequest":
        return {
            **payload,
            "tool_input": about.arguments,
            "policy": about.policy,
            "reason": redacted(about.reason),
        }
    return {
        **payload,
        "decision": about.decision,
        "scope": about.scope,
        "by": about.by,
        "cause": about.cause,
    }


def as_json(payload: dict[str, Any]) -> bytes:
    """The object in one line of ASCII."""
    return json.dumps(payload, default=str).encode("ascii") + b"\n"


def _beginning(result: ToolResult) -> str:
    if result.spilled is not None:
        return result.spilled.head[:MAX_OUTPUT_CHARS]
    if isinstance(result.output, str):
        return result.output[:MAX_OUTPUT_CHARS]
    parts = (
        part.text if isinstance(part, TextPart) else f"<{part.media_type}>"
        for part in result.output
    )
    return "\n".join(parts)[:MAX_OUTPUT_CHARS]
