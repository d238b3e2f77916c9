"""Holds rules to their examples when they are taken up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolcrib.config.permission import PermissionRule
from toolcrib.errors import Notice
from toolcrib.paths import Workspace
from toolcrib.permissions.lint import failed_example


def checked(
    rules: Sequence[PermissionRule], tools: Mapping[str, str], workspace: Workspace
) -> tuple[tuple[PermissionRule, ...], tuple[Notice, ...]]:
    """The rules that may be in force, and what is wrong with the examples of some.

    A rule that contradicts its own example does not say what was meant. One that allows is left
    out, one that asks or denies stays: in doubt less is allowed.

    Args:
        tools: the domain of every known tool, by name.
        workspace: where relative patterns and examples start.
    """
    kept: list[PermissionRule] = []
    notices: list[Notice] = []
    for rule in rules:
        fault = None
        if rule.match or rule.no_match:
            fault = failed_example(rule, tools, workspace)
        if fault is None or rule.decision != "allow":
            kept.append(rule)
        if fault is not None:
            fate = "so it allows nothing" if rule.decision == "allow" else "but it stays in force"
            text = f"the rule {rule.decision} {rule.pattern!r} {fault}, {fate}"
            notices.append(Notice.at(rule.source, key="permission.rules", text=text))
    return tuple(kept), tuple(notices)
