"""The tables of the guide on permissions say what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import attrs
import pytest

import toolcrib
from toolcrib.config.permission import PermissionRule, PermissionSettings
from toolcrib.contract.hooks import PolicyName
from toolcrib.permissions.lint import failed_example

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "permissions.md").read_text("utf-8")
TOOLS = {"Bash": "shell", "Read": "read", "Write": "write", "Edit": "edit"}
_CODE = re.compile(r"`([^`]+)`")


def rows(heading: str, text: str = GUIDE) -> list[list[str]]:
    """The cells of the table whose first line this is."""
    lines = text[text.index(heading) :].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("row", rows("| rule | covers |"), ids=lambda row: row[0])
def test_a_rule_covers_what_the_guide_says(row: list[str], tmp_path: Path) -> None:
    (pattern,), covered, others = (_CODE.findall(cell) for cell in row)
    workspace = toolcrib.Workspace(root=str(tmp_path), home_dir=str(tmp_path))
    rule = PermissionRule(
        decision="allow", pattern=pattern, match=tuple(covered), no_match=tuple(others)
    )
    assert failed_example(rule, TOOLS, workspace) is None


@pytest.mark.parametrize("document", ["permissions.md", "hooks.md"])
def test_the_policies_are_listed_in_their_order(document: str) -> None:
    table = rows("| policy |", (DOCS / document).read_text("utf-8"))
    named = [name for first, *_ in table for name in _CODE.findall(first)]
    assert named == list(get_args(PolicyName))


def test_every_setting_is_explained() -> None:
    named = {name for first, *_ in rows("| key in `[permission]`") for name in _CODE.findall(first)}
    fields = {field.name for field in attrs.fields(PermissionSettings)}
    assert named == fields | {"deny", "ask", "allow"}
