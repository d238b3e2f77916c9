"""The sources are merged, and what cannot be meant is reported with its place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from toolcrib.config.load import load_settings
from toolcrib.config.settings import GIBIBYTE
from toolcrib.errors import ConfigError

if TYPE_CHECKING:
    from core.config.conftest import Home


def test_nothing_configured_gives_the_defaults(home: Home) -> None:
    settings = home.load()
    assert settings.tools.enabled is None
    assert settings.permission.default_mode == "manual"
    assert settings.default_profile == "default"
    assert settings.output.quota_bytes == GIBIBYTE
    assert settings.notices == ()
    assert settings.locate("tools", "enabled") == "default"


def test_every_core_setting_is_read(home: Home) -> None:
    settings = home.load(
        """
        default_profile = "review"
        [tools]
        enabled = ["Read", "mcp__gh__*"]
        disabled = ["Bash"]
        timeouts = { Grep = 10, Bash = 0.5 }
        [permission]
        default_mode = "yolo"
        allow = "Bash(git *)"
        ask = ["Write", { pattern = "Edit(src/**)", reason = "reviewed by hand" }]
        [[permission.rules]]
        decision = "deny"
        pattern = "Read(**/secret*)"
        match = ["a/secret.txt"]
        no_match = ["a/public.txt"]
        [features]
        stale-guard = false
        [plugins]
        blocked = ["slow-plugin"]
        [output]
        quota_bytes = 1000
        [workspace]
        additional_dirs = ["~/notes", "../lib", "/srv"]
        [profiles.review]
        description = "reads only"
        tools = ["Read"]
        """
    )
    assert settings.default_profile == "review"
    assert settings.tools.enabled == ("Read", "mcp__gh__*")
    assert settings.tools.disabled == ("Bash",)
    assert settings.tools.timeouts == {"Grep": 10.0, "Bash": 0.5}
    assert settings.permission.default_mode == "yolo"
    rules = [(rule.decision, rule.pattern) for rule in settings.permission.rules]
    assert rules == [
        ("deny", "Read(**/secret*)"),
        ("allow", "Bash(git *)"),
        ("ask", "Write"),
        ("ask", "Edit(src/**)"),
    ]
    assert settings.permission.rules[0].match == ("a/secret.txt",)
    assert settings.permission.rules[0].no_match == ("a/public.txt",)
    assert settings.permission.rules[3].reason == "reviewed by hand"
    assert settings.features == {"stale-guard": False}
    assert settings.plugins.blocked == ("slow-plugin",)
    assert settings.output.quota_bytes == 1000
    assert settings.workspace.additional_dirs == (
        str(home.root / "notes"),
        str(home.root / "lib"),
        "/srv",
    )
    assert settings.profiles["review"].tools == ("Read",)


def test_a_rule_knows_its_own_line(home: Home) -> None:
    home.trust()
    settings = home.load(
        '[permission]\nallow = [\n  "Bash(ls)",\n  "Bash(pwd)",\n]\n',
        '\n\n[[permission.rules]]\npattern = "Write"\ndecision = "deny"\n',
    )
    places = [(rule.source, rule.scope) for rule in settings.permission.rules]
    assert places == [
        (f"{home.user_file}:3", "user"),
        (f"{home.user_file}:4", "user"),
        (f"{home.project_file}:3", "project"),
    ]


def test_later_sources_win_key_by_key(home: Home) -> None:
    home.trust()
    settings = home.load(
        "[read]\na = 1\nb = 1\nc = 1\nd = 1\n[read.deep]\nx = 1\ny = 1\n",
        "[read]\nb = 2\nc = 2\nd = 2\n[read.deep]\ny = 2\n",
        env={"TOOLCRIB_READ__C": "3", "TOOLCRIB_READ__D": "3"},
        overrides={"read": {"d": 4}},
    )
    assert settings.section("read") == {
        "a": 1,
        "b": 2,
        "c": "3",
        "d": 4,
        "deep": {"x": 1, "y": 2},
    }
    assert settings.locate("read", "a") == f"{home.user_file}:2"
    assert settings.locate("read", "b") == f"{home.project_file}:2"
    assert settings.locate("read", "c") == "environment variable TOOLCRIB_READ__C"
    assert settings.locate("read", "d") == "command line"
    assert settings.locate("read", "deep", "x") == f"{home.user_file}:7"


def test_environment_variables_set_core_settings(home: Home) -> None:
    settings = home.load(
        '[permission]\ndefault_mode = "manual"\n',
        env={
            "TOOLCRIB_MODE": "auto",
            "TOOLCRIB_PROFILE": "quick",
            "TOOLCRIB_TOOLS__DISABLED": '["Bash"]',
            "TOOLCRIB_TOOLS__TIMEOUTS__GREP": "2",
            "TOOLCRIB_OUTPUT__QUOTA_BYTES": "10",
            "TOOLCRIB_FEATURES__PLAN": "1",
            "TOOLCRIB_PERMISSION__DENY": "Bash(rm *)",
            "TOOLCRIB_PERMISSION__AUTO_RESPECTS_ASK": "false",
            "TOOLCRIB_FEATURE_TODO": "not a table",
            "TOOLCRIB_EMPTY__VALUE": "",
        },
    )
    assert settings.permission.default_mode == "auto"
    assert settings.permission.auto_respects_ask is False
    assert settings.default_profile == "quick"
    assert settings.tools.disabled == ("Bash",)
    assert settings.output.quota_bytes == 10
    assert settings.features == {"plan": True}
    (rule,) = settings.permission.rules
    assert (rule.pattern, rule.source) == (
        "Bash(rm *)",
        "environment variable TOOLCRIB_PERMISSION__DENY",
    )
    assert settings.section("empty") == {}


def test_toolcrib_config_replaces_the_users_file(home: Home) -> None:
    other = home.root / "other.toml"
    other.write_text('[tools]\ndisabled = ["Bash"]\n')
    settings = home.load('[tools]\ndisabled = ["Read"]\n', env={"TOOLCRIB_CONFIG": str(other)})
    assert settings.tools.disabled == ("Bash",)


def test_a_named_file_has_to_exist(home: Home) -> None:
    with pytest.raises(ConfigError) as caught:
        home.load(env={"TOOLCRIB_CONFIG": str(home.root / "missing.toml")})
    assert caught.value.file == str(home.root / "missing.toml")


def test_the_users_file_is_read_once_when_the_workspace_is_its_folder(home: Home) -> None:
    home.load('[permission]\nallow = "Bash(ls)"\n')
    settings = load_settings(workspace=home.user_file.parent, environ=home.environ)
    assert [rule.scope for rule in settings.permission.rules] == ["user"]
    assert settings.notices == ()


BAD = {
    "list expected": ("[tools]\n\ndisabled = 5\n", 3, "tools.disabled"),
    "text in list": ("[tools]\ndisabled = [\n 'a',\n 5]\n", 4, "tools.disabled[1]"),
    "unknown key": ("[tools]\ndisable = ['Bash']\n", 2, "tools.disable"),
    "unknown key of permission": ("[permission]\ndney = 'Bash'\n", 2, "permission.dney"),
    "unknown top-level key": ("\nprofile = 'x'\n", 2, "profile"),
    "table expected": ("tools = 1\n", 1, "tools"),
    "permission is no table": ("permission = 1\n", 1, "permission"),
    "profiles is no table": ("profiles = 1\n", 1, "profiles"),
    "profile is no table": ("[profiles]\nx = 1\n", 2, "profiles.x"),
    "bad mode": ("[permission]\ndefault_mode = 'fast'\n", 2, "permission.default_mode"),
    "negative timeout": ("[tools.timeouts]\nBash = -1\n", 2, "tools.timeouts.Bash"),
    "endless timeout": ("[tools.timeouts]\nBash = inf\n", 2, "tools.timeouts.Bash"),
    "nan": ("[tools.timeouts]\nBash = nan\n", 2, "tools.timeouts.Bash"),
    "true is no number": ("[output]\nquota_bytes = true\n", 2, "output.quota_bytes"),
    "float is no int": ("[output]\nquota_bytes = 1.5\n", 2, "output.quota_bytes"),
    "feature": ("[features]\nplan = 'yes'\n", 2, "features.plan"),
    "profile name": ("default_profile = 1\n", 1, "default_profile"),
    "rule without decision": (
        "[[permission.rules]]\npattern = 'Bash'\n",
        1,
        "permission.rules[0]",
    ),
    "rule without pattern": (
        "[[permission.rules]]\ndecision = 'deny'\n",
        1,
        "permission.rules[0]",
    ),
    "unknown decision": (
        "[[permission.rules]]\npattern = 'Bash'\ndecision = 'never'\n",
        3,
        "permission.rules[0].decision",
    ),
    "unknown key of a rule": (
        "[[permission.rules]]\npattern = 'A'\ndecision = 'deny'\nwhy = 'x'\n",
        4,
        "permission.rules[0].why",
    ),
    "contradiction": (
        "[permission]\nallow = [{pattern = 'A', decision = 'deny'}]\n",
        2,
        "permission.allow[0].decision",
    ),
    "rules as text": ("[permission]\nrules = 'Bash'\n", 2, "permission.rules"),
    "rule as number": ("[permission]\nallow = ['Read', 5]\n", 2, "permission.allow[1]"),
    "unclosed allow": (
        "[permission]\nallow = [\n'Read',\n'Bash(git status']\n",
        4,
        "permission.allow[1]",
    ),
    "empty allow": ("[permission]\nallow = ''\n", 2, "permission.allow"),
    "allow with empty brackets": ("[permission]\nallow = 'Bash()'\n", 2, "permission.allow"),
    "allow without a tool": ("[permission]\nallow = '(rm *)'\n", 2, "permission.allow"),
    "unclosed deny": ("[permission]\ndeny = 'Bash(rm'\n", 2, "permission.deny"),
    "bad rule of a profile": (
        "[profiles.p]\ndeny = ['Bash(rm']\n",
        2,
        "profiles.p.deny[0]",
    ),
    "bad mode of a profile": ("[profiles.p]\nmode = 'x'\n", 2, "profiles.p.mode"),
    "bad feature list": ("[profiles.p]\nfeatures = [1]\n", 2, "profiles.p.features[0]"),
    "unknown key of a profile": ("[profiles.p]\ntool = []\n", 2, "profiles.p.tool"),
    "name of a profile": ("[profiles.p]\nname = 'q'\n", 2, "profiles.p.name"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_value_is_reported_with_file_line_and_key(case: str, home: Home) -> None:
    text, line, key = BAD[case]
    with pytest.raises(ConfigError) as caught:
        home.load(text)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.key) == (str(home.user_file), line, key)
    assert str(caught.value).startswith(f"{home.user_file}:{line}: {key}: ")


@pytest.mark.parametrize("case", BAD)
def test_the_workspace_file_is_checked_as_strictly(case: str, home: Home) -> None:
    text, line, key = BAD[case]
    with pytest.raises(ConfigError) as caught:
        home.load(None, text)
    error = caught.value
    assert (error.file, error.line, error.key) == (str(home.project_file), line, key)


def test_all_problems_of_all_sources_come_at_once(home: Home) -> None:
    with pytest.raises(ConfigError) as caught:
        home.load(
            "[tools]\ndisabled = 1\nenabled = 1\n",
            "[output]\nquota_bytes = -1\n",
            env={"TOOLCRIB_MODE": "fast"},
        )
    files = [problem.file for problem in caught.value.problems]
    assert files == [
        *[str(home.user_file)] * 2,
        str(home.project_file),
        "environment variable TOOLCRIB_MODE",
    ]


def test_the_offending_value_and_the_nearest_name_are_told(home: Home) -> None:
    with pytest.raises(ConfigError) as caught:
        home.load("[tools]\ndisable = ['Bash']\n[output]\nquota_bytes = 'lots'\n")
    text = str(caught.value)
    assert "'disabled'" in text
    assert "'lots'" in text


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("[tools]\na = = 1\n", 2, 5), ("a = [\n1,\n", 2, None), ("a = 1\na = 2\n", 2, None)],
)
def test_a_syntax_error_has_line_and_column(
    text: str, line: int, column: int | None, home: Home
) -> None:
    with pytest.raises(ConfigError) as caught:
        home.load(text)
    (problem,) = caught.value.problems
    assert problem.line == line
    assert problem.column == column or (column is None and problem.column)


def test_bytes_that_are_no_text_are_placed(home: Home) -> None:
    home.project_file.write_bytes(b"[tools]\n# \xff\n")
    with pytest.raises(ConfigError) as caught:
        home.load()
    assert (caught.value.file, caught.value.line) == (str(home.project_file), 2)


def test_a_byte_order_mark_is_no_error(home: Home) -> None:
    home.project_file.write_bytes(b"\xef\xbb\xbf[tools]\ndisabled = ['Bash']\n")
    assert home.load().workspace_tools.disabled == ("Bash",)


def test_a_folder_in_place_of_the_file_is_reported(home: Home) -> None:
    home.project_file.mkdir()
    with pytest.raises(ConfigError) as caught:
        home.load()
    assert caught.value.file == str(home.project_file)


def test_a_misspelt_table_is_noticed_and_a_plugins_table_is_not(home: Home) -> None:
    settings = home.load("[permision]\ndeny = 'Bash'\n[read]\nmax_chars = 1\n[grep]\nx = 1\n")
    (notice,) = settings.notices
    assert (notice.line, notice.key) == (1, "permision")


@pytest.mark.parametrize("pattern", ["*", "**", "!Bash", "*(ls)"])
def test_an_allow_rule_for_every_tool_is_noticed(pattern: str, home: Home) -> None:
    settings = home.load(f"[permission]\nallow = ['Read', '{pattern}']\n")
    (notice,) = settings.notices
    assert (notice.file, notice.line) == (str(home.user_file), 2)


def test_loading_imports_nothing_that_a_cold_start_cannot_afford(home: Home) -> None:
    home.load("[tools]\ndisabled = ['Bash']\n", "[permission]\ndeny = 'Bash'\n")
    code = (
        "import sys; from toolcrib.config.load import load_settings\n"
        "import toolcrib.config.sections, toolcrib.features\n"
        f"load_settings(workspace={str(home.workspace)!r}, environ={home.environ!r})\n"
        "heavy = {'asyncio', 'cattrs', 'svcs', 'jsonschema', 'difflib', 'subprocess', 'tempfile'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_relative_file_is_taken_from_the_current_folder(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home.root / "mine.toml").write_text("default_profile = 'x'\n")
    monkeypatch.chdir(home.root)
    settings = load_settings(
        workspace=home.workspace, environ=home.environ, config_file=Path("mine.toml")
    )
    assert settings.default_profile == "x"
