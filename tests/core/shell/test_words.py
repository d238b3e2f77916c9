"""A word stands for what bash makes of it, with what is not known marked."""

from __future__ import annotations

import pytest

from toolcrib.shell import analyse_command
from toolcrib.shell.model import UNKNOWN, Word


def word(source: str, home_dir: str | None = "/home/me") -> Word:
    analysis = analyse_command(f"echo {source}", cwd="/w", home_dir=home_dir)
    assert analysis.unanalysable is None
    (command,) = [found for found in analysis.commands if found.program == "echo"]
    return command.words[1]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("abc", "abc"),
        ("'a b'", "a b"),
        ('"a b"', "a b"),
        ("a' 'b\" \"c", "a b c"),
        ("a\\ b", "a b"),
        ("\\$x", "$x"),
        ('"\\$x \\` \\" \\\\ \\a"', '$x ` " \\ \\a'),
        ("'\\$x'", "\\$x"),
        ("a\\\nb", "ab"),
        ('"a\\\nb"', "ab"),
        ("'a\\\nb'", "a\\\nb"),
        ("$'a\\nb'", "a\nb"),
        ("$'\\x2eenv'", ".env"),
        ("$'\\056env'", ".env"),
        ("$'\\u00e9'", "é"),
        ("$'it\\'s'", "it's"),
        ("\"$'a'\"", "$'a'"),
        ('.e"n"v', ".env"),
        ("''", ""),
        ("a#b", "a#b"),
        ("$", "$"),
        ("a$", "a$"),
        ('"$"', "$"),
        ("{}", "{}"),
        ("{a}", "{a}"),
        ("{a,b", "{a,b"),
        ("'{a,b}'", "{a,b}"),
        ("[", "["),
        ("]", "]"),
        ("'*'", "*"),
        ("\\*", "*"),
        ("a=b", "a=b"),
        ("~", "/home/me"),
        ("~/x", "/home/me/x"),
        ("x=~/y", "x=/home/me/y"),
        ("x=a:~/y", "x=a:/home/me/y"),
        ("x==~", "x==~"),
        ("--x=~/y", "--x=~/y"),
        ("a~", "a~"),
        ("'~'/x", "~/x"),
        ("\\~/x", "~/x"),
        ("é", "é"),
    ],
)
def test_what_is_known_is_known_to_the_letter(source: str, text: str) -> None:
    found = word(source)

    assert (found.source, found.text, found.glob) == (source, text, None)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("$x", "?"),
        ("a${x}b", "a?b"),
        ('"a $x"', "a ?"),
        ("a$1$@", "a??"),
        ("${x:-b}c", "?c"),
        ("$(b)/c", "?/c"),
        ("a`b`", "a?"),
        ("$((1 + 2))", "?"),
        ("~root/x", "?/x"),
        ("~+", "?"),
        ("$x*", "??"),
        ("{a,$x}", "?"),
    ],
)
def test_an_expansion_is_not_known(source: str, text: str) -> None:
    found = word(source)

    assert (found.text.replace(UNKNOWN, "?"), found.glob) == (text, None)
    assert not found.literal


def test_without_a_home_folder_the_tilde_is_not_known() -> None:
    assert word("~/x", home_dir=None).text == f"{UNKNOWN}/x"


@pytest.mark.parametrize(
    ("source", "text", "glob"),
    [
        ("*", "?", "*"),
        ("a*.py", "a?.py", "a*.py"),
        ("a?", "a?", "a?"),
        ("[.]env", "?env", "[.]env"),
        (".{env,x}", ".?", ".{env,x}"),
        ("{1..3}", "?", "{1..3}"),
        ("{a,b}{c,d}/e", "?/e", "{a,b}{c,d}/e"),
        ('"a b"*', "a b?", "a b*"),
        ("'*'*", "*?", "\\**"),
        ("\\[*", "[?", "\\[*"),
        ("~/*", "/home/me/?", "/home/me/*"),
    ],
)
def test_a_glob_is_kept_as_a_pattern(source: str, text: str, glob: str) -> None:
    found = word(source)

    assert (found.text.replace(UNKNOWN, "?"), found.glob) == (text, glob)


@pytest.mark.parametrize(
    ("script", "value"),
    [("x=*", "*"), ("x={a,b}", "{a,b}"), ("x=~/a:~/b", "/home/me/a:/home/me/b"), ("x=", "")],
)
def test_no_glob_or_brace_expands_in_an_assignment(script: str, value: str) -> None:
    (command,) = analyse_command(script, cwd="/w", home_dir="/home/me").commands

    assert command.assignments[0].value.text == value
