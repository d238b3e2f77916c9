"""Rules about text: their form, what they cover, and that no input makes them slow or fail."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.errors import RuleError
from toolcrib.rules import (
    Rule,
    literal_rule,
    match_glob_rule,
    match_tool_name,
    parse_rule,
    text_matcher,
)


class TestParseRule:
    @pytest.mark.parametrize(
        ("text", "rule"),
        [
            (" Bash ", Rule("Bash")),
            ("Read()", Rule("Read")),
            ("Read(a(b))", Rule("Read", "a(b)")),
            ("Bash (git *)", Rule("Bash", "git *")),
            ("mcp__github__*", Rule("mcp__github__*")),
            ("{Read,Write}(!x)", Rule("{Read,Write}", "!x")),
        ],
    )
    def test_parts(self, text: str, rule: Rule) -> None:
        assert parse_rule(text) == rule

    @pytest.mark.parametrize("text", ["", "  ", "(x)", " (x)", "Read(x", "Read(x) y", "("])
    def test_a_text_that_is_no_rule_is_an_error(self, text: str) -> None:
        with pytest.raises(RuleError):
            parse_rule(text)

    @pytest.mark.parametrize(
        "text",
        [
            f"Bash(+({'?' * 40}))",
            "Bash(*(a|+(b)c))",
            "Bash(!(a!(b)))",
            f"Bash(*{'a' * 70_000})",
        ],
    )
    def test_a_pattern_without_bounded_time_is_an_error(self, text: str) -> None:
        with pytest.raises(RuleError):
            parse_rule(text)

    @given(st.text())
    def test_any_text_is_a_rule_or_a_rule_error(self, text: str) -> None:
        try:
            assert parse_rule(text).tool_name
        except RuleError:
            pass


class TestLiteralRule:
    @given(st.text(alphabet=st.characters() | st.sampled_from("\\*?[]{}()!+@|./~"), min_size=1))
    def test_covers_its_own_subject(self, subject: str) -> None:
        pattern = parse_rule(literal_rule("Bash", subject)).arg_pattern
        assert pattern is not None
        assert match_glob_rule(pattern, subject)

    @given(
        st.text(alphabet="a*?[]{}()!+@|\\./,", min_size=1, max_size=6),
        st.text(alphabet="a*?[]{}()!+@|\\./,", max_size=6),
    )
    def test_covers_no_other_subject(self, subject: str, other: str) -> None:
        pattern = parse_rule(literal_rule("Bash", subject)).arg_pattern
        assert pattern is not None
        # The escaped text itself is equal to the pattern, and equality always counts.
        assert match_glob_rule(pattern, other) == (other in (subject, pattern))

    def test_has_no_longest_subject(self) -> None:
        subject = "echo 'x' && " * 20_000
        pattern = parse_rule(literal_rule("Bash", subject)).arg_pattern
        assert pattern is not None
        assert match_glob_rule(pattern, subject)
        assert not match_glob_rule(pattern, subject[1:])


class TestCovers:
    @pytest.mark.parametrize(
        ("pattern", "subject"),
        [
            ("git *", "git status"),
            ("git *", "git push origin/main"),
            ("*", "rm -rf /x/y"),
            ("rm -rf*", "rm -rf /x/y"),
            ("npm run test:*", "npm run test:unit/x"),
            ("https://h/*", "https://h/a/b"),
            ("https://h/**", "https://h"),
            ("a/**/b", "a/b"),
            ("*", ".hidden cmd"),
            ("ls*", "ls\nrm x"),
            ("x.sh *", "./x.sh -y"),
            ("./x.sh *", "x.sh -y"),
            ("a?b", "a/b"),
            ("", "anything"),
            ("", ""),
            ("!git *", "npm test"),
            ("!!git *", "git x"),
            ("!(git *|npm *)", "make"),
            ("!(rm).py", "a.py"),
            ("@(npm|pnpm) test", "pnpm test"),
            ("?(sudo )ls", "ls"),
            ("?(sudo )ls", "sudo ls"),
            ("+(ab|c)", "abcab"),
            ("*([0-9])x", "x"),
            ("(npm|pnpm) test", "npm test"),
            ("echo $(date) *", "echo $(date) x"),
            ("echo ${HOME} *", "echo ${HOME} x"),
            ("v[!1]", "v2"),
            ("v[^1]", "v/"),
            ("v[]a]", "v]"),
            ("v[a-c]", "vb"),
            ("v[[:digit:]_]", "v7"),
            (r"v[\]]", "v]"),
            ("v{8..12}", "v10"),
            ("v{08..12}", "v09"),
            ("v{c..a}", "vb"),
            ("{a,b{c,d}}*", "bdx"),
            ("a{,b} *", "a x"),
            ("a{b *", "a{b x"),
            ("a[b *", "a[b x"),
            ("a(b *", "a(b x"),
            ("a*(b", "axx(b"),
            ("a?(b", "ax(b"),
            ("a\\", "a\\"),
            ('git commit -m "*"', 'git commit -m "x y"'),
            ("arr[0]", "arr[0]"),
            ("arr[0]", "arr0"),
        ],
    )
    def test_a_pattern_covers(self, pattern: str, subject: str) -> None:
        assert match_glob_rule(pattern, subject)
        assert text_matcher(subject)(pattern)

    @pytest.mark.parametrize(
        ("pattern", "subject"),
        [
            ("git *", "git"),
            ("git", "git status"),
            ("*", ""),
            ("!git *", "git status"),
            ("!", "x"),
            ("!!git *", "npm x"),
            ("!(git *|npm *)", "npm test"),
            ("!(rm).py", "rm.py"),
            ("GIT *", "git x"),
            ("+(ab|c)", ""),
            ("+(ab|c)", "abx"),
            ("v[!1]", "v1"),
            ("v{8..12}", "v13"),
            ("v{08..12}", "v8"),
            ("./x.sh", "x.sh"),
            ("x.sh", "./x.sh"),
            ("*.py", "a.pyx"),
            ("ab*bc", "abc"),
        ],
    )
    def test_a_pattern_does_not_cover(self, pattern: str, subject: str) -> None:
        assert not match_glob_rule(pattern, subject)

    def test_a_pattern_without_bounded_time_covers_itself_alone(self) -> None:
        pattern = "+(a+(b))"
        assert match_glob_rule(pattern, pattern)
        assert not match_glob_rule(pattern, "ab")


class TestToolNames:
    @pytest.mark.parametrize(
        ("pattern", "name"),
        [
            ("*", "Bash"),
            ("Bash", "Bash"),
            ("mcp__gh__*", "mcp__gh__list"),
            ("{Read,Write}", "Write"),
            ("!Bash", "Read"),
        ],
    )
    def test_covered(self, pattern: str, name: str) -> None:
        assert match_tool_name(pattern, name)

    @pytest.mark.parametrize(
        ("pattern", "name"), [("bash", "Bash"), ("Bash", "BashSession"), ("!Bash", "Bash")]
    )
    def test_not_covered(self, pattern: str, name: str) -> None:
        assert not match_tool_name(pattern, name)


def alternatives(parts: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    """Groups of two or three alternatives, as a glob and as a regular expression."""

    def group(options: list[tuple[str, str]], kind: tuple[str, str, str, str]) -> tuple[str, str]:
        opening, separator, closing, suffix = kind
        glob = opening + separator.join(option[0] for option in options) + closing
        return glob, f"(?:{'|'.join(option[1] for option in options)}){suffix}"

    # A plain "(" is left out: behind a wildcard it would be a group of another kind.
    kinds = [("{", ",", "}", ""), ("@(", "|", ")", ""), ("?(", "|", ")", "?")]
    return st.builds(group, st.lists(parts, min_size=2, max_size=3), st.sampled_from(kinds))


def joined(parts: list[tuple[str, str]]) -> tuple[str, str]:
    return "".join(part[0] for part in parts), "".join(part[1] for part in parts)


SIMPLE = st.sampled_from(
    [
        ("a", "a"),
        ("b", "b"),
        ("/", "/"),
        ("*", ".*"),
        ("?", "."),
        ("[ab]", "[ab]"),
        ("[!a]", "[^a]"),
        ("\\*", r"\*"),
        ("+(ab|b)", "(?:ab|b)+"),
        ("*(a|bb)", "(?:a|bb)*"),
        ("+([ab])", "[ab]+"),
    ]
)
PATTERNS = st.recursive(
    SIMPLE,
    lambda inner: (
        alternatives(st.lists(inner, max_size=3).map(joined))
        | st.lists(inner, min_size=1, max_size=3).map(joined)
    ),
    max_leaves=8,
)


class TestAgainstRegularExpressions:
    @given(PATTERNS, st.text(alphabet="ab/*", max_size=8))
    def test_a_pattern_covers_what_its_expression_matches(
        self, pattern: tuple[str, str], subject: str
    ) -> None:
        glob, expression = pattern
        if "**" in glob or not subject or glob == subject:
            return
        expected = re.fullmatch(expression, subject, re.DOTALL) is not None
        assert match_glob_rule(glob, subject) == expected

    @given(PATTERNS, st.text(alphabet="ab/*", min_size=1, max_size=8))
    def test_an_exclusion_covers_the_rest(self, pattern: tuple[str, str], subject: str) -> None:
        glob, expression = pattern
        if "**" in glob or "+(" in glob or "*(" in glob:
            return
        expected = re.fullmatch(f"a(?!(?:{expression})\\Z).*", subject, re.DOTALL) is not None
        if f"a!({glob})" != subject:
            assert match_glob_rule(f"a!({glob})", subject) == expected

    @given(st.text(alphabet="ab*?[]{}()!+@|\\,./-^:"), st.text(alphabet="ab*?[]{}()!/.\n"))
    def test_no_input_raises(self, pattern: str, subject: str) -> None:
        assert match_glob_rule(pattern, subject) in (True, False)


LONG = "a" * 100_000


class TestHostileInput:
    """Each of these would run for hours in a matcher that goes back and tries again."""

    @pytest.mark.parametrize(
        "pattern",
        [
            "*a*a*a*a*a*a*a*b",
            "*a?a?a*?a*?a*?b",
            "*a" + "?" * 1000 + "b",
            "+(a|aa)b",
            "*(a|aa|aaa)*(a|aa)b",
            "*!(*a*a)b",
            "{a,{a,{a,a}}}" * 500 + "b",
            "?(a)" * 2000 + "b?",
            "(" * 20_000 + ")" * 20_000 + "*",
            "{" * 60_000 + "*b",
            "[" * 60_000 + "\\]*",
            "*" * 60_000 + "b",
        ],
    )
    def test_a_long_subject_is_answered_at_once(self, pattern: str) -> None:
        assert not match_glob_rule(pattern, LONG)

    def test_many_marks_in_front_are_counted(self) -> None:
        assert match_glob_rule("!" * 100_001 + "b*", LONG)

    def test_many_dot_segments_are_answered(self) -> None:
        assert match_glob_rule("./" * 20_000 + "*", "./" * 20_000 + "x")
