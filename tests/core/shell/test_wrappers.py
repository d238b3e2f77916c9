"""A program that runs another one is seen, and the other one too."""

from __future__ import annotations

import pytest

from toolcrib.shell import analyse_command
from toolcrib.shell.model import UNKNOWN, CommandAnalysis


def analysed(script: str) -> CommandAnalysis:
    return analyse_command(script, cwd="/w", home_dir="/home/me")


def inside(analysis: CommandAnalysis) -> list[str]:
    """The commands that are not transparent, with what runs them."""
    return [
        ">".join([*command.via, command.text.replace(UNKNOWN, "?")])
        for command in analysis.commands
        if not command.transparent
    ]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("env rm x", ["env>rm x"]),
        ("env -i -u A B=1 rm x", ["env>B=1 rm x"]),
        ("env - rm x", ["env>rm x"]),
        ("env -S 'B=1 rm x' y", ["env>B=1 rm x y"]),
        ('env A="$B" rm x', ["env>A=? rm x"]),
        ("/usr/bin/env rm x", ["env>rm x"]),
        ("A=1 timeout 5 rm x", ["timeout>A=1 rm x"]),
        ("timeout -k 1 --signal=KILL 5 rm x", ["timeout>rm x"]),
        ("command rm x", ["command>rm x"]),
        ("builtin echo x", ["builtin>echo x"]),
        ("exec -a y rm x", ["exec>rm x"]),
        ("nohup rm x &", ["nohup>rm x"]),
        ("nice rm x", ["nice>rm x"]),
        ("nice -n 5 rm x", ["nice>rm x"]),
        ("nice -5 rm x", ["nice>rm x"]),
        ("ionice -c 3 rm x", ["ionice>rm x"]),
        ("setsid -w rm x", ["setsid>rm x"]),
        ("stdbuf -oL rm x", ["stdbuf>rm x"]),
        ("time rm x", ["time>rm x"]),
        ("command time -p rm x", ["command>time>rm x"]),
        ("busybox rm x", ["busybox>rm x"]),
        ("xargs rm", ["xargs>rm ?"]),
        ("xargs -0 -n1 -P 4 rm -f", ["xargs>rm -f ?"]),
        ("xargs -I{} mv {} {}.old", ["xargs>mv ? ?.old"]),
        ("xargs -i mv {} a", ["xargs>mv ? a"]),
        ("sh -c 'rm x; ls'", ["sh>rm x", "sh>ls"]),
        ("bash -euo pipefail -c 'rm x' a b", ["bash>rm x"]),
        ("sh -c 'rm x=~'", ["sh>rm x=?"]),
        ("bash -lc 'rm x'", ["bash>rm x"]),
        ("xargs sh -c 'rm \"$@\"' _", ["xargs>sh>rm ?"]),
        ("eval rm x", ["eval>rm x"]),
        ("eval 'rm x;' ls", ["eval>rm x", "eval>ls"]),
        ("trap 'rm x' EXIT", ["trap>rm x"]),
        ("watch -n 1 rm x", ["watch>rm x"]),
        ("watch 'rm x; ls'", ["watch>rm x", "watch>ls"]),
    ],
)
def test_a_transparent_wrapper_is_only_what_it_runs(script: str, expected: list[str]) -> None:
    analysis = analysed(script)

    assert inside(analysis) == expected
    assert analysis.unanalysable is None
    assert analysis.commands[0].transparent


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("sudo rm x", "sudo>rm x"),
        ("sudo -u bob -E A=1 rm x", "sudo>A=1 rm x"),
        ("sudo env timeout 5 rm x", "sudo>env>timeout>rm x"),
        ("doas -u bob rm x", "doas>rm x"),
        ("find . -name x -exec rm {} \\;", "find>rm ?"),
        ("find . -exec rm -f {} +", "find>rm -f ?"),
        ("find . -exec echo {} \\; -ok rm {} \\;", "find>rm ?"),
        ("flock l rm x", "flock>rm x"),
        ("flock l -c 'rm x'", "flock>rm x"),
        ("flock -w 5 l rm x", "flock>rm x"),
        ("su bob -c 'rm x'", "su>rm x"),
        ("script -qc 'rm x' /dev/null", "script>rm x"),
        ("strace -f -o log rm x", "strace>rm x"),
        ("chroot /x rm x", "chroot>rm x"),
        ("unshare -r rm x", "unshare>rm x"),
        ("/usr/bin/time -o log rm x", "time>rm x"),
        ("xargs -a list rm", "xargs>rm ?"),
        ("./env rm x", "env>rm x"),
        ("/tmp/timeout 5 rm x", "timeout>rm x"),
    ],
)
def test_a_wrapper_that_does_more_is_judged_too(script: str, expected: str) -> None:
    analysis = analysed(script)

    assert not analysis.commands[0].transparent
    assert expected in inside(analysis)
    assert analysis.unanalysable is None


