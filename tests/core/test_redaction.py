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


@pytest.mark.parametrize(
    "command",
    [
        "export TOKEN=hunter2",
        'curl -H "Authorization: Bearer hunter2" https://a.example',
        "curl -H 'authorization:basic hunter2'",
        "mysql --password hunter2 -u ada",
        "mysql --password='hunter 2 hunter2'",
        "login -api-key 'a hunter2' ada",
        "git clone https://ada:hunter2@a.example/b",
    ],
)
def test_commands_are_shown_without_their_secrets(command: str) -> None:
    assert "hunter2" not in redacted(command)
    assert redacted(command).split()[0] == command.split()[0]


@pytest.mark.parametrize(
    "command",
    [
        "run --max-tokens 5 --no-token --verbose",
        "git log --author ada",
        "curl https://a.example:8080/x@y",
    ],
)
def test_commands_without_secrets_are_shown_as_they_are(command: str) -> None:
    assert redacted(command) == command


@pytest.mark.parametrize("piece", ["-token", "token: ", "--password ", "://a:", "--", "secret=\\"])
def test_long_texts_are_searched_in_proportion_to_their_length(piece: str) -> None:
    """A text that is made to be slow would hold up every call."""
    text = piece * (1_000_000 // len(piece))
    assert len(redacted(text)) <= 3 * len(text)


def test_other_values_stay_as_they_are() -> None:
    data = {"path": "a.txt", "n": [1, {"max_tokens": 5}], "x": None}
    assert redacted(data) == data
