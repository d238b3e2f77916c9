"""The rules and the mode that the configuration sets for permissions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from attrs import frozen

from toolcrib.config.lines import KeyPath
from toolcrib.config.structuring import Problems, RawText, structure_class
from toolcrib.rules import parse_rule

Mode = Literal["manual", "yolo", "auto"]
Decision = Literal["allow", "ask", "deny"]
RuleScope = Literal["user", "project"]

RULE_KEYS = ("rules", "deny", "allow", "ask")


@frozen(kw_only=True)
class PermissionRule:
    """A rule as it was written down.

    Attributes:
        pattern: `Tool` or `Tool(argument pattern)`.
        reason: told to the model when the rule decides.
        source: `file:line`, or whatever else the rule comes from.
        scope: who wrote it: the user, or the workspace.
        match, no_match: example arguments that the pattern must match, or must not.
    """

    decision: Decision
    pattern: str
    reason: str | None = None
    source: str = ""
    scope: RuleScope = "user"
    match: tuple[str, ...] = ()
    no_match: tuple[str, ...] = ()


@frozen(kw_only=True)
class PermissionSettings:
    """The table `[permission]`.

    Attributes:
        default_mode: the mode of a session that is opened without one.
        rules: those of the user, then those of the workspace; the order decides nothing.
        auto_respects_ask: in mode `auto`, deny what would have been asked about secret files.
        dangerous_command_guard: ask before commands that could do damage for good, whatever allows
            them; not in mode `auto`.
        allow_read_only_commands: run commands that are known to change nothing without asking.
        approval_timeout_s: how long an approval is waited for, in seconds; None is for ever.
        audit_file: gets every decision as a line of JSON; absolute, only the user names it.
    """

    default_mode: Mode = "manual"
    rules: tuple[PermissionRule, ...] = ()
    auto_respects_ask: bool = True
    dangerous_command_guard: bool = True
    allow_read_only_commands: bool = False
    approval_timeout_s: float | None = None
    audit_file: str | None = None


@frozen(kw_only=True)
class _RuleEntry:
    """One entry of `[[permission.rules]]` or of a shorthand."""

    decision: Decision | None = None
    pattern: str | None = None
    reason: str | None = None
    match: tuple[str, ...] = ()
    no_match: tuple[str, ...] = ()


class RuleReader:
    """Reads rules from one source; what is wrong with them is added to `problems`."""

    def __init__(
        self, scope: RuleScope, locate: Callable[[KeyPath], str], problems: Problems
    ) -> None:
        self.scope: RuleScope = scope
        self.locate = locate
        self.problems = problems

    def read(self, table: Mapping[str, Any], path: KeyPath) -> tuple[PermissionRule, ...]:
        """The rules under `rules`, `deny`, `allow` and `ask` of a table, in this order."""
        rules: list[PermissionRule | None] = []
        for key in RULE_KEYS:
            if key not in table:
                continue
            value, where = table[key], (*path, key)
            if isinstance(value, RawText):
                value = value.parsed_as(list)
            if isinstance(value, list | tuple):
                decision = None if key == "rules" else key
                rules += [
                    self._rule(entry, decision, (*where, index))
                    for index, entry in enumerate(value)
                ]
            elif key == "rules":
                self.problems.append((where, f"expected a list of tables, not {value!r}"))
            else:
                rules.append(self._rule(value, key, where))
        return tuple(rule for rule in rules if rule is not None)

    def _rule(self, value: object, decision: str | None, path: KeyPath) -> PermissionRule | None:
        """One rule; `decision` is that of the shorthand it stands under."""
        entry = {"pattern": str(value)} if isinstance(value, str) and decision else value
        parsed = structure_class(_RuleEntry, entry, path, self.problems)
        if parsed is None:
            return None
        chosen: Any = decision or parsed.decision
        if chosen is None:
            wanted = ", ".join(map(repr, get_args(Decision)))
            self.problems.append((path, f"the rule needs a decision: one of {wanted}"))
            return None
        if decision and parsed.decision not in (None, decision):
            text = f"a rule under {decision!r} cannot decide {parsed.decision!r}"
            self.problems.append(((*path, "decision"), text))
            return None
        pattern = self._pattern(parsed, chosen, path)
        if pattern is None:
            return None
        return PermissionRule(
            decision=chosen,
            pattern=pattern,
            reason=parsed.reason,
            source=self.locate(path),
            scope=self.scope,
            match=parsed.match,
            no_match=parsed.no_match,
        )

    def _pattern(self, entry: _RuleEntry, decision: Decision, path: KeyPath) -> str | None:
        if entry.pattern is None:
            self.problems.append((path, "the rule needs a pattern, as in 'Bash(git status)'"))
            return None
        pattern = entry.pattern.strip()
        try:
            parsed = parse_rule(pattern)
        except ValueError as error:
            self.problems.append((path, f"{pattern!r} is not a rule: {error}"))
            return None
        if decision == "allow" and parsed.arg_pattern is None and pattern.endswith(")"):
            bare = parsed.tool_name
            text = f"{pattern!r} would allow every call; write {bare!r} if that is meant"
            self.problems.append((path, text))
            return None
        return pattern


def read_permission(table: object, reader: RuleReader) -> tuple[PermissionRule, ...]:
    """Check the table `[permission]` of one source, and give its rules that have no fault."""
    path: KeyPath = ("permission",)
    rules = reader.read(table, path) if isinstance(table, Mapping) else ()
    structure_class(
        PermissionSettings, table, path, reader.problems, given={"rules": rules}, ignored=RULE_KEYS
    )
    return rules
