"""Puts an allow rule into the text of a `toolcrib.toml`, or takes one out, and touches no more.

A library that writes TOML anew may move or lose a comment, so the text itself is edited, and every
edit is read back before it counts.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolcrib.config.lines import KeyPath, Spans, index_lines, index_spans

_ALLOW: KeyPath = ("permission", "allow")
_RULES: KeyPath = ("permission", "rules")
_COMMA = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*,")
_REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n)")
_REST_AND_END = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?:\r?\n|\Z)")
_BARE = re.compile(r"[^\x00-\x1f'\x7f]*")

_Meaning = tuple[dict[str, Any], list[dict[str, Any]]]
"""What a file says beside its allow rules and `rules`, and those."""


class CannotEdit(Exception):
    """No edit of the text gives what was wanted."""


def allow_rules(text: str) -> Iterator[tuple[KeyPath, str]]:
    """The allow rules of a file, with the paths of their keys."""
    for path, rule in _rules_of(_parsed(text)):
        if rule["decision"] == "allow":
            yield path, rule["pattern"]


def line_of(text: str, pattern: str) -> int | None:
    """The line of the first allow rule with this pattern, counted from 1."""
    lines = index_lines(text)
    return next((lines[path] for path, found in allow_rules(text) if found == pattern), None)


def with_rule(text: str, pattern: str) -> str:
    """The text with one more allow rule.

    Raises:
        CannotEdit: there is no place for it.
    """
    spans = index_spans(text)
    wanted = _meaning(text)
    wanted[1].append({"decision": "allow", "pattern": pattern})
    for edit in _EDITS:
        edited = edit(text, spans, pattern)
        if edited is not None and _means(edited, wanted):
            return edited
    raise CannotEdit


def without_rule(text: str, pattern: str) -> str:
    """The text without the allow rules of this pattern; comments on lines of their own stay.

    Raises:
        CannotEdit: they cannot be taken out one by one.
    """
    while path := next((path for path, found in allow_rules(text) if found == pattern), None):
        rest, rules = _meaning(text)
        gone = next(rule for at, rule in _rules_of(_parsed(text)) if at == path)
        rules.remove(gone)
        text = _removed(text, index_spans(text), path)
        if not _means(text, (rest, rules)):
            raise CannotEdit
    return text


def _parsed(text: str) -> dict[str, Any]:
    return tomllib.loads(text, parse_float=str)  # a float that is no number equals nothing


def _rules_of(data: Mapping[str, Any]) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """The rules of a parsed file that have a decision and a pattern."""
    table = data.get("permission")
    if not isinstance(table, Mapping):
        return
    for key in ("rules", "allow"):
        value = table.get(key, [])
        entries: list[tuple[KeyPath, object]]
        if isinstance(value, list):
            entries = [(("permission", key, index), entry) for index, entry in enumerate(value)]
        else:
            entries = [(_ALLOW, value)] if key == "allow" else []
        for path, entry in entries:
            if rule := _as_rule(key, entry):
                yield path, rule


def _as_rule(key: str, entry: object) -> dict[str, Any] | None:
    rule = {"pattern": entry} if isinstance(entry, str) and key == "allow" else entry
    if not isinstance(rule, Mapping) or not isinstance(rule.get("pattern"), str):
        return None
    decision = rule.get("decision") if key == "rules" else key
    return {**rule, "decision": decision, "pattern": rule["pattern"].strip()}


def _meaning(text: str) -> _Meaning:
    """What a file says beside such rules, and the rules in whatever form they are written."""
    data = _parsed(text)
    rules = [rule for _, rule in _rules_of(data)]
    table = data.get("permission")
    if isinstance(table, dict):
        for key in ("allow", "rules"):
            value = table.get(key, [])
            if not isinstance(value, list) and key == "allow":
                value = [value]
            if isinstance(value, list):
                table[key] = [entry for entry in value if _as_rule(key, entry) is None]
                if not table[key]:
                    del table[key]
        if not table:
            del data["permission"]
    return data, rules


def _means(text: str, wanted: _Meaning) -> bool:
    try:
        data, rules = _meaning(text)
    except tomllib.TOMLDecodeError:
        return False
    left = list(wanted[1])
    for rule in rules:
        if rule not in left:
            return False
        left.remove(rule)
    return not left and data == wanted[0]


def _into_allow(text: str, spans: Spans, pattern: str) -> str | None:
    """Another element of `allow`; a single value becomes a list."""
    span = spans.values.get(_ALLOW)
    if span is None:
        return None
    begin, end = span
    if text[begin] == "[":
        return _appended(text, spans, _ALLOW, _quoted(pattern))
    return f"{text[:begin]}[{text[begin:end].rstrip()}, {_quoted(pattern)}]{text[end:]}"


def _as_table(text: str, spans: Spans, pattern: str) -> str:
    """A table `[[permission.rules]]` at the end."""
    newline = _newline(text)
    lines = ["[[permission.rules]]", 'decision = "allow"', f"pattern = {_quoted(pattern)}"]
    block = newline.join(lines)
    if not text.strip():
        return f"{text}{block}{newline}"
    if text.endswith("\n"):
        return f"{text}{newline}{block}{newline}"
    return f"{text}{newline}{newline}{block}"


def _into_rules(text: str, spans: Spans, pattern: str) -> str | None:
    """Another element of `rules = [...]`."""
    if _RULES not in spans.values:
        return None
    rule = f'{{ decision = "allow", pattern = {_quoted(pattern)} }}'
    return _appended(text, spans, _RULES, rule)


def _into_table(text: str, spans: Spans, pattern: str) -> str | None:
    """The key `allow` in `permission = {...}`."""
    span = spans.values.get(("permission",))
    if span is None or text[span[0]] != "{":
        return None
    at = span[0] + 1
    comma = "" if text[at : span[1] - 1].strip() == "" else ","
    return f"{text[:at]} allow = [{_quoted(pattern)}]{comma}{text[at:]}"


_EDITS: tuple[Callable[[str, Spans, str], str | None], ...] = (
    _into_allow,
    _as_table,
    _into_rules,
    _into_table,
)


def _appended(text: str, spans: Spans, array: KeyPath, element: str) -> str:
    """The text with one more element in an array, on a line of its own where the last one is."""
    last = spans.values.get((*array, _length(spans, array) - 1))
    if last is None:
        at = spans.values[array][0] + 1
        return f"{text[:at]}{element}{text[at:]}"
    begin, end = last
    indent = text[text.rfind("\n", 0, begin) + 1 : begin]
    comma = _COMMA.match(text, end)
    rest = _REST_OF_LINE.match(text, comma.end() if comma else end)
    if indent.strip() or rest is None:
        return f"{text[:end]}, {element}{text[end:]}"
    line_end = rest.end()
    line = f"{_newline(text)}{indent}{element}"
    if comma:
        return f"{text[:line_end]}{line},{text[line_end:]}"
    return f"{text[:end]},{text[end:line_end]}{line}{text[line_end:]}"


def _length(spans: Spans, array: KeyPath) -> int:
    length = 0
    while (*array, length) in spans.values:
        length += 1
    return length


def _removed(text: str, spans: Spans, path: KeyPath) -> str:
    if path in spans.headers:
        return _without_table(text, spans, path)
    span = spans.values[path]
    if path == _ALLOW:  # a single value; an inline table could not go without its comma
        return f"{text[: span[0]]}[]{text[span[1] :]}"
    return _without_element(text, spans, path)


def _without_element(text: str, spans: Spans, path: KeyPath) -> str:
    (begin, end), index = spans.values[path], path[-1]
    assert isinstance(index, int)
    if comma := _COMMA.match(text, end):
        text = text[: comma.end() - 1] + text[comma.end() :]
    elif index:
        before = spans.values[(*path[:-1], index - 1)][1]
        if text[before:begin].strip(" \t") == ",":
            begin = before
    return _cut(text, begin, end)


def _without_table(text: str, spans: Spans, path: KeyPath) -> str:
    """Cut the header and the keys of a table, the last first, and a blank line before them."""
    ends_in_newline = text.endswith("\n")
    inside = [span for key, span in spans.pairs.items() if key[: len(path)] == path]
    header = spans.headers[path]
    for begin, end in sorted((header, *inside), reverse=True):
        text = _cut(text, begin, end)
    start = text.rfind("\n", 0, header[0]) + 1
    above = re.search(r"\r?\n[ \t]*(\r?\n)\Z", text[:start])
    if above and (start == len(text) or re.match(r"[ \t]*\r?\n", text[start:])):
        text = text[: above.start(1)] + text[start:]
    return text if ends_in_newline else text.rstrip("\r\n")


def _cut(text: str, begin: int, end: int) -> str:
    """Cut a span, and the whole line when nothing but a comment behind it would be left."""
    start = text.rfind("\n", 0, begin) + 1
    rest = _REST_AND_END.match(text, end)
    if not text[start:begin].strip() and rest:
        return text[:start] + text[rest.end() :]
    return text[:begin] + text[end:].lstrip(" \t")


def _newline(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def _quoted(pattern: str) -> str:
    """The pattern as a TOML string, without escapes where that is possible."""
    if "\\" in pattern and _BARE.fullmatch(pattern):
        return f"'{pattern}'"
    return json.dumps(pattern, ensure_ascii=False).replace("\x7f", "\\u007f")
