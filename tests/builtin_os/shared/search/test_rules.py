"""A rule about a search can name what is looked for, or where."""

from __future__ import annotations

from toolcrib import Workspace
from toolcrib_os.shared.search.rules import search_matcher


def test_rules_cover_the_pattern_or_after_path_the_root() -> None:
    matches = search_matcher("TODO.*", "/w/src", Workspace("/w"))
    assert matches("TODO*")
    assert not matches("src/**")
    assert matches("path:src/**")
    assert matches("path:/w/*")
    assert not matches("path:docs/**")
    assert matches("!path:docs/**")
    assert not matches("!path:src")
