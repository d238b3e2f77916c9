"""Only the user decides whether decisions are recorded, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from core.config.conftest import Home

PROJECT = "[permission]\naudit_file = '/tmp/elsewhere.jsonl'\n"


def test_without_the_setting_nothing_is_recorded(home: Home) -> None:
    assert home.load().permission.audit_file is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a.jsonl", "{root}/state/a.jsonl"),
        ("~/a.jsonl", "{root}/a.jsonl"),
        ("/a.jsonl", "/a.jsonl"),
    ],
)
def test_the_file_is_absolute_below_the_state_folder(home: Home, written: str, meant: str) -> None:
    """Not in the workspace, where tools could write it."""
    settings = home.load(f'[permission]\naudit_file = "{written}"\n')
    assert settings.permission.audit_file == meant.format(root=home.root)


@pytest.mark.parametrize("trusted", [True, False])
def test_a_workspace_neither_sets_nor_moves_the_file(home: Home, trusted: bool) -> None:
    if trusted:
        home.trust()
    alone = home.load(None, PROJECT)
    assert alone.permission.audit_file is None
    assert [notice.key for notice in alone.notices] == ["permission.audit_file"]
    both = home.load('[permission]\naudit_file = "/mine.jsonl"\n', PROJECT)
    assert both.permission.audit_file == "/mine.jsonl"


def test_flags_and_variables_are_the_users(home: Home) -> None:
    by_flag = home.load(overrides={"permission": {"audit_file": "/flag.jsonl"}})
    assert by_flag.permission.audit_file == "/flag.jsonl"
    by_variable = home.load(env={"TOOLCRIB_PERMISSION__AUDIT_FILE": "/variable.jsonl"})
    assert by_variable.permission.audit_file == "/variable.jsonl"
