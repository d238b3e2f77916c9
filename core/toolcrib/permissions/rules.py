"""Which configured rules speak of a call."""

from __future__ import annotations

from collections.abc import Iterable

from toolcrib.config.permission import PermissionRule
from toolcrib.contract.call import ToolCall
from toolcrib.rules import match_tool_name, parse_rule
from toolcrib.rules.glob import compile_glob

_SHELL_SYNTAX = frozenset(";&|<>()$`\\\"'\n\r*?[]{}!#~=")


def matching(call: ToolCall, rules: Iterable[PermissionRule]) -> list[PermissionRule]:
    """The rules that match, in their order."""
    return [rule for rule in rules if matches(call, rule)]


def matches(call: ToolCall, rule: PermissionRule) -> bool:
    """Whether a rule speaks of a call.

    A rule with an argument pattern needs the tool's own matcher. A matcher that fails counts as a
    match for deny and ask, and as none for allow.
    """
    parsed = parse_rule(rule.pattern)
    if not match_tool_name(parsed.tool_name, call.name):
        return False
    if not parsed.arg_pattern:
        return True
    matcher = call.execution.matches_rule if call.execution else None
    if matcher is None:
        return False
    if rule.decision == "allow" and not _may_be_allowed_by_pattern(call, parsed.arg_pattern):
        return False
    try:
        return matcher(parsed.arg_pattern)
    except Exception:
        return rule.decision != "allow"


def _may_be_allowed_by_pattern(call: ToolCall, pattern: str) -> bool:
    """Whether a pattern can vouch for a whole command.

    A pattern over the text of a shell command says nothing of a second command behind a
    semicolon: only plain words are judged by a pattern, anything else by its exact text.
    """
    command = call.arguments.get("command")
    if not isinstance(command, str) or _SHELL_SYNTAX.isdisjoint(command):
        return True
    return command in (pattern, compile_glob(pattern, segmented=False).literal)
