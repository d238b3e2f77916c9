"""Every program that bash really starts is one that the analysis has named."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree, which

import pytest
from attrs import frozen

from toolcrib.shell import analyse_command
from toolcrib.shell.model import UNKNOWN, CommandAnalysis, SimpleCommand

EXAMPLES = int(os.environ.get("TOOLCRIB_BASH_EXAMPLES", "400"))
SEED = int(os.environ.get("TOOLCRIB_BASH_SEED", "1"))

MARKERS = ("alpha", "beta", "gamma", "git", "rm")
REAL = ("env", "xargs", "timeout", "nice", "nohup", "find", "sh", "setsid")
RUN_A_TEXT = ("sh", "bash", ".", "source")
"""Programs that are named, and run a file or their input, which no analysis of the script sees."""
MARKER = """#!/bin/sh
all="$PWD\x1f${0##*/}"
for one; do all="$all\x1f$one"; done
printf '%s\x1e' "$all" >>LOG
"""

# fmt: off
WAYS = {
    "STATEMENTS": (
        "LISTS", "LISTS", "LISTS; LISTS", "LISTS\nLISTS", "alpha $(LISTS)", "beta `LISTS`",
        "LISTS & LISTS", "LISTS\n", 'git "$(LISTS\n)"', "alpha <(LISTS)", 'rm "`LISTS`"',
    ),
    "LISTS": (
        "PIPE", "PIPE", "PIPE && PIPE", "PIPE || PIPE", "PIPE | PIPE", "! PIPE", "time PIPE",
        "cd one && PIPE", "cd one || PIPE", "cd two/three; PIPE", "PIPE && cd .. && PIPE",
        "cd two && cd three || exit 1\nPIPE", "PIPE |& PIPE", "time -p PIPE",
    ),
    "PIPE": (
        "SIMPLE", "SIMPLE", "SIMPLE", "SIMPLE", "SIMPLE", "COMPOUND", "WRAPPED",
    ),
    "SIMPLE": (
        "NAME", "NAME WORD", "NAME WORD WORD", "NAME WORD WORD WORD", "x=WORD NAME WORD",
        "NAME WORD >WORD", "NAME WORD 2>&1", "NAME >o WORD", "<<<WORD NAME", "NAME &>o", "x=WORD",
        "a=(WORD WORD)", "export x=WORD", "NAME <<E\nTEXT\nE\n", "NAME >&o",
        "NAME <<'E'\nTEXT\nE\n", "NAME <<-E WORD\n\tTEXT\n\tE\n", "NAME {fd}>o", "NAME 3<>o",
        "a[1]=WORD", "echo WORD", "printf %s WORD", "cd WORD", "local x=WORD", "x+=WORD NAME",
        "NAME <<E; NAME <<F\nTEXT\nE\nTEXT\nF\n", "i=1; NAME $((i + 2))", "\\NAME WORD", "NAME>o",
        "x=WORD; NAME $x", "al''pha WORD", "NAME WORD \\\n WORD", "NAME # WORD", ">WORD NAME WORD",
        "NAME >&WORD", "NAME <&WORD", "x=WORD >o NAME", "declare x=WORD", "read x <<<WORD",
        "unset WORD", "printf -v WORD a", "test -v WORD", "[ WORD WORD ]", "a[WORD]=1",
        "x=WORD; NAME $((x))", "E=3; NAME $((E + 1))", "a[E]=WORD", "E=1; NAME ${a[E]}",
        "export WORD", "declare WORD", "set WORD", "NAME 2>&1 >o WORD", "NAME&&NAME||NAME",
    ),
    "COMPOUND": (
        "{ STATEMENTS\n}", "{ LISTS; } >o", "(STATEMENTS)", "(LISTS) 2>o",
        "if LISTS; then LISTS; fi",
        "if LISTS\nthen LISTS\nelif LISTS; then LISTS\nelse LISTS\nfi",
        "for i in WORD WORD; do LISTS; done", "for ((i = 0; i < 2; i++)); do LISTS; done",
        "while LISTS; do LISTS; break; done", "until LISTS; do break; done <<<WORD",
        "case WORD in WORD) LISTS;; *) LISTS ;; esac",
        "case WORD in\n(a|b) LISTS ;;\nWORD|c) LISTS\nesac",
        "case a in a) LISTS;& b) LISTS;;& esac", "fn() { STATEMENTS\n}; fn WORD",
        "fn() (LISTS)\nfn", "function fn { LISTS; }; fn", "[[ WORD == WORD ]] && LISTS",
        "[[ WORD =~ ^(a|b)+$ ]] || LISTS", "((1 + 2)) && LISTS",
        "[[ -f WORD && ! ( WORD < b ) ]]; LISTS", "[ WORD = WORD ] && LISTS", "test WORD; LISTS",
        "[[ 1 -eq WORD ]]; LISTS", "for i in 1 2; { LISTS; }", "if (LISTS) then (LISTS) fi",
        "{ { LISTS; } }", "((LISTS); LISTS)", "( (LISTS) )", "for i\ndo LISTS; done",
        "$((LISTS))", "[[ -v WORD ]]", "((WORD))", "x=WORD; [[ x -eq 1 ]]", "[[ WORD < WORD ]]",
        "for x in WORD; do NAME $((x)); done", "for E in 1 2; do NAME $((E)); done",
        "{ NAME; } | while read x; do NAME $x; done", "case WORD in (WORD) LISTS ;; esac",
        "fn() { LISTS; } >o; fn && fn", "if ! LISTS; then LISTS; fi 2>&1 | NAME",
    ),
    "WRAPPED": (
        "env NAME WORD", "env x=WORD NAME WORD", "env -i NAME", "timeout 5 NAME WORD",
        "nice -n 2 NAME", "sh -c 'LISTS'", 'bash -c "LISTS"', "bash -c 'LISTS' WORD",
        "eval 'LISTS'", 'eval "LISTS"', "eval LISTS", "echo a | xargs NAME WORD",
        "echo a b | xargs -n1 -I{} NAME {} WORD", "command NAME WORD", "exec NAME WORD",
        "builtin eval NAME WORD", "trap 'LISTS' EXIT",
        "find . -maxdepth 0 -exec NAME {} WORD \\;", "env -C one NAME", "env -S 'NAME a'",
        "setsid NAME", "exec >o; LISTS", "env sh -c 'LISTS'", "timeout 5 env x=1 NAME WORD",
        "find . -maxdepth 0 -execdir NAME {} +", "builtin cd one && LISTS",
        "command cd one && LISTS", "eval cd one && LISTS", "xargs -a /dev/null NAME",
        "set -- WORD; LISTS", "nohup NAME WORD", "E='a[$(NAME)]'; LISTS", "x='NAME WORD'; $x",
        "x='NAME WORD'; eval $x",
    ),
    "WORD": (
        "a", "b", "-n", "WORDWORD", "'b c'", '"d $X"', "$X", "$(LISTS)", "`NAME WORD`",
        '"$(LISTS)"', "\\;", "x\\ y", "a#b", "{a,b}", "{1..2}", "*", "~", "~/z", "$'n\\n'",
        '"`NAME`"', "$((1 + 2))", "${X:-$(LISTS)}", '"${X:-`NAME`}"', "${#X}", "<(LISTS)",
        ">(LISTS)", "a=b", "a\\\nb", "'$(NAME)'", "\\$(NAME)", '"\\$(NAME)"', '"\\`NAME\\`"',
        "${X/a/$(NAME)}", "${X%%WORD}", "$$", "$#", "#a", "''", "${a[1]}", "${a[@]}", "${!X}",
        "${E@P}", "$((E))", "${a[$E]}", "$((${#X} + 1))", "[a]", "[", "]]", "$(<o)",
        "$(NAME <<E\nTEXT\nE\n)", "`NAME \\`NAME\\``", '"a\\\nb"', "{a,$(NAME)}", "é", "%",
        "a\\\\", "$", '"$"', "a$", "=", "!", "}", "{", "if", "$(case a in a) LISTS;; esac)",
        "$(NAME # )\n)", "$((WORD))", "${X:WORD}", "${a[WORD]}", "$(>o WORD NAME)",
        "$(x=a WORD NAME)", "in", "$( (LISTS) )", "$((LISTS) )", "${X:=WORD}", "${X:1:2}",
        "${X^^}",
        '"\'$(NAME)\'"', "~+", "x=~/y", "$'\\'$(NAME)'", "$'a\\x62'", '"\\"$(NAME)\\""',
        "${X:+WORD}", "${X-WORD}", '"${X#"WORD"}"',
    ),
    "TEXT": (
        "a", "$(LISTS)", "`NAME`", "\\$(NAME)", "'$(NAME)'", "a \\\nE", "a\nb", '"$X',
        "${X:-$(NAME)}", "E E", "\\\\$(NAME)", "$((1 + 1))", "\\", "F", " E", "\tE", "'",
        "# $(NAME)", "${X:-'$(NAME)'}",
    ),
    "NAME": MARKERS,
}
"""What each part of a script may be, in which words in capitals stand for other parts."""
SPOILING = (
    ";", "\n", "&", "|", "||", "&&", "(", ")", "{", "}", "$(", "`", "'", '"', "\\", "\\\n", "#",
    " #", " ", "\t", "<<E\n", "\nE\n", "<", ">", ">|", "&>", "<<<", "<(", "2>&1", "!", "$", "${",
    "$((", "((", "))", "[[ ", " ]]", "$'", '$"', "~", "*", "=", "a=", "X=1 ", "\r", "\x01",
    "\xa0", "{a,b}", "{fd}>o ", "|&", ";;", " in ", " do ", " done ", "if ", " then ", " fi",
    "case ", " esac", "time ", "function ", "()", "eval ", "env ", "\\'", "alpha", "beta",
    "cd one", "$X", "${X}", "$(beta)", "`gamma`", "$E", "E", "a[$E]", "-", ",", "..", "[", "]",
    "+=", "@(", "!(", ":", "%", "^", "/", "?", "!!", "coproc ", "exec ",
)
# fmt: on
PART = re.compile("|".join(WAYS))
DEEPEST = {"PIPE": 5, "WORD": 7}
SHORTEST = {"PIPE": "SIMPLE", "WORD": "z", "LISTS": "alpha", "SIMPLE": "beta", "TEXT": "a"}
"""What stands for a part that is deeper than `DEEPEST` lets it be."""

pytestmark = pytest.mark.skipif(which("bash") is None, reason="there is no bash")


@frozen
class Started:
    """A program that has really run."""

    cwd: str
    argv: tuple[str, ...]


class Bash:
    """Runs scripts where the only programs are ones that write down that they ran."""

    runs = 0

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.log = folder / "log"
        self.bin.mkdir()
        self.renew()
        for name in MARKERS:
            path = self.bin / name
            path.write_text(MARKER.replace("LOG", str(self.log)))
            path.chmod(0o755)
        for name in (*REAL, "bash"):
            if real := which(name):
                (self.bin / name).symlink_to(Path(real).resolve())
        self.environment = {
            "PATH": str(self.bin),
            "X": "beta hidden",
            "E": "a[$(rm evaluated)]",
            "FUNCNEST": "4",
            "LC_ALL": "C.UTF-8",
        }

    def renew(self) -> None:
        """Go to new folders, because what an earlier script has started may still run."""
        self.runs += 1
        self.home = self.folder / f"run{self.runs}"
        self.work = self.home / "a" / "work"
        for name in ("one", "two/three"):
            (self.work / name).mkdir(parents=True)

    def run(self, script: str) -> tuple[list[Started], set[str]]:
        """The programs that the script starts, and the files that it makes."""
        bash = subprocess.Popen(
            [self.bin / "bash", "-c", script],
            cwd=self.work,
            env={**self.environment, "HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            bash.wait(timeout=2)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(bash.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        bash.wait()
        log = self.log.read_bytes().decode(errors="replace") if self.log.exists() else ""
        self.log.unlink(missing_ok=True)
        lines = [line.split("\x1f") for line in log.split("\x1e")[:-1]]
        started = [Started(cwd, tuple(argv)) for cwd, *argv in lines if self._is_here(cwd)]
        made = self._files()
        rmtree(self.home, ignore_errors=True)
        return started, made

    def _is_here(self, cwd: str) -> bool:
        return Path(cwd).is_relative_to(self.home)

    def _files(self) -> set[str]:
        return {
            os.path.join(folder, name) for folder, _, names in os.walk(self.home) for name in names
        }


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Bash:
    return Bash(tmp_path_factory.mktemp("bash").resolve())


def analysed(script: str, bash: Bash) -> CommandAnalysis:
    return analyse_command(script, cwd=str(bash.work), home_dir=str(bash.home), root=str(bash.work))


def covers(command: SimpleCommand, started: Started) -> bool:
    """Whether the analysis of a command allows for what has been started."""
    if command.cwd not in (None, started.cwd) or command.program != started.argv[0]:
        return False
    pattern = "".join(
        f"\x1f{re.escape(word.text)}" if word.literal else "(\x1f.*)?" for word in command.words[1:]
    )
    line = "".join(f"\x1f{argument}" for argument in started.argv[1:])
    return re.fullmatch(pattern, line, re.DOTALL) is not None


def unseen(script: str, bash: Bash) -> str | None:
    """What bash has done although the analysis of the script does not tell it."""
    bash.renew()
    analysis = analysed(script, bash)
    if analysis.unanalysable is not None:
        return None
    if any(c.program in RUN_A_TEXT and not c.transparent for c in analysis.commands):
        return None
    ran, made = bash.run(script)
    for started in ran:
        if not any(covers(command, started) for command in analysis.commands):
            return f"{started}"
    for path in made:
        if not any(writes(command, path) for command in analysis.commands):
            return f"{path} is written"
    return None


def writes(command: SimpleCommand, path: str) -> bool:
    targets = [
        redirect.target
        for redirect in command.redirects
        if redirect.kind in ("write", "readwrite") and redirect.target
    ]
    return any(
        UNKNOWN in target.text
        or command.cwd is None
        or os.path.normpath(os.path.join(command.cwd, target.text)) == path
        for target in targets
    )


class Scripts:
    """Makes scripts of everything that the grammar knows, and spoils some of them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.depth = 0

    def script(self) -> str:
        text = self.part("STATEMENTS")
        for _ in range(self.random.choice((0, 0, 1, 1, 2, 3))):
            at = self.random.randrange(len(text) + 1)
            kind = self.random.randrange(5)
            if kind < 3:
                text = text[:at] + self.random.choice(SPOILING) + text[at:]
            elif kind == 3:
                text = text[:at] + text[at + self.random.randrange(1, 4) :]
            else:
                end = at + self.random.randrange(1, 8)
                text = text[:at] + text[at:end] + text[at:]
        return text

    def part(self, name: str) -> str:
        way = self.random.choice(WAYS[name])
        if self.depth > DEEPEST.get(name, 9):
            way = SHORTEST.get(name, way)
        self.depth += 1
        text = PART.sub(lambda found: self.part(found.group()), way)
        self.depth -= 1
        return text


def scripts(count: int, seed: int) -> Iterator[str]:
    made = Scripts(seed)
    for _ in range(count):
        yield made.script()


def test_bash_starts_no_program_that_the_analysis_has_not_named(bash: Bash) -> None:
    """Scripts are made of the whole grammar, spoiled at random, and really run."""
    found = [
        (script, problem)
        for script in scripts(EXAMPLES, SEED)
        if (problem := unseen(script, bash)) is not None
    ]

    assert found == []


def test_most_scripts_of_the_grammar_can_be_analysed(bash: Bash) -> None:
    """The check above would be worth nothing if everything were refused."""
    known = [analysed(script, bash).unanalysable is None for script in scripts(300, SEED)]

    assert sum(known) > 60
