"""The list of tools: pages, titles, and what is said of each."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib import ToolInfo
from toolcrib_features.mcp_server.tools import PAGE, described, listing, title_of


def info(name: str, domain: str = "other", source: str = "plugin") -> ToolInfo:
    return ToolInfo(name, source, "inline", domain, "p", "does it", {"properties": {}})  # type: ignore[arg-type]


@settings(max_examples=30)
@given(st.integers(0, 2 * PAGE + 5))
def test_pages_have_every_tool_once(count: int) -> None:
    """Whatever their number, and a last page has no cursor."""
    tools = [info(f"tool_{number:05}") for number in range(count)]
    seen, cursor, pages = [], None, 0
    while pages == 0 or cursor is not None:
        page = listing(tools, cursor)
        seen += [tool.name for tool in page.tools]
        cursor, pages = page.next_cursor, pages + 1
    assert seen == [tool.name for tool in tools]
    assert pages == max(1, -(-count // PAGE))


def test_a_page_goes_on_where_the_last_one_ended_though_tools_have_gone() -> None:
    """A tool that is withdrawn in between takes none of the others with it."""
    tools = [info(f"tool_{number:05}") for number in range(PAGE + 10)]
    first = listing(tools, None)
    left = [tool for tool in tools if tool.name not in ("tool_00000", tools[PAGE - 1].name)]
    second = listing(left, first.next_cursor)
    assert [tool.name for tool in second.tools] == [tool.name for tool in tools[PAGE:]]


@pytest.mark.parametrize("cursor", ["", "!", "YQ", "ä", "//8="])
def test_other_cursors_are_refused(cursor: str) -> None:
    """Unless they are ours by chance."""
    try:
        listing([info("a")], cursor)
    except ValueError:
        pass
    else:
        assert cursor == ""


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Read", "Read"),
        ("ReadMediaFile", "Read media file"),
        ("FetchURL", "Fetch URL"),
        ("WaitFor", "Wait for"),
        ("send_mail", "Send mail"),
        ("mcp__git__git_log", "Git log (git)"),
        ("_", "_"),
    ],
)
def test_titles(name: str, title: str) -> None:
    """Names as people would write them."""
    assert title_of(name) == title


def test_hints_are_given_only_where_they_are_certain() -> None:
    """A plugin's tool may call its domain what it likes."""
    assert described(info("A", "read", "builtin")).annotations is not None
    for domain, source in (("read", "plugin"), ("read", "mcp"), ("task", "builtin")):
        assert described(info("A", domain, source)).annotations is None


def test_every_schema_is_one_of_an_object() -> None:
    """Clients insist on it."""
    assert described(info("A")).input_schema["type"] == "object"
