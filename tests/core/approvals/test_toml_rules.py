"""A rule goes into the text of a configuration and out of it, and nothing else changes."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.approvals.toml_rules import (
    CannotEdit,
    allow_rules,
    line_of,
    with_rule,
    without_rule,
)
from toolcrib.rules import literal_rule

NEW = "Bash(git push \\*)"


def patterns(text: str) -> list[str]:
    return [pattern for _, pattern in allow_rules(text)]


def is_supersequence(longer: str, shorter: str) -> bool:
    """Whether `shorter` is what is left of `longer` when characters are taken out."""
    rest = iter(longer)
    return all(char in rest for char in shorter)


SHAPES = {
    "an empty file": "",
    "only a comment": "# mine\n",
    "no newline at the end": "default_profile = 'x'",
    "an array": '[permission]\nallow = ["A"] # of tools\n\n[tools]\n',
    "an empty array": "[permission]\nallow = []\n",
    "an empty array over lines": "[permission]\nallow = [ # nothing\n]\n",
    "an array over lines": '[permission]\nallow = [\n    "A", # a\n    "B", # b\n]\n',
    "an array without the last comma": (
        '[permission]\nallow = [\n  "A", # a\n  # of b\n  "B" # b\n  # the end\n]\n'
    ),
    "commas in front": '[permission]\nallow = [\n  "A" # a\n  , "B" # b\n]\n',
    "a comma far behind": '[permission]\nallow = [\n  "A" # a\n  ,\n]\n',
    "a bracket behind the last": '[permission]\nallow = [\n  "A",\n  "B"]\n',
    "a single text": '[permission]\nallow = "A" # only\n',
    "a single table": '[permission]\nallow = { pattern = "A", reason = "r" } # only\n',
    "tables in an array": '[permission]\nallow = [{ pattern = "A", reason = "r" }]\n',
    "an array of allow tables": '[[permission.allow]]\npattern = "A"\n# end\n[tools]\n',
    "rules as tables": (
        '[[permission.rules]]\ndecision = "deny"\npattern = "A"\n\n# on tools\n[tools]\n'
    ),
    "rules in an array": '[permission]\nrules = [{ decision = "deny", pattern = "A" }]\n[z]\n',
    "rules over lines": (
        '[permission]\nrules = [\n  { decision = "deny", pattern = "A" }, # no\n]\n[z]\n'
    ),
    "no rules in an array": "[permission]\nrules = []\n",
    "a dotted key": 'permission.default_mode = "yolo" # m\n[tools]\ndisabled = []\n',
    "a dotted array": 'permission.allow = ["A"]\n',
    "dotted rules": 'permission.rules = [{ decision = "ask", pattern = "A" }]\n[z]\n',
    "an inline table": 'permission = { default_mode = "yolo" } # m\n[tools]\n',
    "an empty inline table": "permission = {}\n",
    "an inline table with an array": 'permission = { allow = ["A"] }\n',
    "an inline table with rules": 'permission = {rules = [{decision="deny",pattern="A"}]}\n',
    "a table torn apart": (
        '[permission]\ndefault_mode = "yolo"\n[z]\n[[permission.rules]]\ndecision = "ask"\n'
        'pattern = "A"\n[y]\n'
    ),
    "quoted keys": '["permission"]\n"allow" = [\'A\']\n',
    "texts that look like tables": '[z]\nx = """\n[permission]\nallow = ["B"]\n"""\n',
    "a number that equals nothing": "[other]\nx = nan\ny = [inf, 1.0]\n",
    "Windows line ends": '[permission]\r\nallow = [\r\n  "A", # a\r\n  "B" # b\r\n]\r\n',
    "Windows line ends, no rules": '# x\r\n[tools]\r\ndisabled = ["A"]\r\n',
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES.keys())
def test_a_rule_is_added_to_every_shape(text: str) -> None:
    """By inserting text only, so whatever was there is still there."""
    edited = with_rule(text, NEW)
    assert patterns(edited).count(NEW) == 1
    assert is_supersequence(edited, text)
    assert edited.endswith("\n") == (text.endswith("\n") or not text)
    assert ("\r\n" in text) == ("\r\n" in edited)
    assert not re.search(r"(?<!\r)\n", edited) or "\r" not in text
    line = line_of(edited, NEW)
    assert line is not None
    assert NEW in "\n".join(edited.splitlines()[line - 1 : line + 2])


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES.keys())
def test_a_rule_is_taken_out_of_every_shape(text: str) -> None:
    """What it leaves behind says what the file said before."""
    back = without_rule(with_rule(text, NEW), NEW)
    assert NEW not in patterns(back)
    assert meaning(back) == meaning(text)
    assert comments(back) == comments(text)


def comments(text: str) -> list[str]:
    """The comments in a text whose strings hold no `#`."""
    return re.findall(r"#[^\r\n]*", text)


def meaning(text: str) -> tuple[Any, Any, Any]:
    """What a file says: an allow rule may be written in more than one way."""
    data = tomllib.loads(text, parse_float=str)
    table = data.get("permission", {})
    allow = table.pop("allow", [])
    rules = table.pop("rules", [])
    if not table:
        data.pop("permission", None)
    return data, allow if isinstance(allow, list) else [allow], rules


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('allow = ["A", "X", "B"]', 'allow = ["A", "B"]'),
        ('allow = ["X", "B"]', 'allow = ["B"]'),
        ('allow = ["A", "X"]', 'allow = ["A"]'),
        ('allow = ["A", "X",]', 'allow = ["A", ]'),
        ('allow = ["X"]', "allow = []"),
        ('allow = "X" # why', "allow = [] # why"),
        (
            'allow = [\n  "A", # a\n  "X", # x\n  # b\n  "B",\n]',
            'allow = [\n  "A", # a\n  # b\n  "B",\n]',
        ),
        ('allow = [\n  "A",\n  "X" # x\n]', 'allow = [\n  "A",\n]'),
        ('allow = ["X", "A", "X"]', 'allow = ["A"]'),
        ('allow = [{ pattern = "X", reason = "r" }, "A"]', 'allow = ["A"]'),
        ('rules = [{ decision = "allow", pattern = "X" }]', "rules = []"),
    ],
)
def test_only_the_rule_is_taken_out(before: str, after: str) -> None:
    head, tail = "# top\n[permission]\n", "\n\n# end\n[tools]\ndisabled = []\n"
    assert without_rule(f"{head}{before}{tail}", "X") == f"{head}{after}{tail}"


def test_a_table_is_taken_out_with_its_keys_and_without_the_comments_around_it() -> None:
    text = (
        '# first\n[tools]\n\n# about x\n[[permission.rules]] # h\ndecision = "allow"\n'
        '# inside\npattern = "X"\nreason = """\nlong\n"""\n\n# next\n[[permission.rules]]\n'
        'decision = "deny"\npattern = "X"\n'
    )
    assert without_rule(text, "X") == (
        "# first\n[tools]\n\n# about x\n# inside\n\n# next\n[[permission.rules]]\n"
        'decision = "deny"\npattern = "X"\n'
    )


@pytest.mark.parametrize("decision", ["deny", "ask"])
def test_rules_that_deny_or_ask_stay(decision: str) -> None:
    text = (
        f'[permission]\n{decision} = ["X"]\n'
        f'[[permission.rules]]\ndecision = "{decision}"\npattern = "X"\n'
    )
    assert without_rule(text, "X") == text


def test_a_rule_that_is_not_there_changes_nothing() -> None:
    text = "[permission]\nallow = [ 'A' ]   # spaced\n"
    assert without_rule(text, "X") == text


def test_a_rule_with_tables_of_its_own_is_left_alone() -> None:
    """Nobody can have meant it, and a part of it must not become a rule of its own."""
    text = (
        '[[permission.rules]]\ndecision = "allow"\npattern = "X"\n[permission.rules.more]\ny = 1\n'
    )
    with pytest.raises(CannotEdit):
        without_rule(text, "X")


def test_a_permission_that_is_no_table_has_no_place_for_a_rule() -> None:
    with pytest.raises(CannotEdit):
        with_rule("permission = 3\n", NEW)


keys = st.sampled_from(["default_mode", "auto_respects_ask", "deny", "ask", "allow", "rules"])
names = st.sampled_from(["Bash(ls *)", "Read", "Write(src/**)", "Bash(a \\* b)", "X"])
spaces = st.sampled_from(["", " ", "  "])
remarks = st.sampled_from(["", " # why", "  #"])
whole_remarks = st.sampled_from(["", "# a line\n", "\n", "\n# on what follows\n\n"])


@st.composite
def strings(draw: st.DrawFn) -> str:
    name = draw(names)
    return f"'{name}'" if "\\" in name or draw(st.booleans()) else f'"{name}"'


@st.composite
def arrays(draw: st.DrawFn, elements: st.SearchStrategy[str]) -> str:
    items = draw(st.lists(elements, max_size=3))
    if draw(st.booleans()):
        comma = "," if bool(items) and draw(st.booleans()) else ""
        return f"[{draw(spaces)}{', '.join(items)}{comma}{draw(spaces)}]"
    text = f"[{draw(remarks)}\n"
    for index, item in enumerate(items):
        last = index == len(items) - 1
        comma = "" if last and draw(st.booleans()) else ","
        text += draw(whole_remarks) + f"{draw(spaces)}{item}{comma}{draw(remarks)}\n"
    return text + draw(whole_remarks) + "]"


@st.composite
def rule_tables(draw: st.DrawFn) -> str:
    decision = draw(st.sampled_from(["allow", "ask", "deny"]))
    return f'{{decision = "{decision}", pattern = {draw(strings())}}}'


@st.composite
def pairs(draw: st.DrawFn, prefix: str = "") -> str:
    text = ""
    for key in draw(st.lists(keys, unique=True, max_size=4)):
        if key == "rules":
            value = draw(arrays(rule_tables()))
        elif key in ("deny", "ask", "allow"):
            value = draw(st.one_of(strings(), arrays(strings())))
        else:
            value = {"default_mode": '"manual"', "auto_respects_ask": "true"}[key]
        text += draw(whole_remarks) + f"{prefix}{key} = {value}{draw(remarks)}\n"
    return text


@st.composite
def rule_headers(draw: st.DrawFn) -> str:
    text = ""
    for _ in range(draw(st.integers(0, 2))):
        decision = draw(st.sampled_from(["allow", "ask", "deny"]))
        text += draw(whole_remarks) + f"[[permission.rules]]{draw(remarks)}\n"
        text += f'decision = "{decision}"\n{draw(whole_remarks)}pattern = {draw(strings())}\n'
    return text


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Configuration files as people write them."""
    top = draw(whole_remarks) + draw(st.sampled_from(["", "default_profile = 'x'\n"]))
    tools = draw(whole_remarks) + '[tools] # t\ndisabled = ["A", "B"]\n' + draw(whole_remarks)
    kind = draw(st.sampled_from(["none", "table", "dotted", "tables"]))
    if kind == "none":
        text = top + tools
    elif kind == "dotted":
        text = top + draw(pairs("permission.")) + tools
    elif kind == "table":
        text = top + "[permission]\n" + draw(pairs()) + tools
    else:
        text = top + draw(rule_headers()) + tools + draw(rule_headers())
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@given(documents(), st.text(max_size=20))
@settings(max_examples=300, deadline=None)
def test_a_round_trip_loses_no_comment_and_no_key(text: str, subject: str) -> None:
    pattern = literal_rule("Bash", subject + "!")
    edited = with_rule(text, pattern)
    assert is_supersequence(edited, text)
    assert pattern in patterns(edited)
    back = without_rule(edited, pattern)
    assert comments(back) == comments(text)
    assert meaning(back) == meaning(text)


@given(documents(), names)
@settings(max_examples=300, deadline=None)
def test_taking_out_a_rule_takes_out_nothing_else(text: str, pattern: str) -> None:
    back = without_rule(text, pattern)
    assert pattern not in patterns(back)
    assert sorted(patterns(back)) == sorted(p for p in patterns(text) if p != pattern)
    assert is_supersequence(text.replace("'", '"'), re.sub(r"= \[\]", "= ", back).replace("'", '"'))
    whole = [line.strip() for line in text.splitlines() if line.strip().startswith("#")]
    kept = [line.strip() for line in back.splitlines()]
    assert all(line in kept for line in whole)
