"""Tool policy: what a layer leaves active, and which patterns do nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.policy import (
    InactivePattern,
    ToolPolicy,
    find_inactive_tool_patterns,
    is_tool_active,
    suggest,
)

NAMES = st.sampled_from(["Read", "Bash", "mcp__gh__list", "mcp__gh__x", "*", "mcp__*", "Ba*"])


class TestIsToolActive:
    def test_an_empty_policy_leaves_everything_active(self) -> None:
        assert is_tool_active(ToolPolicy(), "Bash", "builtin")
        assert is_tool_active(ToolPolicy(), "mcp__gh__x", "mcp")

    def test_no_tools_at_all_can_be_allowed(self) -> None:
        assert not is_tool_active(ToolPolicy(tools=[]), "Bash", "builtin")

    def test_a_plugins_tool_goes_by_its_full_name(self) -> None:
        assert is_tool_active(ToolPolicy(tools=["Dice"]), "Dice", "plugin")
        assert not is_tool_active(ToolPolicy(tools=["D*"]), "Dice", "plugin")

    def test_a_pattern_covers_tools_of_mcp_servers_alone(self) -> None:
        policy = ToolPolicy(tools=["mcp__gh__*"])
        assert is_tool_active(policy, "mcp__gh__x", "mcp")
        assert not is_tool_active(policy, "mcp__gh__x", "user")

    @given(
        st.none() | st.lists(NAMES, max_size=3),
        st.lists(NAMES, max_size=3),
        NAMES,
        st.sampled_from(["builtin", "user", "plugin", "mcp"]),
    )
    def test_a_further_denial_never_activates(
        self, tools: list[str] | None, denied: list[str], name: str, source: str
    ) -> None:
        policy = ToolPolicy(tools=tools, disallowed_tools=denied)
        narrower = ToolPolicy(tools=tools, disallowed_tools=[*denied, "Read", "mcp__*"])
        assert is_tool_active(policy, name, source) >= is_tool_active(narrower, name, source)


class TestFindInactivePatterns:
    @pytest.mark.parametrize(
        ("pattern", "kind"),
        [
            ("*", "wildcard-not-mcp"),
            ("Ba?h", "wildcard-not-mcp"),
            ("mcp__github", "incomplete-mcp-name"),
            ("mcp__github__", "incomplete-mcp-name"),
            ("Bsh", "unknown-tool"),
        ],
    )
    def test_a_pattern_that_matches_nothing_is_told(self, pattern: str, kind: str) -> None:
        (found,) = find_inactive_tool_patterns([pattern], {"Bash"})
        assert (found.pattern, found.kind) == (pattern, kind)
        assert found.reason

    def test_good_patterns_are_not_told(self) -> None:
        patterns = ["Bash", "mcp__gh__x", "mcp__gh__*", "mcp__gh*"]
        assert find_inactive_tool_patterns(patterns, {"Bash"}) == []

    def test_without_a_vocabulary_the_form_alone_is_judged(self) -> None:
        found = find_inactive_tool_patterns(["Anything", "x*"], None)
        assert found == [InactivePattern("x*", "wildcard-not-mcp")]

    @given(st.lists(NAMES, max_size=4), NAMES)
    def test_a_pattern_that_is_told_matches_no_tool(self, patterns: list[str], name: str) -> None:
        known = {"Read", "Bash"}
        source = "mcp" if name.startswith("mcp__") else "builtin"
        for found in find_inactive_tool_patterns(patterns, known):
            if name in known or source == "mcp":
                assert not is_tool_active(ToolPolicy(tools=[found.pattern]), name, source)


class TestSuggest:
    def test_close_names_come_first_whatever_their_case(self) -> None:
        known = ["Read", "Write", "Bash", "TaskList", "ReadMediaFile"]
        assert suggest("read", known)[0] == "Read"
        assert suggest("Bashh", known) == ("Bash",)
        assert suggest("task_list", known) == ("TaskList",)

    def test_nothing_is_suggested_for_a_strange_name(self) -> None:
        assert suggest("zzzzqqqq", ["Read", "Bash"]) == ()
