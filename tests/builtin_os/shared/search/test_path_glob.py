"""Patterns for paths are matched right, and in linear time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_os.shared.search.path_glob import (
    MAX_ALTERNATIVES,
    GlobError,
    compile_glob,
    expand_braces,
)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a", ["a"]),
        ("{a,b}c", ["ac", "bc"]),
        ("{a,{b,c}d,}x", ["ax", "bdx", "cdx", "x"]),
        ("{a}", ["a"]),
        (r"\{a,b}", [r"\{a,b}"]),
        ("{a,b", ["{a,b"]),
        ("{x{a,b}", ["{xa", "{xb"]),
        ("[{,}]", ["[{,}]"]),
        ("f{08..11}", ["f08", "f09", "f10", "f11"]),
        ("{2..0}", ["2", "1", "0"]),
    ],
)
def test_braces_stand_for_alternatives(pattern: str, expected: list[str]) -> None:
    assert expand_braces(pattern) == expected


@pytest.mark.parametrize(
    "pattern", ["{a,b}" * 20, f"{{0..{MAX_ALTERNATIVES}}}", "{" * 999, "a/../b"]
)
def test_patterns_beyond_the_limits_are_refused(pattern: str) -> None:
    with pytest.raises(GlobError):
        compile_glob(pattern)


@pytest.mark.parametrize(
    "pattern", ["*a" * 60 + "b", "**/*a/" * 60 + "b", "**/" * 200 + "x", "?*" * 200 + "b"]
)
@pytest.mark.timeout(5)
def test_no_pattern_takes_forever(pattern: str) -> None:
    glob = compile_glob(pattern)
    for path in ("a/" * 2000 + "c", "a" * 4000, "aaa/" * 1000):
        assert not glob.matches(path)


def slowly_matches(names: list[str], path: list[str]) -> bool:
    """The definition of a pattern, with backtracking."""
    if not names:
        return not path
    if names[0] == "**":
        if len(names) == 1:
            return bool(path)
        return any(slowly_matches(names[1:], path[start:]) for start in range(len(path) + 1))
    regex = "".join({"*": "[^/]*", "?": "[^/]"}.get(c, re.escape(c)) for c in names[0])
    return (
        bool(path)
        and re.fullmatch(regex, path[0]) is not None
        and slowly_matches(names[1:], path[1:])
    )


NAMES = st.lists(st.one_of(st.just("**"), st.text("ab*?", min_size=1, max_size=4)), min_size=2)
PATHS = st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=5)


@settings(max_examples=300, deadline=None)
@given(NAMES.map(lambda names: names[:5]), PATHS)
def test_wildcards_cover_what_their_definition_covers(names: list[str], path: list[str]) -> None:
    names = [re.sub(r"\*\*+", "*", name) if name != "**" else name for name in names]
    assert compile_glob("/".join(names)).matches("/".join(path)) == slowly_matches(names, path)


@settings(max_examples=200, deadline=None)
@given(st.text("ab{}[]!^-,.*?/\\:~ \n", max_size=12), st.text("ab/[{", max_size=6))
def test_any_text_compiles_or_is_refused(pattern: str, path: str) -> None:
    try:
        compile_glob(pattern).matches(path)
    except GlobError as error:
        assert str(error)


@given(st.text("ab*?[]{},\\!-/", min_size=1, max_size=10))
def test_an_escaped_path_covers_itself(path: str) -> None:
    names = [name for name in path.split("/") if name]
    if names:
        literal = "/".join(names)
        escaped = "/" + re.sub(r"([*?\[\]{},\\!-])", r"\\\1", literal)
        assert compile_glob(escaped).matches(literal)
