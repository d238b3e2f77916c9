"""Rules about paths: segments, trees, homes, and spellings of one path."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.paths import Workspace
from toolcrib.rules import literal_rule, match_path_rule, parse_rule, path_matcher


def covers(pattern: str, subject: str) -> bool:
    return match_path_rule(pattern, subject, cwd="/w", home_dir="/home/u")


class TestPathRules:
    @pytest.mark.parametrize(
        ("subject", "pattern"),
        [
            ("/w/src/a.ts", "src/**"),
            ("/w/src/a.ts", "./src/**"),
            ("/w/src/a.ts", "/w/src/**"),
            ("/w/src/a.ts", "/W/SRC/**"),
            ("/w/src/a.ts", "**/*.ts"),
            ("/w/src/a.ts", "**"),
            ("/w/src/a.ts", "src/a.ts"),
            ("/w/src/a.ts", "lib/../src/*.ts"),
            ("/w/src/a.ts", "//w//src/./*"),
            ("/w/src/a.ts", "{src,lib}/**"),
            ("/w/src/a.ts", "/w/**/a.ts"),
            ("/w/src/a.ts", "/w/s?c/[a-c].ts"),
            ("/w/src/a.ts", "/w/!(lib)/*.ts"),
            ("/w/src/a.ts", ""),
            ("/w/a.ts", "/w/**/a.ts"),
            ("/w/a.ts", "*.ts"),
            ("/w/README.md", "!./src/**"),
            ("/w", "/w/**"),
            ("/w", "."),
            ("/w/src/", "src"),
            ("/w/src", "src/"),
            ("/w/.github/c.yml", "/w/**"),
            ("/w/.env", "*"),
            ("/lib/x", "../lib/*"),
            ("/home/u/n.txt", "~/**"),
            ("/home/u", "~"),
            ("~/n.txt", "/home/u/*"),
            ("/etc/hosts", "{/etc,/usr}/**"),
            ("/", "/**"),
            ("/w/a(1)[x].ts", parse_rule(literal_rule("Read", "/w/a(1)[x].ts")).arg_pattern or ""),
        ],
    )
    def test_covered(self, subject: str, pattern: str) -> None:
        assert covers(pattern, subject)

    @pytest.mark.parametrize(
        ("subject", "pattern"),
        [
            ("/w/src/a.ts", "*.ts"),
            ("/w/src/a.ts", "/w/*"),
            ("/w/src/a.ts", "!./src/**"),
            ("/w/src/a.ts", "/w/src?a.ts"),
            ("/w/src/a.ts", "/w/src[!x]a.ts"),
            ("/w/src/a.ts", "/w/!(src)/*.ts"),
            ("/w/src/a.ts", "s**"),
            ("/etcetera/x", "/etc/**"),
            ("/other/src/a.ts", "src/**"),
            ("/w/srcx", "src/**"),
        ],
    )
    def test_not_covered(self, subject: str, pattern: str) -> None:
        assert not covers(pattern, subject)

    def test_a_working_directory_with_special_characters_stands_for_itself(self) -> None:
        cwd = "/my [ws] (1) {a,b}*"
        assert match_path_rule("src/*", f"{cwd}/src/a", cwd=cwd, home_dir=None)
        assert match_path_rule("../x", "/x", cwd=cwd, home_dir=None)
        assert not match_path_rule("src/*", "/my w (1) a/src/a", cwd=cwd, home_dir=None)

    def test_a_matcher_knows_its_workspace(self) -> None:
        matches = path_matcher("/w/src/a.ts", Workspace("/w", home_dir="/w/src"))
        assert matches("src/*")
        assert matches("~/a.ts")
        assert matches("")
        assert not matches("!src/*")


SEGMENTS = st.sampled_from(
    [
        ("a", "a"),
        ("*", "[^/]*"),
        ("a*", "a[^/]*"),
        ("?", "[^/]"),
        ("{a,b}c", "(?:a|b)c"),
        (".a", r"\.a"),
    ]
)


class TestAgainstRegularExpressions:
    @given(
        st.lists(SEGMENTS | st.just(("**", "")), min_size=1, max_size=5),
        st.lists(st.sampled_from(["a", "b", "ac", ".a", "aa"]), min_size=1, max_size=5),
    )
    def test_a_pattern_covers_what_its_expression_matches(
        self, segments: list[tuple[str, str]], names: list[str]
    ) -> None:
        pattern = "".join(f"/{glob}" for glob, _ in segments)
        expression = "".join(
            "(?:/[^/]+)*" if glob == "**" else f"/{expression}" for glob, expression in segments
        )
        subject = "".join(f"/{name}" for name in names)
        assert covers(pattern, subject) == (re.fullmatch(expression, subject) is not None)

    @given(st.text(), st.text())
    def test_no_input_raises(self, pattern: str, subject: str) -> None:
        assert covers(pattern, subject) in (True, False)

    @given(st.text(alphabet="aA*?[]{}()!+@|\\./~,", min_size=1, max_size=8))
    def test_a_literal_rule_covers_its_own_path(self, name: str) -> None:
        path = f"/w/{name}"
        pattern = parse_rule(literal_rule("Read", path)).arg_pattern
        assert pattern is not None
        assert covers(pattern, path)
        assert not covers(pattern, f"{path}x")


@pytest.mark.parametrize(
    "pattern", ["**/" * 20_000 + "x?", "/*a*a*a*a*b", "**/*a*a*/**/*a*/**/b", "../" * 20_000 + "b*"]
)
def test_a_long_path_is_answered_at_once(pattern: str) -> None:
    assert not covers(pattern, "/aaa" * 25_000)


@pytest.mark.parametrize(
    "asked",
    ["caf\u00e9 1.txt", "cafe\u0301 1.txt", "caf\u00e9\u202f1.txt", "CAFE\u0301\u00a01.txt"],
)
@pytest.mark.parametrize("written", ["caf\u00e9 1.txt", "cafe\u0301\u202f1.txt", "caf\u00e9*"])
def test_a_rule_covers_every_unicode_spelling_of_a_name(written: str, asked: str) -> None:
    """Read may open a file under another spelling of its name; the rule on it must hold."""
    assert match_path_rule(written, f"/w/{asked}", cwd="/w", home_dir=None)
