"""Which policy, rule or plugin decides on a call, and what becomes of the call then."""

from __future__ import annotations

import ast
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, get_args

import pytest

import toolcrib
from toolcrib.contract.hooks import PolicyName
from toolcrib.explain import explain_call
from toolcrib.permissions import policies
from toolcrib.permissions.policies import Judgement
from toolcrib.testing import ToolHarness

Check = Callable[..., Any]
Open = Callable[..., ToolHarness]

POLICIES = get_args(PolicyName)


@toolcrib.tool(accesses=toolcrib.Accesses.none())
def Echo(text: str) -> str:
    """Say the same."""
    return text


class Touch(toolcrib.Tool[Any]):
    """Declares that it writes a file, and does nothing."""

    name = "Touch"
    description = "Touch a file."
    Input: ClassVar[Any] = {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    }

    def resolve_execution(self, args: Any) -> toolcrib.Execution:
        async def execute(context: toolcrib.ToolContext) -> toolcrib.ToolResult:
            return toolcrib.ToolResult("touched")

        return toolcrib.RunnableExecution(
            execute,
            approval_rule=toolcrib.literal_rule("Touch", args["path"]),
            accesses=toolcrib.Accesses.write(args["path"]),
            matches_rule=toolcrib.text_matcher(args["path"]),
        )


class Tools:
    @toolcrib.hookimpl
    def contribute_tool(self) -> list[toolcrib.ToolContribution]:
        return [
            toolcrib.ToolContribution(name="Echo", factory=Echo),
            toolcrib.ToolContribution(name="Touch", factory=Touch),
        ]


def checking(name: str, answer: Any, **marks: Any) -> SimpleNamespace:
    """A plugin whose `check_permission` gives or calls `answer`."""

    def check_permission(call: Any) -> Any:
        return answer(call) if callable(answer) else answer

    return SimpleNamespace(
        __name__=name, check_permission=toolcrib.hookimpl(**marks)(check_permission)
    )