@pytest.mark.parametrize(
    "script",
    [
        "env",
        "env A=1",
        "xargs",
        "command -v rm",
        "bash script.sh",
        "trap - EXIT",
        "exec > log",
        "sudo -i",
        "find . -name x -delete",
        "find src/* -name x",
        "ssh host rm x",
        "sh -c ''",
        "bash -c '((1))'",
    ],
)
def test_a_wrapper_around_nothing_is_a_command_like_any_other(script: str) -> None:
    analysis = analysed(script)

    assert not any(command.transparent for command in analysis.commands)
    assert analysis.unanalysable is None


@pytest.mark.parametrize(
    "script",
    [
        "env --unknown rm x",
        "env A=$B rm x",
        "env $X rm x",
        "env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls",
        "timeout $T rm x",
        'timeout "$T" rm x',
        "sudo -s rm x",
        "sudo $X rm x",
        "xargs -I{} {} x",
        "xargs sh -c",
        "xargs -I{} sh -c 'rm {}'",
        "xargs env",
        "xargs timeout 5",
        "find . -exec {} \\;",
        "find $X",
        "find {.,-delete}",
        "bash -c $X",
        'bash -c "rm $X"',
        "bash -O extglob -c 'rm x'",
        "bash --rcfile y -c 'rm x'",
        "bash -ic 'rm x'",
        "eval $X",
        'eval "rm $X"',
        "trap $X EXIT",
        "watch rm $X",
        "parallel rm ::: x",
        "zsh -c 'rm x'",
        "sh -c '[[ -f x && rm y ]]'",
        "sh -c '((rm x))'",
        "sh -c \"rm \\$'x'\"",
        "dash -c 'rm x &> y'",
        "sh -c 'function f { rm x; }'",
        "taskset 1 rm x",
        "fish -c 'rm x'",
        "bash",
        "curl x | sh",
        "bash -s",
        "bash -s -- x",
        "sh - <x",
        "sh /dev/stdin <<<'rm x'",
        "sh <<'E'\nrm x\nE",
        "source /dev/stdin <<<'rm x'",
        ". ../../dev/fd/3 3<<<'rm x'",
        ". <(rm x)",
    ],
)
def test_a_wrapper_whose_command_is_not_certain_is_not_analysed(script: str) -> None:
    assert analysed(script).unanalysable


def test_what_a_wrapper_runs_has_its_redirections_and_assignments() -> None:
    *_, inner = analysed("A=1 sh -c 'B=2 rm x < in' > out").commands

    assert [assignment.name for assignment in inner.assignments] == ["A", "B"]
    assert [redirect.kind for redirect in inner.redirects] == ["read", "write"]


def test_a_wrapper_that_is_not_understood_still_shows_what_it_may_run() -> None:
    """A rule that forbids `rm` must see it."""
    assert "env>rm x" in inside(analysed("env --unknown rm x"))
