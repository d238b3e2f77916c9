"""What each policy says of a call; see `toolcrib.permissions.chain` for who is asked when."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TYPE_CHECKING, Literal
from weakref import WeakKeyDictionary

from attrs import frozen

from toolcrib.contract.hooks import PolicyName
from toolcrib.permissions.case import Case
from toolcrib.permissions.commands import shown
from toolcrib.permissions.ruleset import PreparedRule
from toolcrib.permissions.touched import Match

if TYPE_CHECKING:
    from toolcrib.config.own import OwnFiles
    from toolcrib.contract.call import SessionView

Verdict = Literal["deny", "ask", "allow"]


@frozen(kw_only=True)
class Judgement:
    """What was decided of a call, by which policy, and what else spoke of it.

    `rule` is the pattern of the rule that decided and `source` its `file:line`, or the name of
    the plugin whose policy decided. `overridden` names the rules that matched too and lost.
    `once` says that an approval can hold for this one call only.
    """

    decision: Verdict
    policy: str
    rule: str | None = None
    source: str | None = None
    reason: str | None = None
    overridden: tuple[str, ...] = ()
    once: bool = False


_OWN_FILES_FOR_S = 1.0
_OWN_COMMANDS = "{toolcrib,python*m toolcrib} {trust,mcp accept,mcp add,mcp import,mcp remove}{, *}"
"""They trust a workspace, have servers started, and accept tools that have changed."""
_known_own_files: WeakKeyDictionary[SessionView, tuple[float, OwnFiles]] = WeakKeyDictionary()

Answer = Judgement | None
Policy = Callable[[Case], Answer | Awaitable[Answer]]


def denied_by_rule(case: Case) -> Judgement | None:
    """What a deny rule says against a call that a plugin allowed, or None."""
    return _deny_rules(case) or possible_deny(case)


def _by_rule(
    rule: PreparedRule, policy: str, decision: Verdict, reason: str | None = None
) -> Judgement:
    written = rule.rule
    return Judgement(
        decision=decision,
        policy=policy,
        rule=written.pattern,
        source=written.source,
        reason=reason or written.reason or says_so(written.pattern),
    )


def says_so(rule: str) -> str:
    """The reason of a rule without one."""
    return f"the rule {rule!r} says so"


def _forbidding(case: Case, rule: PreparedRule, policy: str, decision: Verdict) -> Judgement:
    """The judgement by a deny or ask rule, which counts also where nobody can tell if it does."""
    untold = case.untold.get(rule)
    if untold is None:
        return _by_rule(rule, policy, decision)
    said = f"{rule.rule.reason}; " if rule.rule.reason else ""
    counts = f"the rule {rule.rule.pattern!r} counts for every such call: {untold}"
    return _by_rule(rule, policy, decision, said + counts)


def _auto_question(case: Case) -> Answer:
    if case.session.mode != "auto" or case.call.domain != "question":
        return None
    return Judgement(
        decision="deny",
        policy="auto-mode-ask-user-question-deny",
        reason="nobody answers questions in mode 'auto': decide yourself, and say what you assumed",
    )


def _deny_rules(case: Case) -> Answer:
    for rule, match in case.denying:
        if match is Match.YES:
            return _forbidding(case, rule, "user-configured-deny", "deny")
    return None


def possible_deny(case: Case) -> Answer:
    """A call of which it cannot be said that no deny rule forbids it."""
    rule = next((rule for rule, _ in case.denying), None)
    if rule is None:
        return None
    pattern = rule.rule.pattern
    why = case.analysis.unanalysable if case.analysis else None
    what = why or (case.doubtful(rule) if rule in case.rules.paths["deny"] else None)
    because = f" ({what})" if what else ""
    if case.session.mode == "auto":
        reason = f"it may do what the rule {pattern!r} forbids{because}, and nobody can be asked"
        return _by_rule(rule, "possible-deny-ask", "deny", reason)
    if case.approved_in_session() is not None:
        return None
    reason = f"it may do what the rule {pattern!r} forbids{because}"
    return _by_rule(rule, "possible-deny-ask", "ask", reason)


def _configuration_write(case: Case) -> Answer:
    """A call that may change what calls may do: the configuration, and which workspace is trusted.

    Nothing that was allowed beforehand counts here, for it may be what such a call wrote.
    """
    deciding = _command_of_its_own(case) or _file_of_its_own(case)
    if deciding is None:
        return None
    auto = case.session.mode == "auto"
    return Judgement(
        decision="deny" if auto else "ask",
        policy="configuration-write-ask",
        reason=f"{deciding} decides what tools may do"
        + (", and nobody can be asked in mode 'auto'" if auto else ""),
        once=True,
    )


def _command_of_its_own(case: Case) -> str | None:
    if case.analysis is None or case.script.spoken_of(_OWN_COMMANDS) is not Match.YES:
        return None
    return "what toolcrib is told"


def _file_of_its_own(case: Case) -> str | None:
    written = [e for e in case.effects if e.operation == "write" and e.path is not None]
    own = _own_files(case.session) if written else None
    for effect in written:
        if own is not None and own.controls(str(effect.path), recursive=effect.recursive):
            return effect.word or effect.path
    return None


def _own_files(session: SessionView) -> OwnFiles:
    """The files of toolcrib itself, as they were less than a second ago."""
    from toolcrib.config.own import OwnFiles

    now = monotonic()
    known = _known_own_files.get(session)
    if known is None or known[0] < now:
        files = OwnFiles.of(
            session.workspace.root,
            session.environment,
            trusted=session.settings.workspace_trusted,
        )
        known = _known_own_files[session] = (now + _OWN_FILES_FOR_S, files)
    return known[1]


def _dangerous_command(case: Case) -> Answer:
    danger = case.analysis.dangerous if case.analysis else None
    guarded = case.session.settings.permission.dangerous_command_guard
    if danger is None or not guarded or case.session.mode == "auto":
        return None
    return Judgement(decision="ask", policy="dangerous-command-ask", reason=danger, once=True)


def _auto_mode(case: Case) -> Answer:
    if case.session.mode != "auto":
        return None
    respects = case.session.settings.permission.auto_respects_ask
    if respects and case.secret and case.allowing() is None:
        return Judgement(
            decision="deny",
            policy="auto-mode-secret-deny",
            reason=f"{case.secret} may hold secrets and nobody can be asked in mode 'auto'",
        )
    return Judgement(decision="allow", policy="auto-mode-approve", reason="mode 'auto'")


def _session_approvals(case: Case) -> Answer:
    rule = case.approved_in_session()
    if rule is None:
        return None
    return _by_rule(rule, "session-approval-history", "allow", "approved for this session")


def _ask_rules(case: Case) -> Answer:
    for rule, _ in case.speaking("ask"):
        return _forbidding(case, rule, "user-configured-ask", "ask")
    return None


def _allow_rules(case: Case) -> Answer:
    rule = case.allowing()
    if rule is None:
        return None
    if case.analysis is not None and not case.own_match(rule):
        reason = "its commands do nothing that needs a rule"
        return Judgement(decision="allow", policy="user-configured-allow", reason=reason)
    return _by_rule(rule, "user-configured-allow", "allow")


def _sensitive_file(case: Case) -> Answer:
    if case.secret is None:
        return None
    reason = f"{case.secret} may hold secrets"
    return Judgement(decision="ask", policy="sensitive-file-access-ask", reason=reason)


def _git_control(case: Case) -> Answer:
    from toolcrib.permissions.git import is_control_path

    for effect in case.effects:
        path = effect.path
        if path is None or effect.operation == "list":
            continue
        tree = case.work_tree
        inside = is_control_path(path, tree) or is_control_path(case.links.real(path), tree)
        below = (
            tree is not None
            and effect.recursive
            and effect.operation == "write"
            and effect.program != "git"  # its operands are files of the work tree
            and any(c.startswith(f"{path.rstrip('/')}/") for c in tree.control)
        )
        if inside or below:
            return Judgement(
                decision="ask",
                policy="git-control-path-access-ask",
                reason=f"{effect.word or path} belongs to git itself",
            )
    return None


def _yolo_mode(case: Case) -> Answer:
    if case.session.mode != "yolo":
        return None
    return Judgement(decision="allow", policy="yolo-mode-approve", reason="mode 'yolo'")


def _reads_only(case: Case) -> Answer:
    """A builtin tool that declares what it touches, and writes none of it."""
    if case.analysis is not None:
        if not case.session.settings.permission.allow_read_only_commands:
            return None
        if not case.analysis.read_only and not case.rest_only_reads():
            return None
        reason = "what no rule allows of it only reads, and allow_read_only_commands is set"
        return Judgement(decision="allow", policy="default-tool-approve", reason=reason)
    accesses = case.execution.accesses
    if case.call.source != "builtin" or accesses is None or not accesses.only_reads:
        return None
    return Judgement(decision="allow", policy="default-tool-approve", reason="it only reads")


def _git_cwd_write(case: Case) -> Answer | Awaitable[Answer]:
    """A builtin tool that writes files of the workspace that git can bring back."""
    accesses = case.execution.accesses
    if case.call.source != "builtin" or case.call.domain not in ("write", "edit"):
        return None
    written = accesses.written_paths() if accesses and not accesses.everything else ()
    workspace = case.session.workspace
    if not written or case.work_tree is None or not all(map(workspace.contains, written)):
        return None
    return _if_git_can(case, written)


async def _if_git_can(case: Case, written: tuple[str, ...]) -> Answer:
    from toolcrib.permissions.git import can_bring_back

    assert case.work_tree is not None
    if not await can_bring_back(map(case.links.real, written), case.work_tree.root):
        return None
    return Judgement(
        decision="allow",
        policy="git-cwd-write-approve",
        reason="the file is in the workspace, and git can bring it back",
    )


def _fallback(case: Case) -> Answer:
    workspace = case.session.workspace
    outside = [e.path for e in case.effects if e.operation == "write" and e.path is not None]
    outside = [path for path in outside if not workspace.contains(path)]
    reason = "nothing allows it beforehand"
    if outside and case.analysis is None:
        reason = f"{outside[0]} lies outside the workspace, and no rule allows to write there"
    if case.analysis is not None:
        if case.analysis.unanalysable:
            reason = f"it cannot be judged beforehand: {case.analysis.unanalysable}"
        elif left := case.unapproved():
            lacks = case.allowance(case.rules.own["allow"]).lacking(left[0])
            reason = f"no rule allows {shown(left)}" + (f": {lacks}" if lacks else "")
    elif untold := next((r for r in case.rules.own["allow"] if r in case.untold), None):
        pattern = untold.rule.pattern
        reason = f"the rule {pattern!r} does not allow it: {case.untold[untold]}"
    return Judgement(decision="ask", policy="fallback-ask", reason=reason)


POLICIES: dict[PolicyName, Policy] = {
    "auto-mode-ask-user-question-deny": _auto_question,
    "user-configured-deny": _deny_rules,
    "possible-deny-ask": possible_deny,
    "configuration-write-ask": _configuration_write,
    "dangerous-command-ask": _dangerous_command,
    "auto-mode-approve": _auto_mode,
    "session-approval-history": _session_approvals,
    "user-configured-ask": _ask_rules,
    "user-configured-allow": _allow_rules,
    "sensitive-file-access-ask": _sensitive_file,
    "git-control-path-access-ask": _git_control,
    "yolo-mode-approve": _yolo_mode,
    "default-tool-approve": _reads_only,
    "git-cwd-write-approve": _git_cwd_write,
    "fallback-ask": _fallback,
}
