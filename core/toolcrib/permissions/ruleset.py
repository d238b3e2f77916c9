"""The rules in force, taken apart once and looked up by tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from attrs import field, frozen

from toolcrib.config.permission import Decision, PermissionRule
from toolcrib.rules import match_tool_name, parse_rule

Operation = Literal["read", "write"]

PATH_DOMAINS: Mapping[str, Operation] = {
    "read": "read",
    "media": "read",
    "write": "write",
    "edit": "write",
}
"""The domains of tools whose rules hold path patterns, with what these tools do to the path."""


@frozen(eq=False)
class PreparedRule:
    """A rule with its parts.

    `operations` are what it says of paths, however they are touched: a rule about a tool that
    reads or writes one path also speaks of shell commands and other tools that do the same.
    """

    rule: PermissionRule
    tool_name: str
    pattern: str | None
    operations: frozenset[Operation]


Rules = tuple[PreparedRule, ...]


@frozen
class ToolRules:
    """The rules that can speak of one tool's calls, by their decision.

    `own` are those that name the tool, `paths` those about paths, which count for a tool that has
    no path rules of its own.
    """

    own: Mapping[Decision, Rules]
    paths: Mapping[Decision, Rules]


@frozen(eq=False)
class RuleSet:
    """The rules in force, in their order.

    Attributes:
        rules: as they were written down.
        domains: the domain of every known tool, by name.
    """

    rules: tuple[PermissionRule, ...] = ()
    domains: Mapping[str, str] = field(factory=dict)
    _prepared: tuple[PreparedRule, ...] = field(init=False)
    _by_tool: dict[str, ToolRules] = field(factory=dict, init=False, repr=False)

    @_prepared.default
    def _prepare(self) -> tuple[PreparedRule, ...]:
        return tuple(prepare(rule, self.domains) for rule in self.rules)

    def __bool__(self) -> bool:
        return bool(self.rules)

    def for_tool(self, name: str) -> ToolRules:
        """The rules that can speak of calls of a tool."""
        found = self._by_tool.get(name)
        if found is None:
            has_own_rules = self.domains.get(name) in PATH_DOMAINS
            found = self._by_tool[name] = ToolRules(
                own=_by_decision(r for r in self._prepared if match_tool_name(r.tool_name, name)),
                paths=_by_decision(r for r in self._prepared if r.operations and not has_own_rules),
            )
        return found


def _by_decision(rules: Iterable[PreparedRule]) -> Mapping[Decision, Rules]:
    listed = tuple(rules)
    return {d: tuple(r for r in listed if r.rule.decision == d) for d in get_args(Decision)}


def prepare(rule: PermissionRule, domains: Mapping[str, str]) -> PreparedRule:
    """Take a rule apart."""
    parsed = parse_rule(rule.pattern)
    return PreparedRule(
        rule,
        parsed.tool_name,
        parsed.arg_pattern,
        frozenset(_operations(parsed.tool_name, domains)),
    )


def _operations(tool_name: str, domains: Mapping[str, str]) -> Iterable[Operation]:
    if tool_name == "*":  # about everything, not about paths
        return
    for name, domain in domains.items():
        if domain in PATH_DOMAINS and match_tool_name(tool_name, name):
            yield PATH_DOMAINS[domain]
