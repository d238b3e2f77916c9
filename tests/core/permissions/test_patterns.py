"""Rules with a pattern, on tools that know none and on tools that only know their arguments."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toolcrib
from toolcrib import Approve, Completion, Session, ToolCall, ToolResult, hookimpl
from toolcrib.config.permission import PermissionRule
from toolcrib.errors import RuleError
from toolcrib.explain import explain_call
from toolcrib.permissions.ruleset import RuleSet
from toolcrib.rules import match_tool_name, parse_rule

SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "many": {"type": "array"}},
    "additionalProperties": False,
}


class Plain(toolcrib.Tool[dict[str, Any]]):
    """Knows nothing of patterns."""

    name = "Plain"
    description = "Does nothing."
    Input = SCHEMA

    def resolve_execution(self, args: dict[str, Any]) -> toolcrib.RunnableExecution:
        async def execute(context: toolcrib.ToolContext) -> ToolResult:
            return ToolResult("done")

        return toolcrib.RunnableExecution(execute, approval_rule="Plain")


class Plugin:
    @hookimpl
    def contribute_tool(self) -> toolcrib.ToolContribution:
        return toolcrib.ToolContribution(name="Plain", factory=Plain)


class Approving:
    @hookimpl
    def check_permission(self, call: ToolCall) -> Approve:
        return Approve("why not")


def opened(folder: Path, *rules: tuple[str, str], **more: Any) -> Session:
    written = [{"decision": decision, "pattern": pattern} for decision, pattern in rules]
    given = {"mode": "yolo", "plugins": [Plugin()], "autoload": False, **more}
    session = toolcrib.open_session(
        folder,
        environ={"HOME": str(folder), "TOOLCRIB_STATE": str(folder / "state")},
        overrides={"permission": {"rules": written}},
        **given,
    )
    session.register_tool("Post", "Sends something.", SCHEMA, lambda arguments: "sent")
    return session


async def run(session: Session, name: str, **arguments: Any) -> Completion:
    calls = [{"id": "1", "name": name, "arguments": arguments}]
    (done,) = [done async for done in session.execute(calls)]
    return done


@pytest.mark.parametrize("mode", ["manual", "yolo", "auto"])
@pytest.mark.parametrize("name", ["Plain", "Post"])
@pytest.mark.parametrize("args", ["(*)", "(**)", "(x)", "(!x)", "(tto=x)", "(*x*)", "(to)"])
async def test_a_deny_rule_whose_pattern_a_tool_does_not_know_denies_every_call(
    tmp_path: Path, mode: str, name: str, args: str
) -> None:
    async with opened(tmp_path, ("deny", name + args), mode=mode) as session:
        done = await run(session, name, to="ann")
        assert done.outcome == "vetoed"
        assert repr(name + args) in done.result.output


@pytest.mark.parametrize("name", ["Plain", "Post"])
@pytest.mark.parametrize(("args", "allowed"), [("(*)", True), ("(**)", True), ("(x)", False)])
async def test_an_allow_rule_does_so_for_all_calls_or_for_none(
    tmp_path: Path, name: str, args: str, allowed: bool
) -> None:
    async with opened(tmp_path, ("allow", name + args), mode="manual") as session:
        done = await run(session, name, to="x")
        assert (done.outcome == "executed") is allowed
        if not allowed:
            assert repr(name + args) in done.result.output


@pytest.mark.parametrize("name", ["Plain", "Post"])
async def test_an_ask_rule_asks_about_every_call(tmp_path: Path, name: str) -> None:
    asked: list[str] = []

    async def refuse(request: Any) -> toolcrib.ApprovalAnswer:
        asked.append(request.reason)
        return toolcrib.ApprovalAnswer(decision="rejected")

    async with opened(tmp_path, ("ask", f"{name}(x)"), interact=refuse) as session:
        for to in ("ann", "bob"):
            assert (await run(session, name, to=to)).outcome == "vetoed"
    assert len(asked) == 2 and all(f"{name}(x)" in reason for reason in asked)


async def test_no_plugin_approves_what_such_a_rule_denies(tmp_path: Path) -> None:
    plugins = [Plugin(), Approving()]
    async with opened(tmp_path, ("deny", "P*(x)"), plugins=plugins) as session:
        for name in ("Plain", "Post"):
            assert (await run(session, name, to="ann")).outcome == "vetoed"


async def test_a_session_approval_does_not_answer_for_a_deny_rule(tmp_path: Path) -> None:
    async def approve(request: Any) -> toolcrib.ApprovalAnswer:
        return toolcrib.ApprovalAnswer(decision="approved", scope="session")

    rules = ("deny", "Post(to=bob*)")
    async with opened(tmp_path, rules, mode="manual", interact=approve) as session:
        assert (await run(session, "Post", to="ann")).outcome == "executed"
        assert (await run(session, "Post", to="bob")).outcome == "vetoed"
        assert (await run(session, "Post", to="ann")).outcome == "executed"


@pytest.mark.parametrize(
    ("rules", "arguments", "decision"),
    [
        ([("deny", "Post(to=bob)")], {"to": "bob"}, "deny"),
        ([("deny", "Post(to=bob)")], {"to": "ann"}, "ask"),
        ([("deny", "Post(to=bob)")], {}, "ask"),
        ([("deny", "Post(!to=bob)")], {}, "deny"),
        ([("deny", "Post(many=bob)")], {"many": ["bob"]}, "deny"),
        ([("allow", "Post(to=bob)")], {"to": "bob"}, "allow"),
        ([("allow", "Post(to=bob)")], {"to": "ann"}, "ask"),
        ([("allow", "Post(!to=bob)")], {}, "ask"),
        ([("allow", "Post(many=bob)")], {"many": ["bob"]}, "ask"),
        ([("allow", "Post(to=b*)"), ("ask", "Post(to=bob)")], {"to": "bob"}, "ask"),
        ([("allow", "Post"), ("ask", "Post(bob)")], {"to": "ann"}, "ask"),
        ([("allow", "Post"), ("deny", "Post(bob)")], {"to": "ann"}, "deny"),
        ([("allow", "Post(to=b*)"), ("deny", "Post(to=bob)")], {"to": "ben"}, "allow"),
        ([("allow", "*(to=b*)")], {"to": "ben"}, "allow"),
    ],
)
async def test_rules_about_arguments_weigh_as_others_do(
    tmp_path: Path, rules: list[tuple[str, str]], arguments: dict[str, Any], decision: str
) -> None:
    async with opened(tmp_path, *rules, mode="manual") as session:
        call = {"name": "Post", "arguments": arguments}
        assert (await explain_call(session.main, call)).decision == decision


PATTERNS = st.text(alphabet="*!?=(){}[]|\\/.tox ", min_size=1, max_size=10).map(str.strip)
NAMES = st.sampled_from(["Plain", "Post", "P*", "*", "{Post,Plain}", "!Read"])


@contextmanager
def in_force(session: Session, decision: Any, pattern: str) -> Iterator[None]:
    before = session.permission_rules
    session.permission_rules = RuleSet((PermissionRule(decision=decision, pattern=pattern),))
    yield
    session.permission_rules = before


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    async with opened(tmp_path, mode="manual") as session:
        yield session


@given(name=NAMES, args=PATTERNS, to=st.text(alphabet="tox*./", max_size=4))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_the_pattern_doubt_takes_away_and_never_gives(
    session: Session, name: str, args: str, to: str
) -> None:
    pattern = f"{name}({args})"
    try:
        parsed = parse_rule(pattern)
    except RuleError:
        return
    every = parsed.arg_pattern is None or not parsed.arg_pattern.strip("*")
    for tool in ("Plain", "Post"):
        if not match_tool_name(name, tool):
            continue
        decided: dict[str, str] = {}
        for decision in ("deny", "ask", "allow"):
            with in_force(session, decision, pattern):
                call = {"name": tool, "arguments": {"to": to}}
                decided[decision] = (await explain_call(session.main, call)).decision
        if tool == "Plain" or "=" not in args:
            assert decided == {"deny": "deny", "ask": "ask", "allow": "allow" if every else "ask"}
        elif decided["allow"] == "allow":
            assert decided["deny"] == "deny"
