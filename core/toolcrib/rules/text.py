"""Rules about text: commands, URLs, queries, names of tools."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib.rules.glob import compile_or_none
from toolcrib.rules.negation import apply_negated


def match_glob_rule(rule_args: str, subject: str) -> bool:
    """Tell whether the arguments of a rule cover a text.

    `*` stands for any characters, slashes, dots and newlines included; case counts. Empty
    arguments cover everything, a leading `!` turns the rest around. Never raises.
    """
    return apply_negated(rule_args, lambda pattern: _covers(pattern, subject))


def text_matcher(subject: str) -> Callable[[str], bool]:
    """Give the `matches_rule` of a call whose subject is a text."""
    return lambda rule_args: match_glob_rule(rule_args, subject)


def match_tool_name(pattern: str, name: str) -> bool:
    """Tell whether the tool part of a rule, or a pattern of a policy, covers a tool.

    Case counts, and a lone `*` covers every tool.
    """
    return pattern in ("*", name) or match_glob_rule(pattern, name)


def _covers(pattern: str, subject: str) -> bool:
    if pattern == subject:
        return True
    glob = compile_or_none(pattern, segmented=False)
    if glob is None:
        return False
    if glob.literal is not None:
        return subject == glob.literal
    if not subject:
        return False
    if glob.matches(subject) or _covers_as_tree(pattern, subject):
        return True
    if not pattern.startswith("./") and not subject.startswith("./"):
        return False
    bare = compile_or_none(pattern.removeprefix("./"), segmented=False)
    return bare is not None and bare.matches(subject.removeprefix("./"))


def _covers_as_tree(pattern: str, subject: str) -> bool:
    """Read the pattern as one of paths: `https://host/**` covers `https://host` too."""
    tree = compile_or_none(pattern, segmented=True) if "**" in pattern else None
    return tree is not None and tree.matches(subject)
