"""Whatever is done to a forbidden command, nothing that is allowed runs it in real bash.

`TOOLCRIB_MUTATIONS` says how many scripts are made (1,000), `TOOLCRIB_MUTATIONS_SEED` which ones;
a campaign is `TOOLCRIB_MUTATIONS=20000 TOOLCRIB_MUTATIONS_SEED=7 pytest -s --timeout 0 THIS_FILE`.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from shutil import rmtree, which

import pytest
from attrs import frozen

from toolcrib.explain import explain_call
from toolcrib.testing import ToolHarness

COUNT = int(os.environ.get("TOOLCRIB_MUTATIONS", "1000"))
SEED = int(os.environ.get("TOOLCRIB_MUTATIONS_SEED", "1"))

MARKERS = ("curl", "git", "grep", "rm", "touch", "cat", "head", "tee", "python3", "ls", "sed")
REAL = ("sh", "bash", "env", "timeout", "nice", "nohup", "xargs", "find", "setsid", "stdbuf")
MARKER = """#!/bin/sh
line="${0##*/}"
for one; do line="$line\x1f$one"; done
line="$line\x1d$(export -p)\x1e"
printf %s "$line" >>'LOG'
"""
ENVIRONMENT = {
    "X": "curl hidden",
    "E": "a[$(curl evaluated)]",
    "FUNCNEST": "4",
    "LC_ALL": "C.UTF-8",
}
OF_THE_SHELL = {"PATH", "HOME", "PWD", "OLDPWD", "SHLVL", "_", *ENVIRONMENT}
OF_STDBUF = {"LD_PRELOAD", "_STDBUF_I", "_STDBUF_O", "_STDBUF_E"}
HARMLESS_VARIABLE = re.compile(r"[a-z]\w*|LANG|LANGUAGE|LC_\w+|TZ|COLUMNS|LINES|NO_COLOR|CI")

# fmt: off
FORBIDDEN = (
    "curl x", "git log; curl x", "git log && curl x", "git log | curl x", "! git log || curl x",
    "git log $(curl x)", "git log `curl x`", 'echo "$(curl x)"', "echo 'a'; curl x", "(curl x)",
    "{ curl x; }", "if git log; then curl x; fi", "for i in a; do curl $i; done",
    "f() { curl x; }; f", "sh -c 'curl x'", "eval 'curl x'", "env A=1 curl x", "timeout 5 curl x",
    "echo x | xargs curl", "find . -maxdepth 0 -exec curl {} \\;", "command curl x", "exec curl x",
    "cat <<EOF\n$(curl x)\nEOF", "echo a\ncurl x", "trap 'curl x' EXIT", "X=curl; $X x",
    "git log <(curl x)", "cd sub && curl x", "case a in a) curl x;; esac", "./curl x", "BIN/curl x",
    'grep a <<< "$(curl x)"', "A=$(curl x) git log", "echo $((1 + $(curl x)))", "! curl x",
    "echo ${Y:-$(curl x)}", "time curl x", "[[ a == a ]] && curl x", "nohup curl x & wait",
    "git log &\ncurl x", "echo a >x; curl x", "IFS=,; C=curl,x; $C", "$X", "'cu'rl x", "c\\url x",
    "$'cu\\x72l' x", "{curl,x}", "cur? x", "BIN/c?rl x", "setsid curl x", "echo '' | nice curl x",
)
QUOTED = (
    "git log '$(curl x)'", "echo 'curl x'", "git log -1 # curl x", "grep 'a; curl x' f",
    'echo "\\$(curl x)"', "git log <<'EOF'\n$(curl x)\ncurl x\nEOF", "echo \\$\\(curl x\\)",
    "echo $'curl\\nx'", "git log --format='%h | curl x'", "git log && echo 'curl' | grep x",
    "cd sub && grep -n '`curl x`' a", "echo {curl,x}", 'grep "curl x" <<EOF\ncurl x\nEOF',
    'git log 2>/dev/null; echo "curl x"', "git log -S'$(curl x)' -- '*.c'",
    "if git log; then echo 'curl x'; else grep curl f; fi",
    "for i in 'curl x' b; do echo \"$i\"; done", "while git log; do echo 'curl x'; break; done",
    "[[ 'curl x' == a ]] || git log", "[ curl = x ] && git log",
    "case 'curl x' in *) git log;; esac",
    "timeout 5 git log 'curl x'", "sh -c 'git log \"curl x\"'", "eval 'git log \"curl x\"'",
    "echo `echo curl x`", "x='curl x'; echo \"$x\"", "x='curl x'; git log $x", "echo a #\\\ncurl x",
    "echo a \\\n curl x", "git log 'a\ncurl x\n'", "(git log; echo curl x)",
    "echo \"a\\\"; curl x\"",
    "git log '`curl x`' \"'\" 'curl x'", "echo a | grep -v 'curl x' | grep -c \"$(echo curl x)\"",
    "grep a <<< 'curl x'", "git log \"${x:-'curl x'}\"", "echo \"${#x} curl x\" $((1 + 2))",
)
AROUND = (
    "(S)", "{ S; }", "sh -c 'S'", "eval 'S'", 'eval "S"', 'echo "$(S)"', "`S`", "git log $(S)",
    "if S; then :; fi", "env S", "timeout 1 S", "cd sub; S", "f() { S; }; f", "cat <<EOF\nS\nEOF",
    "git log <<'E'\nS\nE", "git log <<E\nS\nE\n", "echo 'S'", 'echo "S"', "git log # S", "X=1 S",
    "S &", "! S", "time S", "S | grep x", "git log && S", "S <<< a", "[[ $(S) ]]", "trap 'S' EXIT",
    "xargs -I% S <<< a", "a[$(S)]=1", "echo ${x:-S}", "echo $((S))", "alias git='S'; git log",
    "shopt -s expand_aliases\nalias grep='S'\ngrep x", "export GIT_PAGER='S'; git log",
    "printf -v x '%s' 'S'; eval $x", "read -r x <<< 'S'; $x", 'set -- S; "$@"', "S # a",
    "echo() { S; }; echo a", "grep() { S; }; grep x y", "git() { S; }; git log",
    "command_not_found_handle() { S; }; git log; nosuch", "[ -v 'a[$(S)]' ]", "test -v 'a[$(S)]'",
    "declare -i x='a[$(S)]'", "((a[$(S)]))", "let 'a[$(S)]'", "echo a > >(S)", "coproc S",
    "x='$(S)'; echo \"${x@P}\"", "exec S", "builtin eval 'S'", "command eval 'S'",
    "hash -p BIN/curl git; git log", "enable -n echo; echo S", "mapfile -C 'S' -c 1 <<< a",
    "compgen -C 'S' a", "select x in a; do S; break; done <<< 1", "source /dev/stdin <<< 'S'",
    ". <(echo 'S')", "echo 'S' | sh", "echo 'S' | bash -s", "bash <<'E'\nS\nE", "S\n",
    "BASH_ENV=/dev/stdin bash -c 'git log' <<< 'S'", "PS4='$(S)'; set -x; git log",
    "trap 'S' DEBUG; git log", "trap 'S' ERR; false", "declare -n r='a[$(S)]'; echo $r",
    "x='a[$(S)]'; echo $((x))", "x='a[$(S)]'; [[ x -eq 1 ]]", "unset 'a[$(S)]'",
    "read 'a[$(S)]' <<< x", "printf -v 'a[$(S)]' x", "git log\\\n; S", "git log '\nS\n'",
    "echo a\\\nS", "grep a <<'E' ; S\nb\nE", "grep a <<E$(S)\nb\nE", "echo $'a\\'; S'",
    "echo a# S", "echo \\\n# S", "while S; do break; done", "until S; do break; done",
    "for x in $(S); do echo $x; done", "case $(S) in *) ;; esac", "git log > $(S)", "echo ~$(S)",
    'grep "`S`" a', "PATH=.; S", "PATH=BIN:. S", "LANG=C S", "IFS=l; S", "git log {fd}>&1; S",
    "find . -maxdepth 0 -exec S \\;", "find . -maxdepth 0 -exec sh -c 'S' \\;", "nice -n 1 S",
    "echo a | xargs sh -c 'S'", "stdbuf -o0 S", "env -S 'S'", "env A='$(S)' git log", "setsid S",
)
INSERTED = (
    ";", "\n", "&", "|", "||", "&&", "(", ")", "{ ", " }", "$(", "`", "'", '"', "\\", "\\\n", "#",
    " #", " ", "\t", "<<EOF\n", "\nEOF\n", "<<'EOF'\n", "<<-E\n", "\n\tE\n", "<", ">", ">|", "&>",
    ">>x ", "<<<", "<(", ">(", "2>&1", "!", "$", "${", "}", "$((", "((", "))", "[[ ", " ]]", "$'",
    '$"', "~", "*", "?", "=", "X=1 ", "x=1 ", "A=$(curl y) ", "\r", "\x01", "\xa0", "{a,b}", "|&",
    ";;", " in ", " do ", " done ", "if ", " then ", " fi ", "case ", " esac", "time ", "()",
    "function f ", "eval ", "env ", "\\'", "curl ", "curl", "git log ", "cd sub ", "$X", "${X}",
    "$IFS", "${IFS}", "$(curl y)", "`curl z`", ";curl w;", "\ncurl v\n", "$@", "$*", "-", ",", "..",
    "[", "]", "+=", "!!", "coproc ", "exec ", "command ", "$'\\n'", "$'\\x27'", "'\"'", "\"'\"",
    "PATH=. ", "IFS=u ", "export ", "declare ", "local ", "set -- ", "E", "$E", "a[$E]", "\v", "\f",
)
# fmt: on

pytestmark = pytest.mark.skipif(which("bash") is None, reason="there is no bash")


@frozen
class Ran:
    """A program that bash has really started, with the variables that it was given."""

    argv: tuple[str, ...]
    variables: frozenset[str]


class Bash:
    """Runs scripts where all programs but wrappers only write down that they ran."""

    def __init__(self, folder: Path) -> None:
        self.work, self.outside, self.bin = folder / "ws", folder / "outside", folder / "bin"
        self.log = folder / "log"
        self.renew()
        self.bin.mkdir()
        for name in MARKERS:
            path = self.bin / name
            path.write_text(MARKER.replace("LOG", str(self.log)))
            path.chmod(0o755)
        for name in REAL:
            if real := which(name):
                (self.bin / name).symlink_to(Path(real).resolve())
        self.environment = {**ENVIRONMENT, "PATH": str(self.bin), "HOME": str(self.outside)}

    def renew(self) -> None:
        """Make the folders as they were before anything ran."""
        for folder in (self.work, self.outside):
            rmtree(folder, ignore_errors=True)
            folder.mkdir(exist_ok=True)
        (self.work / "sub").mkdir(exist_ok=True)
        for name in ("f", "sub/a"):
            (self.work / name).write_text("curl x\n")

    def run(self, script: str) -> list[Ran]:
        """The programs that the script starts, those that it leaves behind included."""
        self.log.unlink(missing_ok=True)
        bash = subprocess.Popen(
            [self.bin / "bash", "-c", script],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # whatever is left behind keeps it open
            start_new_session=True,
        )
        try:
            bash.communicate(timeout=2)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(bash.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        bash.communicate()
        log = self.log.read_bytes().decode(errors="replace") if self.log.exists() else ""
        found = []
        for entry in log.split("\x1e")[:-1]:
            line, _, exported = entry.partition("\x1d")
            names = frozenset(re.findall(r"(?m)^export (\w+)", exported))
            moved = f"PATH='{self.bin}'" not in exported
            found.append(
                Ran(tuple(line.split("\x1f")), names | ({"PATH moved"} if moved else set()))
            )
        return found

    def files(self) -> dict[str, str]:
        return {
            str(path): path.read_text("utf-8", "replace")
            for folder in (self.work, self.outside)
            for path in folder.rglob("*")
            if path.is_file()
        }


class Mutants:
    """Scripts that are made of forbidden commands, or of texts that only look like them."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = random.Random(seed)
        self.bin = str(folder)

    def __iter__(self) -> Iterator[str]:
        while True:
            yield self.mutant()

    def mutant(self) -> str:
        choose = self.random.choice
        script = choose(choose((FORBIDDEN, QUOTED, QUOTED)))
        for _ in range(choose((0, 0, 0, 1, 1, 2))):
            script = choose(AROUND).replace("S", script)
        for _ in range(choose((0, 1, 1, 1, 2, 2, 3))):
            script = self.changed(script)
        return script.replace("BIN", self.bin)

    def changed(self, script: str) -> str:
        """The script with one small change at a random place."""
        at = self.random.randrange(len(script) + 1)
        end = at + self.random.randrange(1, 6)
        match self.random.randrange(9):
            case 0:
                return script[:at] + script[at + 1 :]
            case 1:
                return script[:at] + script[at:end] + script[at:]
            case 2:
                quote = self.random.choice("'\"`")
                return script[:at] + quote + script[at:end] + quote + script[end:]
            case 3:
                return script[:at] + "\\" + script[at:]
            case 4:
                other = self.random.choice((*FORBIDDEN, *QUOTED))
                return script[:at] + self.random.choice((";", "\n", " ", "")) + other + script[at:]
            case _:
                return script[:at] + self.random.choice(INSERTED) + script[at:]