@pytest.fixture
async def open_crib(workspace: Path, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens sessions with rules, checks and a mode; they are closed after the test."""
    opened: list[ToolHarness] = []

    def open_crib(
        *plugins: object, mode: Any = "manual", permission: Any = None, **more: Any
    ) -> ToolHarness:
        harness = ToolHarness(
            workspace,
            home=tmp_path,
            mode=mode,
            plugins=[Tools(), *plugins],
            config={"permission": permission or {}},
            **more,
        )
        opened.append(harness)
        return harness

    yield open_crib
    for harness in opened:
        await harness.aclose()


async def judged(crib: ToolHarness, name: str, **arguments: Any) -> Judgement:
    return await explain_call(crib.session.main, {"name": name, "arguments": arguments})


class TestTheOrderOfPolicies:
    """Deny, mode auto, ask, allow, sensitive files, mode yolo, reading tools, asking."""

    @pytest.mark.parametrize("mode", ["manual", "yolo", "auto"])
    async def test_a_deny_rule_decides_in_every_mode(self, open_crib: Open, mode: str) -> None:
        rules = {"allow": ["Echo"], "ask": ["Echo"], "deny": ["Echo"]}
        found = await judged(open_crib(mode=mode, permission=rules), "Echo", text="x")
        assert (found.decision, found.policy, found.rule) == (
            "deny",
            "user-configured-deny",
            "Echo",
        )

    async def test_mode_auto_asks_nobody(self, open_crib: Open) -> None:
        found = await judged(open_crib(mode="auto", permission={"ask": ["Echo"]}), "Echo", text="x")
        assert (found.decision, found.policy) == ("allow", "auto-mode-approve")

    @pytest.mark.parametrize("mode", ["manual", "yolo"])
    async def test_an_ask_rule_beats_an_allow_rule(self, open_crib: Open, mode: str) -> None:
        rules = {"allow": ["Echo"], "ask": ["Echo"]}
        found = await judged(open_crib(mode=mode, permission=rules), "Echo", text="x")
        assert (found.decision, found.policy) == ("ask", "user-configured-ask")

    async def test_an_allow_rule_silences_the_question_about_secrets(self, open_crib: Open) -> None:
        asking, allowing = open_crib(mode="yolo"), open_crib(permission={"allow": ["Touch"]})
        found = await judged(asking, "Touch", path="/home/me/.netrc")
        assert (found.decision, found.policy) == ("ask", "sensitive-file-access-ask")
        found = await judged(allowing, "Touch", path="/home/me/.netrc")
        assert (found.decision, found.policy) == ("allow", "user-configured-allow")

    async def test_mode_yolo_approves_what_nothing_asks_about(self, open_crib: Open) -> None:
        found = await judged(open_crib(mode="yolo"), "Echo", text="x")
        assert (found.decision, found.policy) == ("allow", "yolo-mode-approve")

    async def test_builtin_tools_that_only_read_need_no_question(self, open_crib: Open) -> None:
        crib = open_crib()
        found = await judged(crib, "Read", path="a.txt")
        assert (found.decision, found.policy) == ("allow", "default-tool-approve")
        for name, arguments in [
            ("Write", {"path": "a.txt", "content": ""}),
            ("Bash", {"command": "true"}),
            ("Echo", {"text": "x"}),
        ]:
            found = await judged(crib, name, **arguments)
            assert (found.decision, found.policy) == ("ask", "fallback-ask")

    @pytest.mark.parametrize("mode", ["manual", "yolo"])
    @pytest.mark.parametrize("name", [".netrc", ".npmrc", ".ssh/deploy", "a.p12", ".kube/config"])
    async def test_a_file_that_often_holds_secrets_is_asked_about(
        self, open_crib: Open, mode: str, name: str
    ) -> None:
        found = await judged(open_crib(mode=mode), "Read", path=name)
        assert (found.decision, found.policy) == ("ask", "sensitive-file-access-ask")

    async def test_mode_auto_denies_secrets_without_an_allow_rule(self, open_crib: Open) -> None:
        found = await judged(open_crib(mode="auto"), "Touch", path="/home/me/.netrc")
        assert (found.decision, found.policy) == ("deny", "auto-mode-secret-deny")
        lenient = open_crib(mode="auto", permission={"auto_respects_ask": False})
        allowing = open_crib(mode="auto", permission={"allow": ["Touch"]})
        for crib in (lenient, allowing):
            found = await judged(crib, "Touch", path="/home/me/.netrc")
            assert (found.decision, found.policy) == ("allow", "auto-mode-approve")

    async def test_the_rules_that_lost_are_told(self, open_crib: Open) -> None:
        rules = {"allow": ["Echo"], "ask": ["Echo", "E*"], "deny": ["Touch"]}
        found = await judged(open_crib(permission=rules), "Echo", text="x")
        assert found.rule == "Echo"
        decisions = [told.split(" (")[0] for told in found.overridden]
        assert sorted(decisions) == ["allow Echo", "ask E*"]


class TestPlugins:
    @pytest.mark.parametrize("mode", ["manual", "yolo", "auto"])
    @pytest.mark.parametrize("place", [{}, *({"before": p} for p in POLICIES), {"tryfirst": True}])
    async def test_a_deny_rule_beats_every_approval(
        self, open_crib: Open, mode: str, place: dict[str, Any]
    ) -> None:
        crib = open_crib(
            checking("eager", toolcrib.Approve(), **place),
            mode=mode,
            permission={"deny": ["Echo"]},
        )
        assert (await judged(crib, "Echo", text="x")).policy == "user-configured-deny"
        done = await crib.call("Echo", text="x")
        assert (done.outcome, done.result.is_error) == ("vetoed", True)

    async def test_a_deny_rule_beats_allow(self, open_crib: Open) -> None:
        class Trusting:
            @toolcrib.hookimpl
            def before_execute(self, call: Any) -> toolcrib.Allow:
                return toolcrib.Allow()

        crib = open_crib(Trusting(), permission={"deny": ["Touch"]})
        assert (await crib.call("Echo", text="x")).outcome == "executed"
        assert (await crib.call("Touch", path="a")).outcome == "vetoed"

    async def test_the_first_opinion_decides(self, open_crib: Open) -> None:
        crib = open_crib(
            checking("last", toolcrib.Deny("never"), trylast=True),
            checking("middle", toolcrib.Approve("fine")),
            checking("first", None, tryfirst=True),
        )
        found = await judged(crib, "Echo", text="x")
        assert (found.decision, found.policy, found.source) == ("allow", "middle", "middle")
        assert found.reason == "fine"

    async def test_marks_order_the_plugins(self, open_crib: Open) -> None:
        asked: list[str] = []

        def watch(name: str, **marks: Any) -> SimpleNamespace:
            return checking(name, lambda call: asked.append(name), **marks)

        crib = open_crib(
            watch("last", trylast=True),
            watch("early"),
            watch("late"),
            watch("first", tryfirst=True),
        )
        await judged(crib, "Echo", text="x")
        assert asked == ["first", "late", "early", "last"]

    async def test_only_calls_of_its_tools_reach_a_check(self, open_crib: Open) -> None:
        crib = open_crib(checking("narrow", toolcrib.Deny(), tools=["Touch"]), mode="yolo")
        assert (await crib.call("Echo", text="x")).outcome == "executed"
        assert (await crib.call("Touch", path="a")).outcome == "vetoed"

    async def test_answers_may_be_awaited(self, open_crib: Open) -> None:
        async def slowly(call: Any) -> toolcrib.Approve:
            return toolcrib.Approve()

        assert (await open_crib(checking("slow", slowly)).call("Echo", text="x")).outcome == (
            "executed"
        )

    @pytest.mark.parametrize(
        "answer",
        [True, "yes", toolcrib.Veto("x"), toolcrib.Allow(), toolcrib.Approve, 0, ...],
        ids=repr,
    )
    async def test_an_answer_of_another_kind_denies(self, open_crib: Open, answer: Any) -> None:
        crib = open_crib(checking("rubbish", lambda call: answer), mode="yolo")
        await self._denied_and_named(crib, "rubbish")

    @pytest.mark.parametrize("error", [RuntimeError("no idea"), SystemExit(3)], ids=repr)
    @pytest.mark.parametrize("slow", [False, True])
    async def test_a_raising_check_denies(
        self, open_crib: Open, error: BaseException, slow: bool
    ) -> None:
        def fail(call: Any) -> Any:
            raise error

        async def fail_slowly(call: Any) -> Any:
            raise error

        crib = open_crib(checking("broken", fail_slowly if slow else fail), mode="yolo")
        await self._denied_and_named(crib, "broken")

    async def test_what_only_ends_generators_denies_too(self, open_crib: Open) -> None:
        def fail(call: Any) -> Any:
            raise GeneratorExit

        await self._denied_and_named(open_crib(checking("odd", fail), mode="yolo"), "odd")

    async def _denied_and_named(self, crib: ToolHarness, plugin: str) -> None:
        events: list[Any] = []
        crib.session.subscribe(events.append)
        done = await crib.call("Echo", text="x")
        assert (done.outcome, done.result.is_error) == ("vetoed", True)
        assert plugin in str(done.result.output)
        assert [e.plugin for e in events if e.type == "plugin.problem"] == [plugin]
        assert plugin in {failure.plugin for failure in crib.session.crib.plugins.failures}


class TestPlaces:
    """`before` and `after` put a check among the policies."""

    @pytest.mark.parametrize(
        ("mode", "permission", "path", "decides"),
        [
            ("auto", {}, "a", "auto-mode-approve"),
            ("manual", {"ask": ["Touch"]}, "a", "user-configured-ask"),
            ("manual", {"allow": ["Touch"]}, "a", "user-configured-allow"),
            ("yolo", {}, "/home/me/.netrc", "sensitive-file-access-ask"),
            ("yolo", {}, "a", "yolo-mode-approve"),
            ("manual", {}, "a", "fallback-ask"),
        ],
    )
    async def test_a_check_has_its_say_exactly_where_it_is_put(
        self, open_crib: Open, mode: str, permission: Any, path: str, decides: str
    ) -> None:
        """It beats the policy that would decide if it stands in front of it, else it does not."""
        position = POLICIES.index(decides)
        for place, policy in enumerate(POLICIES[1:], 1):
            for side in ("before", "after"):
                check = checking("placed", toolcrib.Deny(), **{side: policy})
                crib = open_crib(check, mode=mode, permission=permission)
                found = await judged(crib, "Touch", path=path)
                first = place < position or (place == position and side == "before")
                assert found.policy == ("placed" if first else decides), (side, policy)

    async def test_without_a_place_it_stands_right_behind_the_deny_rules(
        self, open_crib: Open
    ) -> None:
        asked: list[str] = []

        def watch(name: str, **marks: Any) -> SimpleNamespace:
            return checking(name, lambda call: asked.append(name), **marks)

        crib = open_crib(
            watch("fallback", before="fallback-ask", tryfirst=True),
            watch("auto", before="auto-mode-approve"),
            watch("allow", after="user-configured-allow"),
            watch("anywhere", trylast=True),
            watch("front", before="user-configured-deny"),
            watch("deny", after="user-configured-deny"),
        )
        await judged(crib, "Echo", text="x")
        assert asked == ["deny", "front", "anywhere", "auto", "allow", "fallback"]

    @pytest.mark.parametrize(
        ("marks", "near"),
        [
            ({"before": "yolo-mode-aprove"}, "yolo-mode-approve"),
            ({"after": "zzz"}, "fallback-ask"),
            ({"before": "user-configured-deny"}, "user-configured-ask"),
        ],
    )
    async def test_a_place_that_there_is_not_is_reported_and_the_usual_one_used(
        self, open_crib: Open, marks: dict[str, Any], near: str
    ) -> None:
        crib = open_crib(checking("lost", toolcrib.Approve(), **marks))
        (failure,) = crib.session.crib.plugins.failures
        assert failure.plugin == "lost"
        assert next(iter(marks.values())) in failure.reason and near in failure.reason
        assert crib.session.crib.plugins.records["lost"].status == "loaded"
        assert (await judged(crib, "Echo", text="x")).policy == "lost"

    def test_two_places_are_refused(self) -> None:
        with pytest.raises(TypeError):
            toolcrib.hookimpl(before="fallback-ask", after="user-configured-ask")


class TestNobodyToAsk:
    COMMANDS = (
        "git status",
        "ls | wc -l",
        "echo {a,b} [c] (d) !e @f +g",
        "x='a b'; rm *",
        "a\nb",
        "sort '\\n'",
    )

    @pytest.mark.parametrize("command", COMMANDS)
    async def test_the_rule_that_the_denial_names_allows_the_call(
        self, open_crib: Open, command: str
    ) -> None:
        done = await open_crib().call("Bash", command=command)
        assert (done.outcome, done.result.is_error) == ("vetoed", True)
        named = re.search(r"allow it with (.*) under", str(done.result.output), re.DOTALL)
        assert named is not None
        rules = [ast.literal_eval(rule) for rule in named[1].split(" and ")]
        crib = open_crib(permission={"allow": rules})
        assert (await judged(crib, "Bash", command=command)).policy == "user-configured-allow"
        assert (await judged(crib, "Bash", command=command + " x")).decision == "ask"

    async def test_no_rule_is_named_where_none_would_help(self, open_crib: Open) -> None:
        by_rule = open_crib(permission={"ask": [{"pattern": "Echo", "reason": "it is loud"}]})
        by_plugin = open_crib(checking("prudent", toolcrib.Ask("it is loud")))
        for crib, who in ((by_rule, "'Echo'"), (by_plugin, "'prudent'")):
            text = str((await crib.call("Echo", text="x")).result.output)
            assert who in text and "it is loud" in text
            assert "[permission] allow" not in text


PLAIN_WORDS = ["git status", "git log --oneline -5", "git diff HEAD^ -- a/b.txt"]
ONE_COMMAND = [
    "git status &",
    "git status \\\nrm x",
    "git status ${X}",
    "git status $X",
    "git status $((1+1))",
    "git status < x",
    "git status << E\nrm x\nE",
    "git status <<< x",
    "git status 'x'",
    'git status "x"',
    "git status $'x'",
    "git status \\; rm x",
    "git status *",
    "git status ?",
    "git status [ab]",
    "git status {a,b}",
    "git status ~/x",
    "git status !x",
    "git status #x",
    "git -c core.pager=x status",
    "git status --x=y",
]
"""Shell syntax around or inside one command."""
MORE_THAN_IT = [
    "git status; rm x",
    "git status;rm x",
    "git status && rm x",
    "git status || rm x",
    "git status & rm x",
    "git status | sh",
    "git status |& sh",
    "git status\nrm x",
    "git status\r\nrm x",
    "git status $(rm x)",
    "git status `rm x`",
    "git status > x",
    "git status >> x",
    "git status 2> x",
    "git status >| x",
    "git status &> x",
    "git status <(rm x)",
    "git status >(rm x)",
    'git status "$(rm x)"',
    "git status (x)",
    "PAGER=x git status",
    "git status; (rm x)",
    "git() { rm x; }; git status",
]
"""What runs another command too, writes a file or is no command at all."""
SHELL_SYNTAX = [*ONE_COMMAND, *MORE_THAN_IT]


class TestCommandsUnderPatterns:
    """A pattern vouches for the commands that it matches, and for nothing else in the script."""

    @pytest.mark.parametrize("command", ONE_COMMAND)
    async def test_an_allow_pattern_covers_one_command_however_it_is_written(
        self, open_crib: Open, command: str
    ) -> None:
        crib = open_crib(permission={"allow": ["Bash(git *)"]})
        assert (await judged(crib, "Bash", command=command)).decision == "allow"

    @pytest.mark.parametrize("command", MORE_THAN_IT)
    async def test_an_allow_pattern_covers_nothing_beside_its_command(
        self, open_crib: Open, command: str
    ) -> None:
        crib = open_crib(permission={"allow": ["Bash(git *)"]})
        assert (await judged(crib, "Bash", command=command)).decision == "ask"

    @pytest.mark.parametrize("command", SHELL_SYNTAX)
    async def test_deny_and_ask_patterns_cover_it(self, open_crib: Open, command: str) -> None:
        for decision in ("deny", "ask"):
            crib = open_crib(permission={decision: ["Bash(*git*)"]}, mode="yolo")
            assert (await judged(crib, "Bash", command=command)).decision == decision

    @pytest.mark.parametrize("command", SHELL_SYNTAX)
    async def test_its_exact_text_can_be_allowed(self, open_crib: Open, command: str) -> None:
        crib = open_crib(permission={"allow": [toolcrib.literal_rule("Bash", command)]})
        assert (await judged(crib, "Bash", command=command)).decision == "allow"

    @pytest.mark.parametrize("command", PLAIN_WORDS)
    async def test_plain_words_are_covered(self, open_crib: Open, command: str) -> None:
        crib = open_crib(permission={"allow": ["Bash(git *)"]})
        assert (await judged(crib, "Bash", command=command)).decision == "allow"
        assert (await judged(crib, "Bash", command=f"sudo {command}")).decision == "ask"

    async def test_the_bare_tool_allows_everything(self, open_crib: Open) -> None:
        crib = open_crib(permission={"allow": ["Bash"]})
        for command in SHELL_SYNTAX:
            assert (await judged(crib, "Bash", command=command)).decision == "allow"

    async def test_a_failing_matcher_counts_against_the_call(self, open_crib: Open) -> None:
        class Odd(toolcrib.Tool[Any]):
            name, description, Input = "Odd", "Has a broken matcher.", {"type": "object"}

            def resolve_execution(self, args: Any) -> toolcrib.Execution:
                def matches(pattern: str) -> bool:
                    raise RuntimeError("no idea")

                async def execute(context: Any) -> toolcrib.ToolResult:
                    return toolcrib.ToolResult("ran")

                return toolcrib.RunnableExecution(execute, "Odd", matches_rule=matches)

        class Offers:
            @toolcrib.hookimpl
            def contribute_tool(self) -> toolcrib.ToolContribution:
                return toolcrib.ToolContribution(name="Odd", factory=Odd)

        for decision, expected in (("allow", "ask"), ("ask", "ask"), ("deny", "deny")):
            crib = open_crib(Offers(), permission={decision: ["Odd(x)"]})
            assert (await judged(crib, "Odd")).decision == expected


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Echo", {"text": "x"}),
    ("Echo", {"wrong": 1}),
    ("Touch", {"path": "a"}),
    ("Touch", {"path": "/home/me/.netrc"}),
    ("Read", {"path": "a.txt"}),
    ("Read", {"path": ".env"}),
    ("Read", {"path": ".npmrc"}),
    ("Read", {"path": "../up.txt"}),
    ("Write", {"path": "new.txt", "content": "x"}),
    ("Bash", {"command": "true"}),
    ("Bash", {"command": "true; true"}),
    ("Nobody", {}),
)
RULES: tuple[dict[str, Any], ...] = (
    {},
    {"deny": ["Echo", "Read(a.txt)"], "allow": ["Bash"]},
    {"ask": ["Touch", "Bash(true)"], "allow": ["*"]},
    {"allow": ["Bash(tr*)", "Touch(a)", "Read(.npmrc)"], "auto_respects_ask": False},
)
CHECKS: tuple[tuple[object, ...], ...] = (
    (),
    (checking("denier", toolcrib.Deny(), tools=["Write"]),),
    (checking("approver", toolcrib.Approve(), before="fallback-ask"),),
    (checking("silent", None), checking("asker", toolcrib.Ask(), after="user-configured-ask")),
)


@pytest.mark.parametrize("mode", ["manual", "yolo", "auto"])
@pytest.mark.parametrize("permission", RULES, ids=range(len(RULES)))
@pytest.mark.parametrize("checks", CHECKS, ids=range(len(CHECKS)))
async def test_what_is_explained_is_what_happens(
    open_crib: Open, workspace: Path, mode: str, permission: Any, checks: tuple[object, ...]
) -> None:
    (workspace / "a.txt").write_text("a")
    (workspace / ".npmrc").write_text("a")
    crib = open_crib(*checks, mode=mode, permission=permission)
    for name, arguments in CALLS:
        found = await explain_call(crib.session.main, {"name": name, "arguments": arguments})
        done = await crib.call(name, arguments)
        if done.outcome in ("executed", "vetoed"):
            assert (found.decision == "allow") == (done.outcome == "executed"), (name, found)
        else:
            assert (found.decision, found.policy) == ("deny", done.outcome)
            assert found.reason == done.result.output


async def test_explaining_runs_nothing(open_crib: Open, workspace: Path) -> None:
    crib = open_crib(mode="yolo")
    found = await judged(crib, "Write", path="new.txt", content="x")
    assert found.decision == "allow"
    assert not (workspace / "new.txt").exists()


def test_every_policy_that_can_be_named_is_asked() -> None:
    assert tuple(policies.POLICIES) == POLICIES
