"""Finds every simple command of a script, wherever it stands."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.shell import analyse_command
from toolcrib.shell.model import UNKNOWN, CommandAnalysis


def analysed(script: str) -> CommandAnalysis:
    return analyse_command(script, cwd="/w", home_dir="/home/me", root="/w")


def texts(script: str) -> list[str]:
    return [command.text.replace(UNKNOWN, "?") for command in analysed(script).commands]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a b  c", ["a b c"]),
        ("", []),
        (" \n# only a comment\n", []),
        ("a; b\nc & d", ["a", "b", "c", "d"]),
        ("a && b || c | d |& e", ["a", "b", "c", "d", "e"]),
        ("! a", ["a"]),
        ("(a; b)", ["a", "b"]),
        ("{ a; b; }", ["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("while a; do b; done", ["a", "b"]),
        ("until a\ndo b\ndone", ["a", "b"]),
        ("for x in $(a) b; do c $x; done", ["a", "c ?"]),
        ("for ((i = 0; i < 3; i++)); do a; done", ["a"]),
        ("select x in a b; do c; done", ["c"]),
        ("case $(a) in b|c) d;; (e) f ;; *) g; esac", ["a", "d", "f", "g"]),
        ("case a in\n  a) b\n    ;;\nesac\nc", ["b", "c"]),
        ("f() { a; }; f", ["a", "f"]),
        ("function f { a; }", ["a"]),
        ("[[ -f a && $(b) == c* ]] && d", ["b", "d"]),
        ("[[ $x =~ ^(a|b)+$ ]] && c", ["c"]),
        ("((1 + 2)) && a", ["a"]),
        ('a $(b) `c` "$(d)" "`e`" \'$(f)\'', ["b", "c", "d", "e", "a ? ? ? ? $(f)"]),
        ("a `b \\`c\\``", ["c", "b ?", "a ?"]),
        ("a <(b) >(c)", ["b", "c", "a ? ?"]),
        ("a ${x:-$(b)} ${x/$(c)/d}", ["b", "c", "a ? ?"]),
        ("a <<E\n$(b) `c` \\$(d)\nE\ne", ["a", "b", "c", "e"]),
        ("a <<'E'\n$(b)\nE\nc", ["a", "c"]),
        ("a <<-E\n\tx\n\tE\nb", ["a", "b"]),
        ("a <<E; b <<F\nx\nE\n$(c)\nF\nd", ["a", "b", "c", "d"]),
        ("a <<E\nx \\\nE\nE\nb", ["a", "b"]),
        ('a <<< "$(b)"', ["b", "a"]),
        ("a > $(b)", ["b", "a"]),
        ("x=$(a) b", ["a", "x=? b"]),
        ("x=1", ["x=1"]),
        ("x=($(a) b)", ["a", "x=?"]),
        ("export X=$(a) Y", ["a", "X=? export X=? Y"]),
        ("a#b # c; d", ["a#b"]),
        ("a \\\n  b", ["a b"]),
        ("r''m x", ["rm x"]),
        ("\\rm x", ["rm x"]),
        ("r\\\nm x", ["rm x"]),
        ("time -p a | b", ["time", "a", "b"]),
        ("git commit -m \"$(cat <<'E'\nit's $(x)\nE\n)\"", ["cat", "git commit -m ?"]),
        ("i=0; while [ $i -lt 3 ]; do i=$((i + 1)); done", ["i=0", "[ ? -lt 3 ]", "i=?"]),
    ],
)
def test_every_command_is_found(script: str, expected: list[str]) -> None:
    assert texts(script) == expected
    assert analysed(script).unanalysable is None


@pytest.mark.parametrize(
    "script",
    [
        "$X a",
        '"$X"',
        "$(a) b",
        "a{b,c}",
        "eval $X",
        "a 'b",
        'a "b',
        "a `b",
        "a $(b",
        "a <<E\nb",
        "a <<$X\nb\n$X\n",
        "if a; then b",
        "a; fi",
        "a && && b",
        "a ) b",
        "a\rb",
        "a\x00b",
        "a \x1b b",
        "a\ufdd0",
        "a\u00a0b",
        "a\u200bb",
        "a\\",
        "a !(b)",
        "a @(b|c)",
        "a $'\\xff'",
        'a $"b"',
        "a $[1]",
        "a ${!x}",
        "a ${x@P}",
        "a $((b[1]))",
        "a $((x))",
        "x=$(b); a $((x))",
        "x='y[$(b)]'; (( x ))",
        "x='y[$(b)]'; [[ $x -eq 1 ]]",
        "x='y[$(b)]'; a ${z[x]}",
        "x=([$(b)]=1)",
        "x[$(b)]=1",
        "[[ -v x[$(b)] ]]",
        "read x; a $((x))",
        "a $((b); c)",
        "((a); b)",
        "coproc a",
        "alias a=b",
        "shopt -s extglob",
        "set -k",
        "enable -f x y",
        "hash -p /tmp/x ls",
        "declare -n a=b",
        "declare -i a=b",
        "let x=1",
        "jobs -x rm y",
        "test -v 'x[$(b)]'",
        "printf -v 'x[$(b)]' a",
        "read 'x[$(b)]'",
        "unset 'x[$(b)]'",
        "x='-v y[$(b)]'; [ $x ]",
        "mapfile -C a x",
        "trap $X EXIT",
        "PATH=. ls",
        "export PATH=.",
        'export "PATH=."',
        "read PATH",
        "for PATH in .; do ls; done",
        ": ${PATH:=.}",
        "exec {PATH}>x",
        "LD_PRELOAD=./x ls",
        "env LD_PRELOAD=./x ls",
        "BASH_ENV=x bash -c ls",
        "PS4='$(a)'; set -x; b",
        "HOME=/tmp; cat ~/x",
        "cd() { :; }; cd /tmp",
        "ls > /dev/tcp/host/80",
        "ls >&'$(a)'",
        "ls >&$X",
        "i\\\nf a",
        "time -\\\np a",
        "(\\\n(x))",
        "[[ a ]\\\n] && rm x ]]",
        "[[ 1 -\\\neq x ]]",
        "(case a in b) c;; es\\\nac | rm)\nd;; esac\n)",
        "cat ~\\\n/x",
        "E=$((E))",
        "E=1 a ${b[E]}",
        "(n=1); a $((n))",
        "true || n=1; a $((n))",
        "n=1; bash -c 'a $((n))'",
        "a &\\\n& b",
        "a 3\\\n>b",
        "a $\\\n(b)",
        "x=$(>1 ! a)",
        "x=$(time >o -p a)",
        "FOO\\\n=1 a",
        "LC_ALL=zh_CN.GBK; a 'é|b'",
        "(" * 200 + "a" + ")" * 200,
        "$(" * 200 + "a" + ")" * 200,
        "a;" * 20_000,
        "a" * 100_001,
    ],
)
def test_what_is_not_certain_is_not_analysed(script: str) -> None:
    assert analysed(script).unanalysable


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("rm -rf ${!x}", "rm -rf ?"),
        ("a @(b); rm x", "rm x"),
        ("a ${x@P} && rm x", "rm x"),
        ("a $(b ${!x}; rm x)", "rm x"),
        ("coproc rm x", "rm x"),
        ('a "`b \\`rm x\\``"', "rm x"),
        ("x[`rm x`]=1", "rm ?"),
        ("a; fi; rm x", "rm x"),
        ("if ${x@P}; then rm x; fi", "rm x"),
        ("a\r\nrm x", "rm x"),
        ("a `rm x; ${!x}`", "rm x"),
        ("sh -c 'rm x; [[ a ]]'", "rm x"),
    ],
)
def test_commands_near_what_is_not_certain_are_found(script: str, expected: str) -> None:
    """A rule that forbids them must see them."""
    assert analysed(script).unanalysable
    assert expected in texts(script)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a > b", [("write", "b")]),
        ("a 2>> b", [("write", "b")]),
        ("a >| b", [("write", "b")]),
        ("a &> b", [("write", "b")]),
        ("a &>> b", [("write", "b")]),
        ("a >& b", [("write", "b")]),
        ("a {fd}> b", [("write", "b")]),
        ("a < b", [("read", "b")]),
        ("a 3<> b", [("readwrite", "b")]),
        ("a 2>&1 >&- <&3 2>&1-", [("duplicate", None)] * 4),
        ("a <<< b", [("text", None)]),
        ("a <<E\nE", [("text", None)]),
        ("a > >(b)", [("duplicate", None)]),
        ("> b a", [("write", "b")]),
        ("a>b<c", [("write", "b"), ("read", "c")]),
        ("a 'x>y'", []),
        ("a x2>b", [("write", "b")]),
        ("a >&-b", [("duplicate", None)]),
        ("{ a; } > b", [("write", "b")]),
        ("while a; do a; done < b", [("read", "b")]),
        ("> b", [("write", "b")]),
        ("((1)) > b", [("write", "b")]),
        ("x=1 > b", [("write", "b")]),
        ("{ a < b; } > c", [("read", "b"), ("write", "c")]),
    ],
)
def test_redirections_belong_to_their_commands(
    script: str, expected: list[tuple[str, str | None]]
) -> None:
    *_, command = analysed(script).commands

    found = [(r.kind, r.target.text if r.target else None) for r in command.redirects]
    assert found == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("cd a && b", "/w/a"),
        ("cd a; b", None),
        ("cd /w; b", "/w"),
        ("cd a || exit 1; b", "/w/a"),
        ("cd a || exit\nb", "/w/a"),
        ("cd a || exit 1 2; b", None),
        ("cd a || false; b", None),
        ("cd a || b", "/w"),
        ("cd a && cd .. && b", "/w"),
        ("cd a && cd ../../x && b", "/x"),
        ("cd /x/./y//z && b", "/x/y/z"),
        ("(cd a && c); b", "/w"),
        ("cd a | c; b", "/w"),
        ("cd a & b", "/w"),
        ("x=$(cd a); b", "/w"),
        ("if cd a; then b; fi", "/w/a"),
        ("if cd a; then c; else b; fi", "/w"),
        ("if cd a; then c; fi; b", None),
        ("if ! cd a; then exit; fi; b", "/w/a"),
        ("! cd a || b", "/w/a"),
        ("cd && b", "/home/me"),
        ("cd ~/a && b", "/home/me/a"),
        ("cd - && b", None),
        ("cd $X && b", None),
        ("cd a c && b", None),
        ("cd '' && b", None),
        ("cd -P a && b", None),
        ("cd -- a && b", "/w/a"),
        ("pushd a && b", "/w/a"),
        ("pushd a && popd && b", None),
        ("while c; do cd a; done; b", None),
        ("for x in 1; do b; cd a; done", None),
        ("for x in 1; do (cd a && c); b; done", "/w"),
        ("f() { cd /x; }; f; b", None),
        ("f() { (cd /x); }; f; b", "/w"),
        ("eval 'cd a' && b", "/w/a"),
        ("builtin cd a && b", "/w/a"),
        ("command cd a && b", "/w/a"),
        ("sh -c 'cd a' && b", "/w"),
        ("bash -c 'cd a && b'", "/w/a"),
        ("env -C a b", "/w/a"),
        ("env -C $X b", None),
        ("trap 'cd /x' DEBUG; b", None),
        (". ./c; b", None),
        ("case x in x) cd a;; esac; b", None),
        ("cd a && { b; }", "/w/a"),
        ("find . -execdir b {} \\;", None),
    ],
)
def test_a_constant_cd_is_followed(script: str, expected: str | None) -> None:
    """The folder is one that is certain: where a `cd` may have failed there is none."""
    (command,) = [found for found in analysed(script).commands if found.program == "b"]

    assert command.cwd == expected


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab $(){}[]'\"`\\\n;&|<>#=!*~\t\r\u00a0\u00e9", max_size=60))
def test_no_text_raises(script: str) -> None:
    analysis = analysed(script)

    assert analysis.text == script
    assert all(UNKNOWN not in command.source for command in analysis.commands)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_a_quoted_text_is_one_word(text: str) -> None:
    """Whatever stands between single quotes is known to the letter, or refused."""
    quoted = "'" + text.replace("'", "'\\''") + "'"
    analysis = analysed(f"echo {quoted}")

    if analysis.unanalysable is None:
        (command,) = analysis.commands
        assert [word.text for word in command.words] == ["echo", text]
