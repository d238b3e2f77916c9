"""Finds permission rules that cannot do what whoever wrote them meant."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from toolcrib.config.permission import PermissionRule
from toolcrib.errors import Notice
from toolcrib.paths import Workspace
from toolcrib.permissions.commands import Allowance, Script
from toolcrib.permissions.touched import Match
from toolcrib.policy import MCP_PREFIX, find_inactive_tool_patterns, suggest
from toolcrib.rules import (
    Rule,
    is_every_call,
    match_glob_rule,
    match_path_rule,
    match_tool_name,
    names_argument,
    parse_rule,
    path_matcher,
)

_PATH_DOMAINS = frozenset({"read", "write", "edit", "media"})
_BEATEN_BY = {"allow": ("deny", "ask"), "ask": ("deny",), "deny": ()}
_PIECE = re.compile(r"\\(.)|(\*+)|(\?)|([^\\*?]+)", re.DOTALL)
_SOME_MCP_TOOL = f"{MCP_PREFIX}server__tool"
_UNSAMPLED = frozenset("[]{}()")
# What a star may stand for; no rule spells such characters out.
_TEXT_FILLINGS = ("", "\ue000zq", "\ue000 /z\nq")
_PATH_FILLINGS = (("", "\ue000"), ("\ue000zq", "\ue000zq"), ("\ue000zq", "\ue000/z/q"))


@frozen
class _Read:
    """A rule, taken apart, with the tools that it is about."""

    rule: PermissionRule
    parsed: Rule
    tools: tuple[str, ...]
    domains: frozenset[str]

    @property
    def about_paths(self) -> bool:
        return bool(self.domains) and self.domains <= _PATH_DOMAINS

    @property
    def of_no_argument(self) -> bool:
        """Whether its pattern is none that tools of MCP servers can be asked about."""
        pattern = self.parsed.arg_pattern
        return pattern is not None and not names_argument(pattern)


def lint_rules(
    rules: Sequence[PermissionRule],
    tools: Mapping[str, str],
    workspace: Workspace,
    *,
    beside: Sequence[PermissionRule] = (),
) -> Iterator[Notice]:
    """Name what is wrong with each rule, one finding a rule.

    Args:
        rules: those to judge.
        tools: the domain of every known tool, by name; those of MCP servers are not known.
        workspace: where relative patterns start.
        beside: rules that are in force with them, and were judged before.
    """
    earlier = [_read(rule, tools) for rule in beside]
    everything = [*earlier, *(_read(rule, tools) for rule in rules)]
    for read in everything[len(earlier) :]:
        text = (
            _unknown_tool(read, tools)
            or _covers_everything(read)
            or _names_no_argument(read)
            or _wrong_anchor(read, workspace)
            or _failed_example(read, workspace)
            or _duplicate(read, earlier)
            or _beaten(read, everything, workspace)
        )
        earlier.append(read)
        if text:
            yield Notice.at(
                read.rule.source,
                key="permission.rules",
                text=f"the rule {read.rule.decision} {read.rule.pattern!r} {text}",
            )


def _read(rule: PermissionRule, tools: Mapping[str, str]) -> _Read:
    parsed = parse_rule(rule.pattern)
    if parsed.tool_name.startswith(MCP_PREFIX) and is_every_call(parsed.arg_pattern or ""):
        parsed = Rule(parsed.tool_name)
    names = tuple(name for name in tools if match_tool_name(parsed.tool_name, name))
    return _Read(rule, parsed, names, frozenset(tools[name] for name in names))


def _unknown_tool(read: _Read, tools: Mapping[str, str]) -> str | None:
    name = read.parsed.tool_name
    if name.startswith(MCP_PREFIX):
        faults = find_inactive_tool_patterns([name], None)
        return f"is about no tool: {faults[0].reason}" if faults else None
    if read.tools:
        return None
    near = suggest(name, tools)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(tools))}"
    return f"is about no known tool; {hint}"


def _covers_everything(read: _Read) -> str | None:
    if read.parsed.arg_pattern is not None or not read.rule.pattern.endswith("()"):
        return None
    return f"covers every call of the tool; write {read.parsed.tool_name!r} if that is meant"


def _names_no_argument(read: _Read) -> str | None:
    name, allows = read.parsed.tool_name, read.rule.decision == "allow"
    if not read.of_no_argument or is_every_call(read.parsed.arg_pattern or ""):
        return None
    known = "rules about tools of MCP servers know no pattern but 'argument=pattern'"
    if name.startswith(MCP_PREFIX):
        fate = "allows nothing" if allows else "counts for every call"
        return f"{fate}: {known}; write {name!r} if every call is meant"
    if not allows and match_tool_name(name, _SOME_MCP_TOOL):
        return f"counts for every call of some tools: {known}; name the tools that are meant"
    return None


def _wrong_anchor(read: _Read, workspace: Workspace) -> str | None:
    pattern = (read.parsed.arg_pattern or "").lstrip("!")
    if not pattern or "search" in read.domains:  # a search's pattern is a regular expression
        return None
    if pattern.startswith("^") or (pattern.endswith("$") and not pattern.endswith("\\$")):
        bare = pattern.removeprefix("^").removesuffix("$")
        return (
            "can match nothing: '^' and '$' are plain characters here, and a pattern always "
            f"covers the whole; write {read.parsed.tool_name}({bare}) or put '*' where it is open"
        )
    if pattern != pattern.strip():
        return "can match nothing: its pattern begins or ends with a space"
    if pattern.endswith(":*") and "shell" in read.domains:
        return f"covers only a literal ':'; write {read.parsed.tool_name}({pattern[:-2]} *)"
    if not read.about_paths:
        return None
    return _missing_root(pattern, workspace) or _only_the_folder(read, pattern, workspace)


def _only_the_folder(read: _Read, pattern: str, workspace: Workspace) -> str | None:
    plain = pattern.rstrip("/")
    if not _UNSAMPLED.isdisjoint(plain) or "*" in plain or "?" in plain:
        return None
    if pattern.endswith("/") or os.path.isdir(os.path.join(workspace.root, plain)):
        name = read.parsed.tool_name
        return f"covers only the folder itself; for what is in it write {name}({plain}/**)"
    return None


def _missing_root(pattern: str, workspace: Workspace) -> str | None:
    first = pattern.removeprefix("/").partition("/")[0]
    if not pattern.startswith("/") or not first or not re.fullmatch(r"[\w.-]+", first):
        return None
    if os.path.lexists(f"/{first}") or workspace.root.startswith(f"/{first}/"):
        return None
    return (
        f"can match nothing: a leading '/' is the root of the disk, and there is no '/{first}'; "
        f"a path in the workspace is written {pattern.lstrip('/')!r}"
    )


def failed_example(
    rule: PermissionRule, tools: Mapping[str, str], workspace: Workspace
) -> str | None:
    """What is wrong with the first example of a rule that the rule contradicts."""
    return _failed_example(_read(rule, tools), workspace)


def _failed_example(read: _Read, workspace: Workspace) -> str | None:
    for example in read.rule.match:
        if not _matches_example(read, example, workspace):
            return f"does not match its example {example!r}"
    for example in read.rule.no_match:
        if _matches_example(read, example, workspace):
            return f"matches {example!r}, which it is said not to match"
    return None


def _matches_example(read: _Read, example: str, workspace: Workspace) -> bool:
    """Whether the rule would speak of a call about the example, by the rules' own judgement.

    An allow rule does when it lets the example run without another rule.
    """
    pattern = read.parsed.arg_pattern
    if pattern is None:
        return True
    if read.about_paths:
        return path_matcher(example, workspace)(pattern)
    if read.parsed.tool_name.startswith(MCP_PREFIX) and read.of_no_argument:
        return read.rule.decision != "allow"
    if "shell" not in read.domains:
        return match_glob_rule(pattern, example)
    from toolcrib.shell import analyse_command

    script = analyse_command(example, cwd=workspace.root, home_dir=workspace.home_dir)
    if read.rule.decision == "allow":
        return Allowance((pattern,), (), workspace).covers_all(script)
    return Script(script).spoken_of(pattern) is Match.YES


def _duplicate(read: _Read, earlier: Sequence[_Read]) -> str | None:
    for other in earlier:
        if other.rule.decision == read.rule.decision and other.parsed == read.parsed:
            return f"stands at {other.rule.source} already"
    return None


def _beaten(read: _Read, everything: Sequence[_Read], workspace: Workspace) -> str | None:
    """A rule never decides when a rule of a stronger decision covers all that it covers."""
    for other in everything:
        if other.rule.decision in _BEATEN_BY[read.rule.decision] and _covers(
            other, read, workspace
        ):
            return (
                f"never decides: {other.rule.decision} {other.rule.pattern!r} at "
                f"{other.rule.source} covers all that it covers"
            )
    return None


def _covers(wide: _Read, narrow: _Read, workspace: Workspace) -> bool:
    names = narrow.tools or (narrow.parsed.tool_name,)
    same_tools = wide.parsed.tool_name == narrow.parsed.tool_name
    if not same_tools and not all(match_tool_name(wide.parsed.tool_name, n) for n in names):
        return False
    pattern, inner = wide.parsed.arg_pattern, narrow.parsed.arg_pattern
    if pattern is None or pattern == inner:
        return True
    if inner is None:
        return False
    samples = _samples(inner, about_paths=narrow.about_paths)
    if not narrow.about_paths:
        return bool(samples) and all(match_glob_rule(pattern, sample) for sample in samples)
    return bool(samples) and all(
        match_path_rule(pattern, sample, cwd=workspace.root, home_dir=workspace.home_dir)
        for sample in samples
    )


def _samples(pattern: str, *, about_paths: bool) -> list[str]:
    """Some of the texts that a pattern covers; none for one with more than `*` and `?`."""
    if pattern.startswith("!") or not _UNSAMPLED.isdisjoint(pattern):
        return []
    samples = []
    fillings = _PATH_FILLINGS if about_paths else [(one, one) for one in _TEXT_FILLINGS]
    for one, many in fillings:
        sample = ""
        for escaped, stars, mark, plain in _PIECE.findall(pattern):
            star = many if len(stars) > 1 else one
            sample += escaped or plain or (star if stars else "\ue001" if mark else "")
        samples.append(sample)
    return samples
