"""A real session asks once for as long as it was told, and again when that is taken back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import toolcrib
from toolcrib.contract.interaction import Answer, ApprovalAnswer, ApprovalRequest, Request

if TYPE_CHECKING:
    from core.approvals.conftest import Home

PROGRAM = str(Path(sys.executable).parent / "toolcrib")
COMMAND = "touch 'made (1).txt'"


class Person:
    """Answers every question in one way, and counts them."""

    def __init__(self, scope: Any) -> None:
        self.scope = scope
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, request: Request) -> Answer:
        assert isinstance(request, ApprovalRequest)
        self.asked.append(request)
        return ApprovalAnswer(decision="approved", scope=self.scope, by="person")


def open_for(home: Home, person: Person) -> toolcrib.Session:
    environ = {"PATH": os.environ["PATH"], **home.environ}
    return toolcrib.open_session(
        home.workspace, mode="manual", environ=environ, interact=person, autoload=False
    )


async def bash(session: toolcrib.Session, command: str = COMMAND) -> str:
    async for done in session.execute(
        [{"id": "1", "name": "Bash", "arguments": {"command": command}}]
    ):
        return done.outcome
    raise AssertionError


def permissions(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "permissions", *arguments],
        env={"PATH": os.environ["PATH"], **home.environ},
        cwd=home.workspace,
        capture_output=True,
        text=True,
        timeout=60,
    )


async def test_once_is_asked_every_time(home: Home) -> None:
    person = Person("once")
    async with open_for(home, person) as session:
        assert [await bash(session), await bash(session)] == ["executed", "executed"]
    assert len(person.asked) == 2
    assert not home.database.exists()


async def test_for_the_session_it_holds_until_it_is_revoked(home: Home) -> None:
    person = Person("session")
    async with open_for(home, person) as session:
        assert [await bash(session), await bash(session)] == ["executed", "executed"]
        assert len(person.asked) == 1
        (listed,) = json.loads(permissions(home, "list", "--json").stdout)["approvals"]
        assert listed["session"] == session.id
        assert permissions(home, "revoke", str(listed["id"])).returncode == 0
        await bash(session)
        assert len(person.asked) == 2
    assert json.loads(permissions(home, "list", "--json").stdout)["approvals"] == []


async def test_for_the_session_it_is_the_exact_command(home: Home) -> None:
    person = Person("session")
    async with open_for(home, person) as session:
        await bash(session)
        for other in (f"{COMMAND} x", f"{COMMAND}; touch y", COMMAND.replace("1", "*")):
            await bash(session, other)
    assert len(person.asked) == 4


@pytest.mark.parametrize("scope", ["project", "user"])
async def test_for_good_it_holds_in_the_next_session(home: Home, scope: str) -> None:
    for _ in range(2):
        person = Person(scope)
        async with open_for(home, person) as session:
            assert await bash(session) == "executed"
    assert person.asked == []
    (rule,) = home.rules()
    assert (rule.decision, rule.scope) == ("allow", scope)
    assert permissions(home, "revoke", rule.pattern).returncode == 0
    async with open_for(home, person) as session:
        await bash(session)
    assert len(person.asked) == 1
