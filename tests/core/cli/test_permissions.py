"""`toolcrib permissions` lists what is allowed where, and takes it back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from toolcrib.approvals.store import SessionApprovals

if TYPE_CHECKING:
    from core.cli.conftest import Cli

RULE, OTHER = "Bash(make test)", "Write(/ws/a.txt)"


@pytest.fixture
def running(cli: Cli) -> Iterator[Callable[..., SessionApprovals]]:
    """Approvals of sessions that run as long as the test does."""
    opened: list[SessionApprovals] = []

    def run(session: str, *rules: str) -> SessionApprovals:
        file = cli.home / "state" / "toolcrib" / "approvals.db"
        approvals = SessionApprovals(file, session, str(cli.workspace))
        approvals.remember(rules, tool="Bash", agent="main")
        opened.append(approvals)
        return approvals

    yield run
    for approvals in opened:
        approvals.close()


def patterns(approvals: SessionApprovals) -> list[str]:
    return [rule.pattern for rule in approvals.rules()]


def listed(cli: Cli, *options: str) -> dict[str, Any]:
    ran = cli("permissions", "list", "--json", *options)
    assert ran.status == 0
    found: dict[str, Any] = ran.json
    return found


def trust_project(cli: Cli, text: str) -> Path:
    file = cli.workspace / "toolcrib.toml"
    file.write_text(text)
    assert cli("trust").status == 0
    return file


def test_without_anything_the_lists_are_empty(cli: Cli) -> None:
    assert listed(cli) == {"approvals": [], "rules": []}
    ran = cli("permissions", "list")
    assert (ran.status, ran.out) == (0, "")


def test_approvals_of_running_sessions_are_listed(
    cli: Cli, running: Callable[..., SessionApprovals]
) -> None:
    running("s1", RULE, OTHER)
    running("s2", RULE).close()
    first, second = listed(cli)["approvals"]
    assert (first["rule"], second["rule"]) == (RULE, OTHER)
    assert (first["session"], first["workspace"]) == ("s1", str(cli.workspace))
    assert (first["tool"], first["agent"]) == ("Bash", "main")
    assert first["id"] != second["id"]
    assert "T" in first["since"]


def test_rules_are_listed_with_their_place(cli: Cli) -> None:
    user = cli.configure(
        f'[permission]\nallow = ["{RULE}"]\n'
        '[[permission.rules]]\ndecision = "deny"\npattern = "Bash(rm *)"\nreason = "never"\n'
        '[profiles.careful]\nask = ["Write"]\n'
    )
    project = trust_project(cli, '[permission]\nask = ["Bash(git *)"]\n')
    rules = listed(cli, "--profile", "careful")["rules"]
    assert rules == [
        {
            "decision": "deny",
            "rule": "Bash(rm *)",
            "source": f"{user}:3",
            "scope": "user",
            "reason": "never",
        },
        {
            "decision": "allow",
            "rule": RULE,
            "source": f"{user}:2",
            "scope": "user",
            "reason": None,
        },
        {
            "decision": "ask",
            "rule": "Bash(git *)",
            "source": f"{project}:2",
            "scope": "project",
            "reason": None,
        },
        {
            "decision": "ask",
            "rule": "Write",
            "source": f"{user}:8",
            "scope": "profile careful",
            "reason": None,
        },
    ]


def test_a_rule_that_contradicts_its_examples_is_no_rule_in_force(cli: Cli) -> None:
    user = cli.configure('[permission]\nallow = [{ pattern = "Bash(ls)", match = ["rm x"] }]\n')
    ran = cli("permissions", "list", "--json")
    assert ran.json["rules"] == []
    assert f"{user}:2" in ran.err and "rm x" in ran.err


def test_the_lists_for_people_have_the_same(
    cli: Cli, running: Callable[..., SessionApprovals]
) -> None:
    user = cli.configure('[permission]\ndeny = ["Bash(rm *)"]\n')
    running("s1", RULE)
    ran = cli("permissions", "list")
    approval, rule = ran.out.splitlines()
    assert RULE in approval and "s1" in approval
    assert "deny" in rule and f"{user}:2" in rule


def test_a_rule_with_control_characters_does_not_reach_the_terminal(
    cli: Cli, running: Callable[..., SessionApprovals]
) -> None:
    running("s1", "Bash(echo \x1b[2J)")
    assert "\x1b" not in cli("permissions", "list").out
    assert "\x1b" not in cli("permissions", "revoke", "--all").out


def test_an_approval_is_revoked_by_its_id(
    cli: Cli, running: Callable[..., SessionApprovals]
) -> None:
    approvals = running("s1", RULE, OTHER)
    number = next(a["id"] for a in listed(cli)["approvals"] if a["rule"] == RULE)
    ran = cli("permissions", "revoke", str(number))
    assert ran.status == 0
    assert RULE in ran.out and "s1" in ran.out
    assert patterns(approvals) == [OTHER]


def test_approvals_are_revoked_by_their_rule_in_all_sessions_or_one(
    cli: Cli, running: Callable[..., SessionApprovals]
) -> None:
    first, second, third = (running(f"s{number}", RULE) for number in (1, 2, 3))
    assert cli("permissions", "revoke", RULE, "--session", "s2").status == 0
    assert [patterns(a) for a in (first, second, third)] == [[RULE], [], [RULE]]
    assert cli("permissions", "revoke", RULE).status == 0
    assert [patterns(a) for a in (first, third)] == [[], []]


def test_all_approvals_are_revoked_at_once_and_no_rules(
    cli: Cli, running: Callable[..., SessionApprovals]
) -> None:
    user = cli.configure(f'[permission]\nallow = ["{RULE}"]\n')
    first, second = running("s1", RULE, OTHER), running("s2", RULE)
    assert cli("permissions", "revoke", "--all", "--session", "s1").status == 0
    assert (patterns(first), patterns(second)) == ([], [RULE])
    assert cli("permissions", "revoke", "--all").status == 0
    assert patterns(second) == []
    assert RULE in user.read_text()


def test_a_rule_for_good_is_taken_out_of_the_files(cli: Cli) -> None:
    user = cli.configure(f'# mine\n[permission]\nallow = [\n  "Read", # r\n  "{RULE}",\n]\n')
    project = trust_project(cli, f"[permission]\nallow = '{RULE}'\n")
    ran = cli("permissions", "revoke", RULE)
    assert ran.status == 0
    assert f"{user}:5" in ran.out and f"{project}:2" in ran.out
    assert user.read_text() == '# mine\n[permission]\nallow = [\n  "Read", # r\n]\n'
    assert project.read_text() == "[permission]\nallow = []\n"
    assert [rule["rule"] for rule in listed(cli)["rules"]] == ["Read"]


def test_the_workspace_option_names_the_project(cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "toolcrib.toml").write_text(f'[permission]\nallow = ["{RULE}"]\n')
    assert cli("permissions", "revoke", RULE).status == 1
    assert cli("permissions", "revoke", RULE, "--workspace", str(other)).status == 0
    assert RULE not in (other / "toolcrib.toml").read_text()


def test_a_session_that_is_named_leaves_the_files_alone(cli: Cli) -> None:
    user = cli.configure(f'[permission]\nallow = ["{RULE}"]\n')
    assert cli("permissions", "revoke", RULE, "--session", "s1").status == 1
    assert RULE in user.read_text()


@pytest.mark.parametrize("decision", ["deny", "ask"])
def test_rules_that_deny_or_ask_are_not_taken_away(cli: Cli, decision: str) -> None:
    text = f'[permission]\n{decision} = ["{RULE}"]\n'
    user = cli.configure(text)
    ran = cli("permissions", "revoke", RULE)
    assert ran.status == 1
    assert decision in ran.err and f"{user}:2" in ran.err
    assert user.read_text() == text


def test_a_rule_of_a_profile_is_named_and_stays(cli: Cli) -> None:
    text = f'[profiles.fast]\nallow = ["{RULE}"]\n'
    user = cli.configure(text)
    ran = cli("permissions", "revoke", RULE)
    assert ran.status == 1
    assert f"{user}:2" in ran.err
    assert user.read_text() == text


@pytest.mark.parametrize(
    "target", [("Bash(never)",), ("12345",), ("--all",), ("7", "--session", "s")]
)
def test_nothing_to_revoke_is_said_and_shows_in_the_status(
    cli: Cli, target: tuple[str, ...]
) -> None:
    ran = cli("permissions", "revoke", *target)
    assert (ran.status, ran.out) == (1, "")
    assert "nothing was revoked" in ran.err


@pytest.mark.parametrize("arguments", [(), (RULE, "--all")])
def test_either_a_target_or_all_is_needed(cli: Cli, arguments: tuple[str, ...]) -> None:
    assert cli("permissions", "revoke", *arguments).status == 2


def test_a_damaged_file_of_approvals_is_named(cli: Cli) -> None:
    file = cli.home / "state" / "toolcrib" / "approvals.db"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"rubbish" * 1000)
    for arguments in (("list",), ("revoke", "--all")):
        ran = cli("permissions", *arguments)
        assert ran.status == 2
        assert str(file) in ran.err and "Traceback" not in ran.err


def test_a_file_with_errors_is_named_and_not_touched(cli: Cli) -> None:
    user = cli.configure("[permission\n")
    ran = cli("permissions", "revoke", RULE)
    assert ran.status == 2
    assert f"{user}" in ran.err
    assert user.read_text() == "[permission\n"


def test_what_was_revoked_before_a_file_with_errors_is_said(
    cli: Cli, running: Callable[..., SessionApprovals]
) -> None:
    approvals = running("s1", RULE)
    cli.configure("[permission\n")
    ran = cli("permissions", "revoke", RULE)
    assert ran.status == 2
    assert RULE in ran.out
    assert patterns(approvals) == []


def test_help_has_examples(cli: Cli) -> None:
    for arguments in ((), ("list",), ("revoke",)):
        ran = cli("permissions", *arguments, "--help")
        assert ran.status == 0 and "Examples:" in ran.out


def call(command: str) -> str:
    return json.dumps({"id": "1", "name": "Bash", "arguments": {"command": command}})


def test_a_run_writes_the_audit_that_was_asked_for(cli: Cli) -> None:
    user = cli.configure('[permission]\ndeny = ["Bash(rm *)"]\n')
    ran = cli("run", "-", "--audit", "logs/audit.jsonl", "--json", given=call("rm a.txt"))
    assert ran.status == 0
    (line,) = map(json.loads, (cli.workspace / "logs" / "audit.jsonl").read_text().splitlines())
    assert (line["decision"], line["rule"], line["source"]) == ("deny", "Bash(rm *)", f"{user}:2")
    assert line["session"]


def test_the_user_may_ask_for_an_audit_of_every_run(cli: Cli) -> None:
    cli.configure('[permission]\naudit_file = "~/audit.jsonl"\n')
    cli("call", "Read", '{"path": "a.txt"}')
    (line,) = map(json.loads, (cli.home / "audit.jsonl").read_text().splitlines())
    assert (line["tool"], line["decision"]) == ("Read", "allow")


@pytest.mark.parametrize("trusted", [False, True])
def test_a_workspace_has_no_say_in_the_audit(cli: Cli, trusted: bool) -> None:
    cli.configure('[permission]\naudit_file = "audit.jsonl"\n')
    (cli.workspace / "toolcrib.toml").write_text("[permission]\naudit_file = ''\n")
    if trusted:
        cli("trust")
    ran = cli("call", "Read", '{"path": "a.txt"}')
    assert "audit_file" in ran.err
    assert (cli.home / "state" / "toolcrib" / "audit.jsonl").exists()


def test_an_audit_that_cannot_be_written_stops_no_call(cli: Cli) -> None:
    ran = cli("run", "-", "--audit", "/dev/full", "--json", given=call("true"))
    assert ran.status == 0
    assert len(ran.records) == 1
    assert ran.err.count("/dev/full") == 1