RULES = {
    "manual": {
        "allow": ["Bash(git log*)", "Bash(grep *)", "Bash(echo *)"],
        "deny": ["Bash(curl*)"],
    },
    "yolo": {"deny": ["Bash(curl*)"]},
}


def not_allowed(ran: Ran) -> str | None:
    """Why a program must not have run under the rules of mode manual."""
    name, *arguments = ran.argv
    if name == "git" and arguments and arguments[0].startswith("log"):
        pass
    elif name != "grep" and ran.argv != ("cat",):
        return " ".join(ran.argv)
    others = ran.variables - OF_THE_SHELL - (OF_STDBUF if "_STDBUF_O" in ran.variables else set())
    strange = {name for name in others if not HARMLESS_VARIABLE.fullmatch(name)}
    return f"{name} is given {sorted(strange)}" if strange else None


@pytest.fixture
async def bash(tmp_path: Path) -> AsyncIterator[Bash]:
    yield Bash(tmp_path.resolve())


def test_bash_runs_the_forbidden_commands(bash: Bash) -> None:
    """The check below would be worth nothing if the marker told nothing."""
    for script in FORBIDDEN:
        script = script.replace("BIN", str(bash.bin))
        ran = [each.argv[0] for each in bash.run(script)]
        assert "curl" in ran or script in ("./curl x", "cur? x"), script
        bash.renew()


