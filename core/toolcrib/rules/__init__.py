"""Permission rules: their text, and whether they cover the subject of a call."""

from __future__ import annotations

from toolcrib.rules.arguments import arguments_matcher, names_argument
from toolcrib.rules.path import match_path_rule, path_matcher
from toolcrib.rules.rule import Rule, is_every_call, literal_rule, parse_rule
from toolcrib.rules.text import match_glob_rule, match_tool_name, text_matcher

__all__ = [
    "Rule",
    "arguments_matcher",
    "is_every_call",
    "literal_rule",
    "match_glob_rule",
    "match_path_rule",
    "match_tool_name",
    "names_argument",
    "parse_rule",
    "path_matcher",
    "text_matcher",
]
