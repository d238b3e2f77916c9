"""Rules with examples are held to them when a session takes them up."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib.config.permission import PermissionRule
from toolcrib.paths import Workspace
from toolcrib.permissions.examples import checked

TOOLS = {"Bash": "shell", "Write": "write", "Read": "read", "FetchURL": "web"}
WORKSPACE = Workspace(root="/ws", home_dir="/home/u")


def rule(pattern: str, decision: Any = "allow", **examples: tuple[str, ...]) -> PermissionRule:
    return PermissionRule(
        decision=decision,
        pattern=pattern,
        source="/ws/toolcrib.toml:3",
        **examples,  # type: ignore[arg-type]
    )


GOOD = [
    rule("Bash(git status*)", match=("git status -s",), no_match=("git push",)),
    rule("Bash(git status*)", no_match=("git status && rm -rf x", "git status $(rm x)")),
    rule("Bash(rm *)", "deny", match=("rm x", "ls; rm x", "sudo rm x"), no_match=("ls rm",)),
    rule("Write(src/**)", match=("src/a.py", "/ws/src/deep/a.py"), no_match=("lib/a.py",)),
    rule("FetchURL(https://a.example/*)", match=("https://a.example/b/c",)),
    rule("Read", match=("anything",)),
    rule("mcp__a__b"),
]


@pytest.mark.parametrize("good", GOOD, ids=lambda each: each.pattern)
def test_a_rule_that_keeps_its_word_is_in_force(good: PermissionRule) -> None:
    assert checked([good], TOOLS, WORKSPACE) == ((good,), ())


BAD: list[dict[str, Any]] = [
    {"pattern": "Bash(git status*)", "match": ("git push",)},
    {"pattern": "Bash(git *)", "no_match": ("git push",)},
    {"pattern": "Bash(git *)", "no_match": ("ls", "git -C / push")},
    {"pattern": "Write(src/*)", "match": ("src/deep/a.py",)},
    {"pattern": "Write(src/**)", "no_match": ("/ws/src/a.py",)},
    {"pattern": "Read", "no_match": ("secret.txt",)},
]


@pytest.mark.parametrize("bad", BAD, ids=lambda each: each["pattern"])
def test_an_allow_rule_that_does_not_grants_nothing(bad: dict[str, Any]) -> None:
    kept, (notice,) = checked([rule(**bad)], TOOLS, WORKSPACE)
    assert kept == ()
    assert (notice.file, notice.line) == ("/ws/toolcrib.toml", 3)
    assert bad["pattern"] in notice.text


@pytest.mark.parametrize("decision", ["deny", "ask"])
@pytest.mark.parametrize("bad", BAD, ids=lambda each: each["pattern"])
def test_a_rule_that_takes_away_stays_in_force(bad: dict[str, Any], decision: str) -> None:
    broken = rule(decision=decision, **bad)
    kept, (notice,) = checked([broken], TOOLS, WORKSPACE)
    assert kept == (broken,)
    assert (notice.file, notice.line) == ("/ws/toolcrib.toml", 3)


def test_rules_keep_their_order_and_do_not_need_examples() -> None:
    rules = [rule("Bash(a)"), rule("Bash(b)", match=("c",)), rule("Bash(d)", match=("d",))]
    kept, notices = checked(rules, TOOLS, WORKSPACE)
    assert kept == (rules[0], rules[2])
    assert len(notices) == 1
