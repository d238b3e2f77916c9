"""What is named like a secret does not leave in an event."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import frozen

import toolcrib
from toolcrib.contract.events import ToolCallStarted
from toolcrib.redaction import redacted
from toolcrib.testing import ToolHarness


@frozen
class LoginInput:
    user: str
    api_token: str


class Login(toolcrib.Tool[LoginInput]):
    name = "Login"
    description = "Log in."

    def resolve_execution(self, args: LoginInput) -> toolcrib.Execution:
        async def execute(context: toolcrib.ToolContext) -> toolcrib.ToolResult:
            return toolcrib.ToolResult(str(len(args.api_token)))

        return toolcrib.RunnableExecution(execute, approval_rule="Login")


class Plugin:
    @toolcrib.hookimpl
    def contribute_tool(self) -> toolcrib.ToolContribution:
        return toolcrib.ToolContribution(name="Login", factory=Login)


@pytest.mark.parametrize(
    "arguments",
    [
        {"user": "ada", "api_token": "hunter2"},
        '{"user": "ada", "api_token": "hunter2"}',
        '{"user": "ada", "api_token": "hunter2"',
        {"user": "ada", "api_token": "hunter2", "nested": [{"password": "hunter2"}]},
    ],
)
async def test_events_show_the_call_without_its_secrets(tmp_path: Any, arguments: Any) -> None:
    """Also where the call is refused; the tool itself gets the value."""
    async with ToolHarness(tmp_path, plugins=[Plugin()]) as crib:
        started: list[ToolCallStarted] = []
        crib.session.subscribe(
            lambda event: started.append(event) if isinstance(event, ToolCallStarted) else None
        )
        done = await crib.call("Login", arguments)
    (event,) = started
    shown = event.arguments if isinstance(event.arguments, str) else json.dumps(event.arguments)
    assert "hunter2" not in shown
    assert "ada" in shown
    assert done.result.is_error or done.result.output == "7"


def test_other_values_stay_as_they_are() -> None:
    data = {"path": "a.txt", "n": [1, {"max_tokens": 5}], "x": None}
    assert redacted(data) == data
