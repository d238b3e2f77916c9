"""What hooks say before a call, against each other and against the rules of the user."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

import toolcrib
from toolcrib.contract.interaction import Answer, ApprovalAnswer, ApprovalRequest, Request
from toolcrib.testing import ToolHarness

Hook = dict[str, Any]
Pre = Callable[..., Hook]
Open = Callable[..., ToolHarness]
Says = Callable[..., str]

MARK = {"command": "touch marker"}


class Person:
    """Answers every request in the same way, and keeps what it was asked."""

    def __init__(self, decision: Any = "approved", scope: Any = "once") -> None:
        self.answer = ApprovalAnswer(decision=decision, scope=scope, by="test")
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, request: Request) -> Answer:
        assert isinstance(request, ApprovalRequest)
        self.asked.append(request)
        return self.answer


async def mark(crib: ToolHarness) -> tuple[str, str]:
    """Make the call with the marker; its outcome and what the model reads."""
    done = await crib.call("Bash", MARK)
    ran = (crib.root / "marker").exists()
    assert ran == (done.outcome == "executed")
    return done.outcome, str(done.result.output)


async def test_exit_code_2_denies_with_the_standard_error(open_crib: Open, pre: Pre) -> None:
    outcome, text = await mark(open_crib(pre("echo ' not on Fridays ' >&2; echo {; exit 2")))
    assert outcome == "vetoed"
    assert "says 'deny': not on Fridays." in text


async def test_json_denies_with_its_reason(open_crib: Open, pre: Pre, answers: Says) -> None:
    outcome, text = await mark(open_crib(pre(answers("deny", "not on Fridays"))))
    assert outcome == "vetoed"
    assert "not on Fridays" in text


async def test_a_denial_without_a_reason_names_the_hook(open_crib: Open, pre: Pre) -> None:
    outcome, text = await mark(open_crib(pre("exit 2")))
    assert outcome == "vetoed"
    assert "'exit 2'" in text


async def test_it_counts_in_every_mode(open_crib: Open, pre: Pre) -> None:
    for mode in ("manual", "yolo", "auto"):
        crib = open_crib(pre("exit 2"), mode=mode, permission={"allow": ["Bash"]})
        assert (await mark(crib))[0] == "vetoed"


async def test_nobody_is_asked_about_what_a_hook_denies(open_crib: Open, pre: Pre) -> None:
    person = Person()
    crib = open_crib(pre("exit 2"), mode="manual", interact=person)
    assert (await mark(crib))[0] == "vetoed"
    assert person.asked == []


async def test_it_is_for_the_tools_that_its_matcher_finds(open_crib: Open, pre: Pre) -> None:
    crib = open_crib(pre("exit 2", "^(Wr|Ed)"), pre("exit 2", "rep$"))
    assert (await mark(crib))[0] == "executed"
    outcomes = {
        name: (await crib.call(name, arguments)).outcome
        for name, arguments in {
            "Write": {"path": "a", "content": ""},
            "Edit": {"path": "a", "old_string": "a", "new_string": "b"},
            "Grep": {"pattern": "x"},
            "Glob": {"pattern": "*"},
        }.items()
    }
    assert outcomes == {
        "Write": "vetoed",
        "Edit": "vetoed",
        "Grep": "vetoed",
        "Glob": "executed",
    }


class TestAsk:
    @pytest.mark.parametrize("mode", ["manual", "yolo"])
    async def test_somebody_is_asked(
        self, open_crib: Open, pre: Pre, answers: Says, mode: str
    ) -> None:
        person = Person()
        hook = pre(answers("ask", "is it time?"))
        crib = open_crib(hook, mode=mode, permission={"allow": ["Bash"]}, interact=person)
        assert (await mark(crib))[0] == "executed"
        (asked,) = person.asked
        assert "is it time?" in str(asked.reason)
        assert set(asked.scopes) <= {"once", "session"}, "a written rule would not outdo the hook"

    async def test_a_no_is_a_no(self, open_crib: Open, pre: Pre, answers: Says) -> None:
        crib = open_crib(pre(answers("ask")), interact=Person("rejected"))
        assert (await mark(crib))[0] == "vetoed"

    @pytest.mark.parametrize("mode", ["manual", "yolo", "auto"])
    async def test_without_anybody_to_ask_it_is_denied(
        self, open_crib: Open, pre: Pre, answers: Says, mode: str
    ) -> None:
        outcome, text = await mark(open_crib(pre(answers("ask", "is it time?")), mode=mode))
        assert outcome == "vetoed"
        assert "is it time?" in text

    async def test_mode_auto_asks_nobody(self, open_crib: Open, pre: Pre, answers: Says) -> None:
        person = Person()
        crib = open_crib(pre(answers("ask")), mode="auto", interact=person)
        assert (await mark(crib))[0] == "vetoed"
        assert person.asked == []

    async def test_an_approval_for_the_session_holds(
        self, open_crib: Open, pre: Pre, answers: Says
    ) -> None:
        person = Person(scope="session")
        crib = open_crib(pre(answers("ask")), interact=person)
        for _ in range(2):
            assert (await crib.call("Bash", MARK)).outcome == "executed"
        assert len(person.asked) == 1

    async def test_no_plugin_can_allow_it(self, open_crib: Open, pre: Pre, answers: Says) -> None:
        class Generous:
            @toolcrib.hookimpl(tryfirst=True)
            def before_execute(self, call: toolcrib.ToolCall) -> toolcrib.Allow:
                return toolcrib.Allow()

        crib = open_crib(pre(answers("ask")), plugins=[Generous()])
        assert (await mark(crib))[0] == "vetoed"
        crib = open_crib(pre("exit 2"), plugins=[Generous()])
        assert (await mark(crib))[0] == "vetoed"


class TestAllow:
    async def test_it_stands_for_an_allow_rule(
        self, open_crib: Open, pre: Pre, answers: Says
    ) -> None:
        assert (await mark(open_crib(pre("true"), mode="manual")))[0] == "vetoed"
        assert (await mark(open_crib(pre(answers("allow")), mode="manual")))[0] == "executed"

    @pytest.mark.parametrize("rule", ["Bash", "Bash(touch *)", "Bash(touch marker)"])
    @pytest.mark.parametrize("decision", ["deny", "ask"])
    async def test_rules_that_deny_or_ask_are_stronger(
        self, open_crib: Open, pre: Pre, answers: Says, decision: str, rule: str
    ) -> None:
        for mode in ("manual", "yolo"):
            hook = pre(answers("allow", "I know better"))
            crib = open_crib(hook, mode=mode, permission={decision: [rule]})
            outcome, text = await mark(crib)
            assert outcome == "vetoed"
            assert rule in text

    async def test_so_is_the_guard_of_dangerous_commands(
        self, open_crib: Open, pre: Pre, answers: Says, workspace: Path
    ) -> None:
        crib = open_crib(pre(answers("allow")))
        done = await crib.call("Bash", command="rm -rf ~")
        assert done.outcome == "vetoed"

    async def test_so_is_the_question_about_the_configuration(
        self, open_crib: Open, pre: Pre, answers: Says, workspace: Path
    ) -> None:
        crib = open_crib(pre(answers("allow")))
        done = await crib.call("Write", path="toolcrib.toml", content="")
        assert done.outcome == "vetoed"
        assert not (workspace / "toolcrib.toml").exists()

    async def test_a_fault_that_is_left_out_allows_nothing(self, open_crib: Open, pre: Pre) -> None:
        crib = open_crib(pre("exit 1", on_error="allow"), mode="manual")
        assert (await mark(crib))[0] == "vetoed"


class TestSeveral:
    async def test_the_first_one_that_denies_gives_the_reason(
        self, open_crib: Open, pre: Pre, answers: Says
    ) -> None:
        """In the order of the configuration, not in that in which they end."""
        hooks = (
            pre(answers("allow", "yes")),
            pre(answers("ask", "perhaps")),
            pre("sleep 0.3; echo slow >&2; exit 2"),
            pre("echo fast >&2; exit 2"),
        )
        outcome, text = await mark(open_crib(*hooks))
        assert outcome == "vetoed"
        assert "slow" in text and "fast" not in text

    async def test_a_fault_counts_as_what_it_is_to_do(
        self, open_crib: Open, pre: Pre, answers: Says
    ) -> None:
        outcome, text = await mark(open_crib(pre(answers("allow", "yes")), pre("exit 3")))
        assert outcome == "vetoed"
        assert "exit code 3" in text
        outcome, text = await mark(
            open_crib(pre("exit 3", on_error="ask"), pre("echo no >&2; exit 2"))
        )
        assert "says 'deny': no" in text

    async def test_they_run_at_the_same_time(self, open_crib: Open, pre: Pre) -> None:
        """Each waits for the other."""
        hooks = (
            pre("touch a; until [ -e b ]; do sleep 0.01; done", timeout=20),
            pre("touch b; until [ -e a ]; do sleep 0.01; done", timeout=20),
        )
        assert (await mark(open_crib(*hooks)))[0] == "executed"

    async def test_the_same_command_runs_once(
        self, open_crib: Open, pre: Pre, workspace: Path
    ) -> None:
        command = "echo ran >> ran.txt"
        crib = open_crib(pre(command), pre(command, "Bash"), pre(command, "Gl"))
        assert (await mark(crib))[0] == "executed"
        assert (workspace / "ran.txt").read_text() == "ran\n"


async def test_it_is_given_the_call(open_crib: Open, pre: Pre, workspace: Path) -> None:
    crib = open_crib(pre("cat > given.json"))
    batch = [{"id": "c7", "name": "Bash", "arguments": {"command": "echo 'ä\ud800'"}}]
    async for done in crib.session.execute(batch, turn_id="t1"):
        assert done.outcome == "executed"
    assert json.loads((workspace / "given.json").read_text()) == {
        "hook_event_name": "PreToolUse",
        "session_id": crib.session.id,
        "cwd": str(workspace),
        "agent_id": "main",
        "turn_id": "t1",
        "tool_name": "Bash",
        "tool_input": {"command": "echo 'ä\ud800'"},
        "tool_call_id": "c7",
    }


async def test_a_context_becomes_a_note_of_the_result(
    open_crib: Open, pre: Pre, answers: Says
) -> None:
    crib = open_crib(
        pre(answers(None, additionalContext="mind the step")),
        pre(answers("allow", additionalContext="and the gap")),
    )
    done = await crib.call("Glob", pattern="*")
    assert done.outcome == "executed"
    assert "mind the step" in str(done.result.note)
    assert "and the gap" in str(done.result.note)


async def test_calls_of_a_batch_get_what_was_said_of_them(
    open_crib: Open, pre: Pre, workspace: Path
) -> None:
    script = workspace.parent / "judge.py"
    script.write_text(
        "import json, sys\n"
        "call = json.load(sys.stdin)\n"
        "number = call['tool_input']['command'].split()[-1]\n"
        "decision = {'0': 'allow', '1': 'deny', '2': None}[number]\n"
        "print(json.dumps({'hookSpecificOutput': {'permissionDecision': decision}}))\n"
    )
    crib = open_crib(pre(f"python3 {script}"), mode="manual")
    calls = [("Bash", {"command": f"echo {number}"}) for number in (0, 1, 2, 0)]
    done = await crib.batch(*calls)
    assert [d.outcome for d in done] == ["executed", "vetoed", "vetoed", "executed"]
    texts = [str(d.result.output) for d in done]
    assert "hook" in texts[1] and "needs an approval" in texts[2]


async def test_secrets_stay_out_of_what_is_said_and_logged(open_crib: Open, pre: Pre) -> None:
    events: list[Any] = []
    hooks = (
        pre("API_KEY=hunter2; echo password=hunter2 >&2; exit 1", "Bash"),
        pre("echo token: hunter2 >&2; exit 2", "Glob"),
    )
    crib = open_crib(*hooks)
    crib.session.subscribe(events.append)
    bash = await crib.call("Bash", command="echo")
    listing = await crib.call("Glob", pattern="*")
    assert bash.outcome == listing.outcome == "vetoed"
    failures = crib.session.crib.plugins.failures
    assert failures
    assert "hunter2" not in repr((bash, listing, events, failures))


async def test_a_cancelled_call_ends_its_hook(
    open_crib: Open, pre: Pre, workspace: Path, gone: Callable[[int], bool]
) -> None:
    crib = open_crib(pre("echo $$ > pid; sleep 60 & sleep 60"))
    calling = asyncio.create_task(crib.call("Bash", MARK))
    while not (workspace / "pid").exists() or not (workspace / "pid").read_text().strip():
        await asyncio.sleep(0.01)
    crib.session.cancel()
    assert (await calling).outcome == "aborted"
    group = int((workspace / "pid").read_text())
    async with asyncio.timeout(20):
        while not gone(group):
            await asyncio.sleep(0.01)
    assert not (workspace / "marker").exists()


async def test_a_call_that_is_cancelled_while_its_hook_starts_ends_it(
    open_crib: Open, pre: Pre, workspace: Path, gone: Callable[[int], bool]
) -> None:
    crib = open_crib(pre("sleep 60 & echo $$ > pid; sleep 60"))
    calling = asyncio.create_task(crib.call("Bash", MARK))
    before = set(psutil.Process().children())
    while set(psutil.Process().children()) <= before:
        await asyncio.sleep(0)
    while not (workspace / "pid").exists() or not (workspace / "pid").read_text().strip():
        time.sleep(0.01)  # while the loop has not yet noticed that it runs
    crib.session.cancel()
    assert (await calling).outcome == "aborted"
    group = int((workspace / "pid").read_text())
    async with asyncio.timeout(20):
        while not gone(group):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
async def test_nothing_of_a_hook_is_left_running(
    open_crib: Open, pre: Pre, workspace: Path, gone: Callable[[int], bool], trap: str
) -> None:
    """Neither what it left in the background, nor one that ignores SIGTERM after its time-out."""
    crib = open_crib(
        pre(f"{trap}echo $$ > pid1; sleep 60 & true", "Bash"),
        pre(f"{trap}echo $$ > pid2; while true; do sleep 0.05; done", "Glob", timeout=1),
    )
    assert (await crib.call("Bash", MARK)).outcome == "executed"
    assert (await crib.call("Glob", pattern="*")).outcome == "vetoed"
    for name in ("pid1", "pid2"):
        assert gone(int((workspace / name).read_text()))
