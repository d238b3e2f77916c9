"""`toolcrib config check`: each fault by file and line, and nothing said of what is sound."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from toolcrib.cli.checks import check_configuration

if TYPE_CHECKING:
    from core.cli.conftest import Cli

CLEAN = """\
[tools]
disabled = ["Write", "mcp__github__*"]
[tools.timeouts]
Bash = 30
[[permission.rules]]
decision = "allow"
pattern = "Bash(git status)"
match = ["git status"]
no_match = ["git push", "git status; rm x"]
[[permission.rules]]
decision = "deny"
pattern = "Read(secrets/**)"
match = ["secrets/a", "./secrets/b/c"]
no_match = ["src/secrets"]
[[permission.rules]]
decision = "ask"
pattern = "Grep(^TODO)"
[profiles.review]
tools = ["Read", "Grep"]
"""
PLUGINS = Path(__file__).parents[3] / "plugins"
FAULTY = """\
[[permission.rules]]
decision = "allow"
pattern = "Bsh(ls)"
[[permission.rules]]
decision = "allow"
pattern = "Bash(git status *)"
[[permission.rules]]
decision = "deny"
pattern = "Bash(git *)"
[[permission.rules]]
decision = "deny"
pattern = "Read(/secrets/**)"
[[permission.rules]]
decision = "deny"
pattern = ""
[[permission.rules]]
decision = "deny"
pattern = "Bash(git *)"
[[permission.rules]]
decision = "allow"
pattern = "Bash(npm test)"
match = ["npm test -v"]
"""


def test_a_clean_configuration_has_no_findings(cli: Cli) -> None:
    assert cli("config", "check").status == 0
    cli.configure(CLEAN)
    checked = cli("config", "check")
    assert (checked.status, checked.out) == (0, "")


@pytest.mark.parametrize("where", ["user", "workspace", "named"])
def test_six_faults_are_six_findings_with_their_lines(cli: Cli, where: str) -> None:
    file = cli.workspace / "toolcrib.toml"
    if where == "user":
        file = cli.configure(FAULTY)
    elif where == "named":
        file = cli.home / "mine.toml"
        cli.variables["TOOLCRIB_CONFIG"] = str(file)
    file.write_text(FAULTY)
    checked = cli("config", "check")
    assert checked.status == 1
    lines = checked.out.splitlines()
    assert [line.removeprefix(f"{file}:").partition(":")[0] for line in lines] == [
        "1", "4", "10", "13", "16", "19",
    ]  # fmt: skip
    told = ["'Bash'", f"{file}:7", "root", "empty", f"{file}:7", "npm test -v"]
    for line, word in zip(lines, told, strict=True):
        assert word in line
    found = cli("config", "check", "--json").json
    assert [(n["file"], n["line"]) for n in found] == [
        (str(file), n) for n in (1, 4, 10, 13, 16, 19)
    ]


def test_what_is_only_not_trusted_is_no_fault(cli: Cli) -> None:
    (cli.workspace / "toolcrib.toml").write_text(CLEAN)
    untrusted = cli("config", "check")
    assert (untrusted.status, untrusted.out) == (0, "")
    assert "trust" in untrusted.err
    assert cli("trust").status == 0
    trusted = cli("config", "check")
    assert (trusted.status, trusted.out) == (0, "") and "trust" not in trusted.err


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ('[tools]\ndisabled = ["Read",\n"Grpe"]\n', 3, "'Grep'"),
        ('[tools]\nenabled = ["Re*"]\n', 2, "mcp__"),
        ('[tools]\nenabled = ["mcp__github"]\n', 2, "mcp__"),
        ("[tools]\ntimeouts = {Bsh = 3}\n", 2, "'Bash'"),
        ("[tools]\ndisbled = []\n", 2, "'disabled'"),
        ("[tools]\ndisabled = 3\n", 2, "list"),
        ("\n[permissions]\n", 2, "[permission]"),
        ("[zork]\nx = 1\n", 1, "[zork]"),
        ("[read]\nmax_charss = 1\n", 2, "'max_chars'"),
        ('[read]\nmax_chars = "x"\n', 2, "number"),
        ("[task]\nmax_running_tasks = 0\n", 2, "positive"),
        ("[task]\nkeep_alive = true\n", 2, "'keep_alive_on_exit'"),
        ("default_profile = 'reviw'\n[profiles.review]\n", 1, "'review'"),
        ("[profiles.a]\nextends = 'b'\n", 1, "'b'"),
        ("[profiles.a]\nextends = 'b'\n[profiles.b]\nextends = 'a'\n", 3, "a -> b"),
        ("[profiles.a]\ntools = ['Read',\n'Grpe']\n", 3, "'Grep'"),
        ("[profiles.a]\n\ndeny = 'Bsh'\n", 3, "'Bash'"),
        ("[features]\nstale-gard = false\n", 2, "stale-guard"),
        ("[plugins]\nblocked = ['os-raed']\n", 2, "'os-read'"),
        ("[permission]\nallow = ['*']\n", 2, "every tool"),
        ("[permission]\nallow = ['Bash()']\n", 2, "every call"),
        ("[permission]\ndeny = ['Bash()']\n", 2, "every call"),
        ("[permission]\nallow = ['Bash(git status']\n", 2, "')'"),
        ("[permission]\nallow = ['bash(ls)']\n", 2, "'Bash'"),
        ("[permission]\ndeny = ['mcp__github']\n", 2, "mcp__"),
        ("[permission]\ndeny = ['Bash(^rm)']\n", 2, "'^'"),
        ("[permission]\ndeny = ['Bash(rm .*$)']\n", 2, "'$'"),
        ("[permission]\nallow = ['Bash(npm:*)']\n", 2, "Bash(npm *)"),
        ("[permission]\nallow = ['Bash( ls)']\n", 2, "space"),
        ("[permission]\nallow = ['Bash(ls)']\nask = ['Bash']\n", 2, "never decides"),
        ("[permission]\nask = ['Read(src/**)']\ndeny = ['Read(./**)']\n", 2, "never decides"),
        ("[[permission.rules]]\ndecision='deny'\npattern='Bash(x*)'\nno_match=['xy']\n", 1, "'xy'"),
        ("[[permission.rules]]\ndecision='deny'\n", 1, "pattern"),
        ("[[permission.rules]]\ndecision='no'\npattern='Bash'\n", 2, "'deny'"),
    ],
)
def test_each_kind_of_fault_is_found_once(cli: Cli, text: str, line: int, told: str) -> None:
    file = cli.configure(text)
    # Without a process each: they are many.
    (finding,) = check_configuration(cli.workspace, cli.environ).findings
    assert (finding.file, finding.line) == (str(file), line)
    assert told in str(finding)


def test_every_table_that_our_own_plugins_read_is_known(cli: Cli) -> None:
    sources = [file.read_text("utf-8") for file in PLUGINS.rglob("*.py")]
    tables = {name for text in sources for name in re.findall(r'^@settings\("(\w+)"', text, re.M)}
    assert {"bash", "task"} <= tables
    cli.configure("".join(f"[{name}]\nzork = 1\n" for name in sorted(tables - {"hooks"})))
    findings = check_configuration(cli.workspace, cli.environ).findings
    assert not [finding for finding in findings if "nothing reads" in str(finding)]


def test_a_narrower_rule_of_a_stronger_decision_leaves_the_wider_one_alive(cli: Cli) -> None:
    cli.configure(
        "[permission]\n"
        "allow = ['Bash(git *)', 'Read(src/**)', 'Edit(src/*)', 'Bash(a*)']\n"
        "deny = ['Bash(git push *)', 'Read(src/*)', 'Edit(src/**/x)', 'Bash(a?)']\n"
    )
    checked = cli("config", "check")
    assert (checked.status, checked.out) == (0, "")


def test_a_file_that_cannot_be_used_ends_with_2_and_hides_nothing_else(cli: Cli) -> None:
    (cli.workspace / "toolcrib.toml").write_text("[tools\n")
    user = cli.configure('[tools]\ndisabled = ["Grpe"]\n')
    checked = cli("config", "check")
    assert checked.status == 2
    assert "ws/toolcrib.toml:1:7: " in checked.out and f"{user}:2" in checked.out
    missing = cli("config", "check", env={"TOOLCRIB_CONFIG": str(cli.home / "no.toml")})
    assert missing.status == 2 and "no.toml" in missing.out


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("TOOLCRIB_MODE", "yoyo", "'yolo'"),
        ("TOOLCRIB_PROFILE", "nope", "nope"),
        ("TOOLCRIB_RUNTIME", "nope", "nope"),
        ("TOOLCRIB_PROFLIE", "x", "TOOLCRIB_PROFILE"),
        ("TOOLCRIB_FEATURE_STALE_GUARD", "maybe", "maybe"),
        ("TOOLCRIB_TOOLS__DISABLED", '["Grpe"]', "'Grep'"),
        ("TOOLCRIB_TOOLS__DISBLED", "[]", "'disabled'"),
    ],
)
def test_faults_of_the_environment_are_named_by_variable(
    cli: Cli, variable: str, value: str, told: str
) -> None:
    environ = {**cli.environ, variable: value}
    (finding,) = check_configuration(cli.workspace, environ).findings
    assert variable in str(finding) and told in str(finding)


def test_an_unknown_profile_is_a_finding(cli: Cli) -> None:
    checked = cli("config", "check", "--profile", "nope")
    assert checked.status == 1 and "'nope'" in checked.out
