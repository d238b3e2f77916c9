"""The file of a workspace that the user does not trust can only take away."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib.config.settings import Settings
from toolcrib.config.sources import MAX_PROJECT_BYTES
from toolcrib.errors import ConfigError

if TYPE_CHECKING:
    from core.config.conftest import Home

USER = """\
[tools]
enabled = ["Read", "Bash"]
disabled = ["Write"]
[tools.timeouts]
Bash = 10
[permission]
default_mode = "yolo"
deny = "Bash(rm *)"
[features]
permissions = true
[plugins]
blocked = ["bad-plugin"]
[output]
quota_bytes = 1000
[profiles.safe]
disallowed_tools = ["Bash"]
[read]
max_chars = 10
"""

WIDENING = {
    "allow shorthand": "[permission]\nallow = 'Bash'\n",
    "allow list": "[permission]\nallow = ['Bash(curl *)', '*']\n",
    "allow rule": "[[permission.rules]]\ndecision = 'allow'\npattern = 'Bash'\n",
    "mode auto": "[permission]\ndefault_mode = 'auto'\n",
    "same mode": "[permission]\ndefault_mode = 'yolo'\n",
    "secrets in auto": "[permission]\nauto_respects_ask = false\n",
    "more folders": "[workspace]\nadditional_dirs = ['/']\n",
    "guarding feature off": "[features]\npermissions = false\n",
    "feature on": "[features]\nswarm = true\n",
    "guarding plugin blocked": "[plugins]\nblocked = ['feature-permissions']\n",
    "no plugin blocked": "[plugins]\nblocked = []\n",
    "longer timeout": "[tools.timeouts]\nBash = 11\n",
    "quota": "[output]\nquota_bytes = 9000000000\n",
    "profile replaced": "[profiles.safe]\ntools = ['*']\nmode = 'auto'\nallow = '*'\n",
    "new profile": "[profiles.worse]\nallow = '*'\n",
    "default profile": "default_profile = 'worse'\n",
    "section of a tool": "[read]\nmax_chars = 1000000\n",
    "server": "[mcp.servers.evil]\ncommand = 'sh'\n",
    "hook": "[[hooks]]\nevent = 'x'\ncommand = 'sh'\n",
}


def effect(settings: Settings) -> Settings:
    """The settings without what tells about them."""
    return evolve(settings, notices=(), layers=(), workspace_trusted=False)


@pytest.mark.parametrize("attempt", WIDENING)
def test_an_attempt_to_widen_changes_nothing_and_is_told(attempt: str, home: Home) -> None:
    before = home.load(USER)
    after = home.load(USER, WIDENING[attempt])
    assert effect(after) == effect(before)
    names = {*before.sections(), "mcp", "hooks"} - {"permission", "tools"}
    assert {n: after.section(n) for n in names} == {n: before.section(n) for n in names}
    assert after.tables("hooks") == ()
    assert len(after.notices) == 1
    assert after.notices[0].file == str(home.project_file)
    assert after.notices[0].line


@pytest.mark.parametrize("attempt", sorted(WIDENING.keys() - {"same mode", "no plugin blocked"}))
def test_a_trusted_workspace_may(attempt: str, home: Home) -> None:
    before = home.load(USER)
    home.trust()
    after = home.load(USER, WIDENING[attempt])
    assert after.workspace_trusted
    sections = ("mcp", "read")
    changed = effect(after) != effect(before) or any(
        after.section(name) != before.section(name) for name in sections
    )
    assert changed or after.tables("hooks")


def test_what_restricts_is_kept(home: Home) -> None:
    after = home.load(
        USER,
        """
        [tools]
        enabled = ["Read", "Edit"]
        disabled = ["Grep"]
        timeouts = { Bash = 5, Read = 1 }
        [permission]
        default_mode = "manual"
        auto_respects_ask = true
        deny = "Bash(curl *)"
        ask = ["Read"]
        [[permission.rules]]
        decision = "deny"
        pattern = "Write"
        [[permission.rules]]
        decision = "allow"
        pattern = "Read"
        """,
    )
    assert after.tools.enabled == ("Read", "Bash")
    assert after.workspace_tools.enabled == ("Read", "Edit")
    assert after.workspace_tools.disabled == ("Grep",)
    assert after.tools.timeouts == {"Bash": 5.0, "Read": 1.0}
    assert after.permission.default_mode == "manual"
    rules = [(rule.decision, rule.pattern, rule.scope) for rule in after.permission.rules]
    assert rules == [
        ("deny", "Bash(rm *)", "user"),
        ("deny", "Write", "project"),
        ("deny", "Bash(curl *)", "project"),
        ("ask", "Read", "project"),
    ]
    assert [notice.key for notice in after.notices] == ["permission.rules[1]"]


def test_one_run_can_be_trusted_by_the_environment(home: Home) -> None:
    project = "[permission]\nallow = 'Bash(ls)'\n"
    once = home.load(None, project, env={"TOOLCRIB_TRUST_WORKSPACE": "1"})
    assert [rule.pattern for rule in once.permission.rules] == ["Bash(ls)"]
    assert home.load(None, project).permission.rules == ()
    never = home.load(None, project, env={"TOOLCRIB_TRUST_WORKSPACE": "0"})
    assert never.permission.rules == ()


def test_a_user_who_is_stricter_by_flag_stays_so(home: Home) -> None:
    home.trust()
    after = home.load(
        None,
        "[permission]\ndefault_mode = 'auto'\n",
        overrides={"permission": {"default_mode": "manual"}},
    )
    assert after.permission.default_mode == "manual"


def test_a_replaced_profile_is_told_in_a_trusted_workspace(home: Home) -> None:
    home.trust()
    after = home.load(USER, "[profiles.safe]\ntools = ['Read']\n")
    (notice,) = after.notices
    assert (notice.file, notice.line) == (str(home.project_file), 1)
    assert f"{home.user_file}:15" in notice.text


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(sorted(WIDENING)), min_size=1, max_size=3, unique=True))
def test_no_combination_widens(home: Home, attempts: list[str]) -> None:
    texts = [WIDENING[name] for name in attempts]
    headers = [line for text in texts for line in text.splitlines() if line.startswith("[")]
    if len(headers) != len(set(headers)):
        return  # the same table twice is not TOML
    texts.sort(key=lambda text: text.startswith("["))
    before = home.load(USER, "")
    assert effect(home.load(USER, "".join(texts))) == effect(before)


@pytest.mark.parametrize("what", ["pipe", "endless device", "huge"])
def test_a_file_that_would_never_be_read_to_its_end_is_refused(home: Home, what: str) -> None:
    if what == "pipe":
        os.mkfifo(home.project_file)
    elif what == "huge":
        home.project_file.write_bytes(b"")
        os.truncate(home.project_file, MAX_PROJECT_BYTES + 1)
    else:
        home.project_file.symlink_to("/dev/zero")
    with pytest.raises(ConfigError) as caught:
        home.load()
    assert caught.value.file == str(home.project_file)


def test_the_users_file_may_be_a_pipe(home: Home) -> None:
    """As in `TOOLCRIB_CONFIG=<(make-config)`."""
    reading, writing = os.pipe()
    os.write(writing, b"[tools]\ndisabled = ['Bash']\n")
    os.close(writing)
    settings = home.load(env={"TOOLCRIB_CONFIG": f"/dev/fd/{reading}"})
    os.close(reading)
    assert settings.tools.disabled == ("Bash",)