async def decide(harness: ToolHarness, script: str) -> str:
    call = {"name": "Bash", "arguments": {"command": script}}
    return (await explain_call(harness.session.main, call)).decision


@pytest.mark.parametrize("mode", ["manual", "yolo"])
async def test_nothing_that_is_allowed_runs_what_is_not(bash: Bash, mode: str) -> None:
    """In mode manual also no other program than those of the rules, and no file is changed."""
    config = {"permission": RULES[mode]}
    home = bash.outside
    decisions: Counter[str] = Counter()
    leaks: list[tuple[str, str]] = []
    before = bash.files()
    async with ToolHarness(bash.work, home=home, mode=mode, config=config) as harness:  # type: ignore[arg-type]
        for script, _ in zip(Mutants(SEED, bash.bin), range(COUNT), strict=False):
            decision = await decide(harness, script)
            decisions[decision] += 1
            if decision != "allow":
                continue
            for ran in bash.run(script):
                if ran.argv[0] == "curl":
                    leaks.append((script, "curl runs"))
                elif mode == "manual" and (why := not_allowed(ran)):
                    leaks.append((script, why))
            if bash.files() != before:
                if mode == "manual":
                    leaks.append((script, "files are changed"))
                bash.renew()
    for leak in leaks:
        print(leak)
    print(f"mode {mode}, seed {SEED}: {dict(decisions)}, {len(leaks)} false")
    assert leaks == []
    assert decisions["allow"] > COUNT // 20, "too little is allowed for the check to mean anything"
