"""What select_tools loads, and how it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.selection.search import search

ISSUE, REPOS = "mcp__github__create_issue", "mcp__github__listRepos"
GITHUB = {"create_issue": "Opens a ticket.", "listRepos": "Shows all projects of a user."}


async def test_by_exact_names(host: Callable[..., Any]) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("github", GITHUB)
        begun.told()
        result = await begun.select(ISSUE, ISSUE)
        assert (result.output, result.is_error) == (f"Loaded: {ISSUE}", False)
        result = await begun.select(ISSUE, REPOS, "Read")
        lines = str(result.output).splitlines()
        assert lines == [f"Loaded: {REPOS}", f"Already available: {ISSUE}, Read"]
        assert begun.given() == [ISSUE, REPOS]


async def test_an_unknown_name_gets_close_ones(host: Callable[..., Any]) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("github", GITHUB)
        result = await begun.select("mcp__github__create_isue")
        assert result.is_error and ISSUE in str(result.output)
        result = await begun.select("create_issue")
        assert result.is_error and ISSUE in str(result.output)
        result = await begun.select("zzz", ISSUE)
        assert not result.is_error and "'zzz'" in str(result.output)


async def test_by_a_whole_line_of_the_announcement(host: Callable[..., Any]) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("github", GITHUB)
        (message,) = begun.session.context_messages()
        line = next(each for each in message.text.splitlines() if ISSUE in each)
        assert line != ISSUE
        assert (await begun.select(line)).output == f"Loaded: {ISSUE}"


async def test_one_that_policy_forbids_is_for_the_user_to_enable(host: Callable[..., Any]) -> None:
    begun = host(config={"tools": {"disabled": [ISSUE]}})
    async with begun.harness:
        begun.offer("github", GITHUB)
        assert begun.told() == ([REPOS], [])
        result = await begun.select(ISSUE)
        assert result.is_error
        assert "disabled" in str(result.output) and "user" in str(result.output)


@pytest.mark.parametrize("pattern", ["mcp__github__*", "github:*", "mcp__git*__*", "*"])
async def test_by_pattern(host: Callable[..., Any], pattern: str) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("github", GITHUB)
        begun.told()
        await begun.select(pattern)
        assert begun.given() == [ISSUE, REPOS]


async def test_by_server_and_tool(host: Callable[..., Any]) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("github", GITHUB)
        assert (await begun.select("github:create_issue")).output == f"Loaded: {ISSUE}"
        assert (await begun.select("github:no_such")).is_error
        assert (await begun.select("gitlab:*")).is_error


async def test_a_pattern_loads_so_many_and_says_what_it_leaves_out(
    host: Callable[..., Any],
) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("big", {f"t{n:02}": "x" for n in range(30)})
        begun.told()
        result = await begun.select("big:*")
        assert "10 more" in str(result.output) and "mcp__big__t20" in str(result.output)
        assert len(begun.given()) == 20


async def test_by_keywords(host: Callable[..., Any]) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("github", GITHUB)
        begun.offer("wiki", {"read_page": "Reads a page of the wiki.", "create_page": "New page."})
        begun.told()
        await begun.select(query="open a ticket on github")
        assert begun.given() == [ISSUE]
        result = await begun.select("wiki:read_page", query="tickets")
        lines = str(result.output).splitlines()
        assert lines == ["Loaded: mcp__wiki__read_page", f"Already available: {ISSUE}"]
        assert (await begun.select(query="astronomy")).is_error


async def test_without_anything_asked_it_is_refused(host: Callable[..., Any]) -> None:
    begun = host()
    async with begun.harness:
        refused: list[dict[str, Any]]
        refused = [{}, {"names": []}, {"query": ""}, {"query": "x" * 501}]
        for arguments in refused:
            done = await begun.harness.call("select_tools", arguments)
            assert done.outcome == "preflight-rejected"


TOOLS = [
    ("mcp__github__createIssue", "Opens a ticket in a repository."),
    ("mcp__github__list_repositories", "Lists what a user has."),
    ("mcp__db__run-query", "Runs SQL, and tells of issues with it."),
    ("mcp__wiki__search", "維基百科の検索 finds articles."),
]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("issue", "mcp__github__createIssue"),
        ("create issues", "mcp__github__createIssue"),
        ("createissue", "mcp__github__createIssue"),
        ("repo", "mcp__github__list_repositories"),
        ("SQL", "mcp__db__run-query"),
        ("run_query", "mcp__db__run-query"),
        ("how can I see the list of GitHub repositories?", "mcp__github__list_repositories"),
        ("検索", "mcp__wiki__search"),
    ],
)
def test_the_best_comes_first(query: str, best: str) -> None:
    assert search(query, TOOLS, limit=10)[0] == best


def test_a_tool_with_all_words_keeps_out_those_with_some() -> None:
    assert search("github issue", TOOLS, limit=10) == ["mcp__github__createIssue"]
    assert len(search("github articles", TOOLS, limit=10)) == 3
    assert len(search("github articles", TOOLS, limit=2)) == 2


@settings(max_examples=150, deadline=None)
@given(query=st.text(max_size=600), description=st.text(max_size=60))
def test_any_text_is_a_query(query: str, description: str) -> None:
    found = search(query, [*TOOLS, ("t", description)], limit=3)
    assert len(found) <= 3


@pytest.mark.parametrize(
    "query", ['"', "a OR", "NEAR(a b)", "name:x*", "\x00", "\ud800", "-", "^a"]
)
def test_operators_are_text(query: str) -> None:
    search(query, [*TOOLS, ("t", "\ud800")], limit=3)
