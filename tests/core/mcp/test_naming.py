"""The names of servers' tools: fit for providers, the same in every run, the parts kept apart."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib import qualify_tool_name, server_prefix


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("github", "list_issues", "mcp__github__list_issues"),
        ("my server", "do.thing", "mcp__my_server__do_thing"),
        ("a.b", "c", "mcp__a_b__c"),
        ("a..b", "c", "mcp__a_b__c"),
        ("a", "b__c", "mcp__a__b_c"),
        ("ä", "", "mcp_____"),
        ("srv", "t" * 54, "mcp__srv__" + "t" * 54),
        ("a" * 40, "b" * 40, "mcp__" + "a" * 40 + "__bbbbbbbb_87a02677"),
        ("server", "y" * 70, "mcp__server__" + "y" * 42 + "_68d605fe"),
        ("q", "z" * 60, "mcp__q__" + "z" * 47 + "_932488fe"),
    ],
)
def test_names_are_these(server: str, tool: str, name: str) -> None:
    assert qualify_tool_name(server, tool) == name


def test_64_characters_stay_and_65_are_cut_and_hashed() -> None:
    longest = qualify_tool_name("s", "t" * 56)
    cut = qualify_tool_name("s", "t" * 57)
    assert len(longest) == len(cut) == 64
    assert re.fullmatch(r"mcp__s__t{47}_[0-9a-f]{8}", cut)


def test_long_names_that_begin_alike_stay_apart() -> None:
    names = {qualify_tool_name("s", "t" * 60 + end) for end in "abcdef"}
    names |= {qualify_tool_name("s" * 60 + end, "t") for end in "abcdef"}
    assert len(names) == 12


@given(st.text(), st.text())
def test_any_name_is_fit_for_providers(server: str, tool: str) -> None:
    name = qualify_tool_name(server, tool)
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name)
    prefix = server_prefix(server)
    assert name.startswith(prefix[:55])


@given(st.text(max_size=20), st.text(max_size=20))
def test_neither_part_has_a_separator_of_its_own(server: str, tool: str) -> None:
    prefix = server_prefix(server)
    assert "__" not in prefix.removeprefix("mcp__").removesuffix("__")
    assert "__" not in qualify_tool_name(server, tool).removeprefix(prefix)
