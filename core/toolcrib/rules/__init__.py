"""Permission rules: their text, and whether they cover the subject of a call."""

from __future__ import annotations

from toolcrib.rules.path import match_path_rule, path_matcher
from toolcrib.rules.rule import Rule, literal_rule, parse_rule
from toolcrib.rules.text import match_glob_rule, match_tool_name, text_matcher

__all__ = [
    "Rule",
    "literal_rule",
    "match_glob_rule",
    "match_path_rule",
    "match_tool_name",
    "parse_rule",
    "path_matcher",
    "text_matcher",
]
