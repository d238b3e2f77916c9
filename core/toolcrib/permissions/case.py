"""One call before the policies: what it does, and which rules speak of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from attrs import evolve

from toolcrib.config.permission import Decision
from toolcrib.contract.call import SessionView, ToolCall
from toolcrib.contract.execution import RunnableExecution
from toolcrib.errors import RuleError
from toolcrib.permissions.commands import Allowance, Script
from toolcrib.permissions.disk import Links
from toolcrib.permissions.git import WorkTree, work_tree
from toolcrib.permissions.ruleset import PATH_DOMAINS, PreparedRule, RuleSet, ToolRules, prepare
from toolcrib.permissions.touched import Match, effects_of, secret_in, speaks_of
from toolcrib.plugins.loader import describe
from toolcrib.rules import is_every_call, match_path_rule
from toolcrib.rules.glob import compile_glob
from toolcrib.shell.model import CommandAnalysis, PathEffect, SimpleCommand


class Case:
    """A call with the rules that can speak of it; everything is worked out when it is asked for."""

    def __init__(self, call: ToolCall, session: SessionView, rules: RuleSet) -> None:
        assert call.execution is not None
        self.call = call
        self.session = session
        self.execution: RunnableExecution = call.execution
        self.rules: ToolRules = rules.for_tool(call.name)
        self.links = Links(session.workspace)
        # Not cached properties: these are asked for in every call, and those take a lock in 3.11.
        self._effects: tuple[PathEffect, ...] | None = None
        self._denying: list[tuple[PreparedRule, Match]] | None = None
        # Why the tool cannot tell whether the pattern of a rule covers the call.
        self.untold: dict[PreparedRule, str] = {}

    @property
    def analysis(self) -> CommandAnalysis | None:
        return self.execution.analysis

    @property
    def effects(self) -> tuple[PathEffect, ...]:
        """What the call reads, lists and writes."""
        if self._effects is None:
            self._effects = effects_of(self.execution)
            if self.execution.withholds:  # what lies below is left out where a rule speaks of it
                self._effects = tuple(evolve(effect, recursive=False) for effect in self._effects)
        return self._effects

    @cached_property
    def script(self) -> Script:
        assert self.analysis is not None
        return Script(self.analysis)

    @cached_property
    def secret(self) -> str | None:
        """The first path among the effects that may hold secrets."""
        return secret_in(self.effects, self.links)

    @cached_property
    def work_tree(self) -> WorkTree | None:
        return work_tree(self.links.real(self.session.workspace.root))

    @property
    def denying(self) -> list[tuple[PreparedRule, Match]]:
        """The deny rules that speak of the call."""
        if self._denying is None:
            self._denying = self.speaking("deny")
        return self._denying

    def speaking(self, decision: Decision) -> list[tuple[PreparedRule, Match]]:
        """The rules of one decision that speak of the call, with how sure that is."""
        own, paths = self.rules.own[decision], self.rules.paths[decision]
        found = [(rule, match) for rule in own if (match := self.own_match(rule))] if own else []
        if paths and decision != "allow" and (self.analysis is not None or self.effects):
            found += [(rule, match) for rule in paths if (match := self._path_match(rule))]
        return found

    def own_match(self, rule: PreparedRule) -> Match:
        """Whether a rule that names the tool speaks of the call.

        Where the tool cannot tell, a deny or ask rule counts for every call, an allow rule for
        none; `untold` says why.
        """
        if rule.pattern is None:
            return Match.YES
        allows = rule.rule.decision == "allow"
        try:
            if self.analysis is not None:
                return self._script_match(rule, self.analysis)
            matcher = self.execution.matches_rule
            if matcher is None:
                if not is_every_call(rule.pattern):
                    self.untold[rule] = f"rules about {self.call.name} cannot have a pattern"
                    return Match.NO if allows else Match.YES
                return Match.YES
            if allows and self.call.domain == "shell":  # its commands are not known one by one
                literal = compile_glob(rule.pattern, segmented=False).literal
                found = literal is not None and matcher(rule.pattern)
            elif not allows:
                found = matcher(rule.pattern) or any(self._really(rule.pattern))
            else:
                found = matcher(rule.pattern) and all(self._really(rule.pattern))
        except Exception as error:
            self.untold[rule] = str(error) if isinstance(error, RuleError) else describe(error)
            return Match.NO if allows else Match.YES
        return Match.YES if found else Match.NO

    def _script_match(self, rule: PreparedRule, analysis: CommandAnalysis) -> Match:
        assert rule.pattern is not None
        if rule.rule.decision != "allow":
            return self.script.spoken_of(rule.pattern)
        allowance = self.allowance((rule,))
        if allowance.holds_exactly(analysis.text):
            return Match.YES
        speaks = any(map(allowance.speaks_of, analysis.commands))
        return Match.YES if speaks else Match.NO

    def withheld(self) -> Callable[[str], bool] | None:
        """Which paths a search must leave out: those that a rule denies to read, or asks about."""
        rules = [
            rule
            for decision in ("deny", "ask")
            for rule in self.rules.paths[decision]
            if "read" in rule.operations and rule.pattern is not None
        ]
        if not rules:
            return None
        workspace = self.session.workspace
        root = self.links.real(workspace.root)

        def withheld(path: str) -> bool:
            if path.startswith(f"{root}/"):
                path = workspace.root + path[len(root) :]
            return any(
                match_path_rule(
                    rule.pattern or "", path, cwd=workspace.root, home_dir=workspace.home_dir
                )
                for rule in rules
            )

        return withheld

    def allowing(self) -> PreparedRule | None:
        """The rule by which the call is allowed; of a script, every command has to be."""
        rules = self.rules.own["allow"]
        if self.analysis is None:
            return next((rule for rule in rules if self.own_match(rule)), None)
        if not rules or not self.allowance(rules).covers_all(self.analysis):
            return None
        return next((rule for rule in rules if self.own_match(rule)), rules[0])

    def allowance(self, rules: Iterable[PreparedRule], *, only_in_root: bool = False) -> Allowance:
        """What rules cover of the script."""
        return Allowance(
            (rule.pattern for rule in rules),
            (rule.pattern for rule in self.rules.paths["allow"] if "write" in rule.operations),
            self.session.workspace,
            only_in_root=only_in_root,
        )

    @cached_property
    def session_rules(self) -> tuple[PreparedRule, ...]:
        """What was approved for the session and speaks of the tool."""
        approvals = self.session.approvals
        remembered = approvals.rules()
        if not remembered:
            return ()
        # An approved command is approved in the folder that it was approved in.
        if self.analysis is not None and self.analysis.cwd != self.session.workspace.root:
            return ()
        prepared = (prepare(rule, {}) for rule in remembered)
        return tuple(
            rule
            for rule in prepared
            if rule.tool_name == self.call.name
            and approvals.given_for(rule.rule.pattern) == self.execution.defined_as
        )

    def approved_in_session(self) -> PreparedRule | None:
        """The remembered approval that covers what would be asked about now, or None."""
        rules = self.session_rules
        if not rules:
            return None
        if self.analysis is None:
            return next((rule for rule in rules if self.own_match(rule)), None)
        allowance = self.allowance(rules, only_in_root=True)
        if not allowance.holds_exactly(self.analysis.text):
            needing = [] if self.analysis.unanalysable else self.needing()
            if not needing or not all(map(allowance.covers, needing)):
                return None
        return next((rule for rule in rules if self.own_match(rule)), rules[0])

    def allowing_rule(self, command: SimpleCommand) -> str:
        """What lets a command of the script pass: a rule, or that it does nothing by itself."""
        for rule in (*self.session_rules, *self.rules.own["allow"]):
            if rule.pattern is None or self.allowance((rule,)).speaks_of(command):
                return f"{rule.rule.pattern} ({rule.rule.source})"
        return "needs no rule"

    def unapproved(self) -> list[SimpleCommand]:
        """The commands of the script that a question would be about."""
        approved = self.allowance(self.session_rules, only_in_root=True)
        return [command for command in self.needing() if not approved.covers(command)]

    def rest_only_reads(self) -> bool:
        """Whether the commands of the script that nothing allows are known to change nothing."""
        from toolcrib.shell.effects import effects_of as effects_of_command

        assert self.analysis is not None
        home = self.session.workspace.home_dir
        return not self.analysis.unanalysable and all(
            effects_of_command(command, home)[1] for command in self.unapproved()
        )

    def needing(self) -> list[SimpleCommand]:
        """The commands of the script that need an approval.

        Those are the ones that no rule allows, and those that an ask rule speaks of. Once a rule
        about paths speaks of the script, or a deny rule might, all are but the harmless ones.
        """
        assert self.analysis is not None
        all_of_them = self.allowance(()).uncovered(self.analysis)
        if self.denying or any(map(self._path_match, self.rules.paths["ask"])):
            return all_of_them
        left = self.allowance(self.rules.own["allow"]).uncovered(self.analysis)
        asking = [rule.pattern for rule in self.rules.own["ask"]]
        return [c for c in all_of_them if c in left or any(_asks(p, c) for p in asking)]

    def doubtful(self, rule: PreparedRule) -> str | None:
        """The operand of which a rule about paths cannot be ruled out."""
        for effect in self.effects:
            if speaks_of(rule, effect, self.session.workspace, self.links):
                return effect.word or effect.path
        return None

    def _path_match(self, rule: PreparedRule) -> Match:
        matches = (
            speaks_of(rule, effect, self.session.workspace, self.links) for effect in self.effects
        )
        best = Match.NO
        for match in matches:
            best = max(best, match)
            if best is Match.YES:
                break
        unknown = self.analysis is not None and self.analysis.unanalysable
        if best is Match.NO and unknown and rule.pattern is not None:
            return Match.PERHAPS
        return best

    def _really(self, pattern: str) -> Iterable[bool]:
        """Whether a pattern covers the path where the links of the path in the call lead to."""
        if self.call.domain not in PATH_DOMAINS or self.execution.accesses is None:
            return
        workspace = self.session.workspace
        for effect in self.effects:
            for path in self.links.spellings(effect.path or "/")[1:]:
                yield match_path_rule(
                    pattern, path, cwd=workspace.root, home_dir=workspace.home_dir
                )


def _asks(pattern: str | None, command: SimpleCommand) -> bool:
    if pattern is None:
        return True
    alone = CommandAnalysis(text=command.source, cwd=command.cwd or "/", commands=(command,))
    return Script(alone).spoken_of(pattern) is not Match.NO
