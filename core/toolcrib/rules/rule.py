"""The text of a permission rule: `Tool` or `Tool(arguments)`."""

from __future__ import annotations

from attrs import frozen

from toolcrib.errors import RuleError
from toolcrib.rules.glob import compile_glob

_ESCAPES = str.maketrans({char: f"\\{char}" for char in "\\*?[]{}()!+@|"})


@frozen
class Rule:
    """What a permission rule covers.

    Attributes:
        tool_name: a pattern for the names of tools.
        arg_pattern: what the tool's matcher is asked about; None covers every call of the tool.
    """

    tool_name: str
    arg_pattern: str | None = None


def parse_rule(text: str) -> Rule:
    """Take a rule apart; `Tool()` is the same as `Tool`.

    Raises:
        RuleError: the text is no rule, or its pattern is too intricate to be matched.
    """
    rule = text.strip()
    if not rule:
        raise RuleError("a permission rule is empty: write 'Tool' or 'Tool(pattern)'")
    name, opened, rest = rule.partition("(")
    tool_name = name.rstrip()
    if not tool_name:
        raise RuleError(f"rule {text!r} names no tool before '(': write 'Tool(pattern)'")
    if opened and not rest.endswith(")"):
        raise RuleError(f"rule {text!r} has an opening '(' but does not end with ')'")
    pattern = rest[:-1] or None
    for part in (tool_name, pattern or ""):
        compile_glob(part, segmented=False)
    return Rule(tool_name, pattern)


def is_every_call(rule_args: str) -> bool:
    """Whether the arguments of a rule cover whatever there is: `*`, `**`."""
    return bool(rule_args) and not rule_args.strip("*")


def literal_rule(tool_name: str, subject: str) -> str:
    """Give the rule that covers exactly one subject of a tool."""
    return f"{tool_name}({escape(subject)})"


def escape(text: str) -> str:
    """Give the pattern that stands for exactly this text."""
    return text.translate(_ESCAPES)
