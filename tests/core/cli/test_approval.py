"""A person at a terminal is asked: each answer, and everything that is none."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from core.cli.conftest import Cli

if sys.platform == "win32":
    pytest.skip("terminals are of POSIX", allow_module_level=True)

import pexpect  # type: ignore[import-untyped]

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PROMPT = r"answer \([^)]*\): "
MAKE = "echo made >> made"


class Terminal:
    """Runs calls on a terminal of 30 lines and 90 columns."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.started: list[Any] = []

    @property
    def made(self) -> int:
        """How often the command was carried out."""
        file = self.cli.workspace / "made"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def run(self, *batches: list[str], flags: tuple[str, ...] = (), script: str = "") -> Any:
        """Start `toolcrib run` on batches of commands, in a shell's script if there is one."""
        numbered = [
            [
                {"id": f"{number}-{place}", "name": "Bash", "arguments": {"command": command}}
                for place, command in enumerate(batch, 1)
            ]
            for number, batch in enumerate(batches, 1)
        ]
        calls = self.cli.workspace / "calls.json"
        calls.write_text(json.dumps({"batches": numbered}))
        arguments = ["run", str(calls), *flags]
        program, given = (
            ("bash", ["--norc", "-c", script]) if script else (self.cli.program, arguments)
        )
        return self.start(program, given)

    def start(self, program: str, arguments: list[str]) -> Any:
        process = pexpect.spawn(
            program,
            arguments,
            cwd=str(self.cli.workspace),
            env=self.cli.environ,
            dimensions=(30, 90),
            encoding="utf-8",
            timeout=30,
            # Whoever runs the tests in the background ignores it, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        process.logfile_read = io.StringIO()
        self.started.append(process)
        return process


@pytest.fixture
def terminal(cli: Cli) -> Iterator[Terminal]:
    terminal = Terminal(cli)
    yield terminal
    for process in terminal.started:
        process.close(force=True)


def answer(process: Any, *keys: str) -> None:
    """Type each key when the question stands there."""
    for key in keys:
        process.expect(PROMPT)
        process.sendline(key)


def end(process: Any, status: int = 0) -> str:
    """Everything that a command showed until its end, which has to be with this status."""
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus == status
    return ESCAPE.sub("", process.logfile_read.getvalue()).replace("\r\n", "\n")


def test_yes_holds_once(terminal: Terminal) -> None:
    """The same call is asked about again."""
    process = terminal.run([MAKE], [MAKE])
    process.expect("May Bash run")
    process.expect("echo made")
    process.expect("fallback-ask")
    answer(process, "y", "n")
    shown = end(process)
    assert terminal.made == 1
    assert "[2-1]" in shown and "rejected" in shown


def test_yes_by_its_number_or_word(terminal: Terminal) -> None:
    answer(process := terminal.run([MAKE], [MAKE], [MAKE]), "1", "YES", "  y  ")
    end(process)
    assert terminal.made == 3


def test_yes_for_the_session(terminal: Terminal) -> None:
    """Later calls are not asked about, those of the same batch included; another session is."""
    answer(process := terminal.run([MAKE, MAKE], [MAKE]), "s")
    end(process)
    assert terminal.made == 3
    answer(process := terminal.run([MAKE]), "n")
    end(process)
    assert terminal.made == 3


@pytest.mark.parametrize("key", ["p", "a"])
def test_yes_for_good(terminal: Terminal, key: str) -> None:
    """The next session does not ask, with or without a terminal; other calls are asked about."""
    answer(process := terminal.run([MAKE]), key)
    end(process)
    end(terminal.run([MAKE]))
    assert terminal.made == 2
    call = json.dumps({"name": "Bash", "arguments": {"command": MAKE}})
    assert terminal.cli("run", "-", "--json", given=call).records[0]["is_error"] is False
    assert terminal.made == 3
    answer(process := terminal.run([f"{MAKE}; touch other"]), "n")
    end(process)
    assert terminal.made == 3


def test_yes_for_a_project_says_nothing_about_another(terminal: Terminal, tmp_path: Path) -> None:
    """`p` holds where it was given, `a` everywhere."""
    answer(process := terminal.run([MAKE]), "p")
    end(process)
    (tmp_path / "other").mkdir()
    answer(process := terminal.run([MAKE], flags=("--workspace", str(tmp_path / "other"))), "a")
    end(process)
    (tmp_path / "third").mkdir()
    end(terminal.run([MAKE], flags=("--workspace", str(tmp_path / "third"))))
    assert (tmp_path / "third" / "made").exists()


def test_no(terminal: Terminal) -> None:
    """The call is refused, the next batch goes on."""
    answer(process := terminal.run([MAKE], [MAKE]), "n", "y")
    assert "rejected" in end(process)
    assert terminal.made == 1


def test_no_with_words_for_the_model(terminal: Terminal) -> None:
    answer(process := terminal.run([MAKE], flags=("--json",)), "f")
    process.expect("instead")
    process.sendline("use \x1b[A the Makefile \u65e5\u672c")
    shown = end(process)
    record = json.loads(shown[shown.index('{"id"') :])
    assert "use [A the Makefile \u65e5\u672c" in record["output"]
    assert record["outcome"] == "vetoed" and terminal.made == 0


@pytest.mark.parametrize("partial", ["", "y"])
def test_the_end_of_input_is_no_answer(terminal: Terminal, partial: str) -> None:
    """Ctrl-D cancels, also behind a letter that would have been a yes."""
    process = terminal.run([MAKE])
    process.expect(PROMPT)
    process.send(partial)
    process.sendeof()
    if partial:
        process.sendeof()
    assert "cancelled" in end(process)
    assert terminal.made == 0


def test_a_terminal_that_goes_away_is_no_answer(terminal: Terminal) -> None:
    process = terminal.run([MAKE])
    process.expect(PROMPT)
    process.close(force=False)
    assert terminal.made == 0


def test_ctrl_c_cancels_the_batch(terminal: Terminal) -> None:
    """Every call has a result, and the terminal is as before."""
    process = terminal.run([MAKE, MAKE], [MAKE], flags=("--json",))
    process.expect(PROMPT)
    process.sendintr()
    shown = end(process, 130)
    for id in ("1-1", "1-2", "2-1"):
        assert f'"id": "{id}"' in shown
    assert terminal.made == 0


def test_ctrl_c_ends_a_single_call(terminal: Terminal) -> None:
    call = json.dumps({"command": MAKE})
    process = terminal.start(terminal.cli.program, ["call", "Bash", call])
    process.expect(PROMPT)
    process.sendintr()
    end(process, 130)
    assert terminal.made == 0


def test_a_single_call_is_asked_about(terminal: Terminal) -> None:
    call = json.dumps({"command": MAKE})
    answer(process := terminal.start(terminal.cli.program, ["call", "Bash", call]), "y")
    end(process)
    assert terminal.made == 1


def test_what_is_no_answer_is_asked_again(terminal: Terminal) -> None:
    """Rubbish, nothing, and lines pasted behind rubbish approve nothing."""
    process = terminal.run([MAKE])
    answer(process, "maybe", "", "9", "\x1b[A", "yy", "no way\ny\ny")
    process.expect("none of the answers")
    answer(process, "n")
    end(process)
    assert terminal.made == 0


def test_what_was_typed_before_the_question_approves_nothing(terminal: Terminal) -> None:
    """A whole line and half of one, typed while a call ran."""
    process = terminal.run(["sleep 0.5; echo $$ > ready; sleep 1.5"], [MAKE])
    answer(process, "y")
    while not (terminal.cli.workspace / "ready").exists():
        time.sleep(0.01)
    process.sendline("y")
    process.send("y")
    answer(process, "n")
    end(process)
    assert terminal.made == 0


def test_all_of_a_long_command_can_be_viewed(terminal: Terminal) -> None:
    """Page by page, and then the question stands there again."""
    command = "\n".join(["true", *(f": {number}" for number in range(100)), MAKE])
    process = terminal.run([command])
    process.expect("rows left out")
    answer(process, "v")
    for number in (20, 50, 80):
        process.expect(f"{number}\x1b")
        process.expect("Enter shows more")
        process.sendline("")
    process.expect("May Bash run")
    answer(process, "v")
    process.expect("Enter shows more")
    process.sendline("q")
    answer(process, "y")
    end(process)
    assert terminal.made == 1


def test_a_command_cannot_repaint_the_panel(terminal: Terminal) -> None:
    """Its escape sequences are shown, not sent."""
    process = terminal.run(["echo '\x1b[2J\x1b]0;safe\x07\r'; " + MAKE])
    process.expect(PROMPT)
    assert "\x1b[2J" not in process.before and "\x1b]" not in process.before
    assert "\\x1b" in ESCAPE.sub("", process.before)
    process.sendline("n")
    end(process)


def test_progress_waits_while_a_question_stands_there(terminal: Terminal) -> None:
    """Calls that run meanwhile are reported when the question is answered."""
    process = terminal.run(["sleep 0.1; echo slept", MAKE])
    answer(process, "s")
    process.expect(PROMPT)
    with pytest.raises(pexpect.TIMEOUT):
        process.expect(r"calls done|\[1-1\]", timeout=1.5)
    process.sendline("y")
    shown = end(process)
    assert "[1-1]" in shown and "[1-2]" in shown


def test_calls_from_a_pipe_are_asked_about_at_the_terminal(terminal: Terminal) -> None:
    """Standard input brings the calls, the terminal the answers."""
    answer(process := terminal.run([MAKE], script="toolcrib run - < calls.json"), "y")
    end(process)
    assert terminal.made == 1


def test_the_terminal_under_its_common_name(terminal: Terminal) -> None:
    """In a script whose input is something else, `< /dev/tty` lets the person be asked."""
    answer(process := terminal.run([MAKE], script="toolcrib run calls.json < /dev/tty"), "y")
    end(process)
    assert terminal.made == 1


@pytest.mark.parametrize(
    "script",
    [
        "toolcrib run calls.json < /dev/null",
        "yes | toolcrib run calls.json",
        "yes n | toolcrib run calls.json",
        "toolcrib run calls.json <&-",
        "toolcrib run calls.json 2>errors; cat errors",
        "cat calls.json | setsid --wait toolcrib run -",
    ],
)
def test_where_nobody_can_answer_it_is_denied_at_once(terminal: Terminal, script: str) -> None:
    """Also in a terminal: input from elsewhere, or errors that go elsewhere, ask nobody."""
    shown = end(terminal.run([MAKE], script=script))
    assert "[1-1]" in shown and "answer (" not in shown
    assert terminal.made == 0


@pytest.mark.parametrize(
    "redirection", ["< /dev/null", "< <(yes y)", "< <(yes n)", "<&-", "< <(exit)"]
)
def test_without_a_terminal_it_is_denied_at_once(cli: Cli, redirection: str) -> None:
    """Whatever standard input says."""
    call = {"id": "1", "name": "Bash", "arguments": {"command": MAKE}}
    (cli.workspace / "calls.json").write_text(json.dumps([call]))
    ran = cli.shell(f"toolcrib run calls.json --json {redirection}")
    assert ran.records[0]["outcome"] == "vetoed"
    assert not (cli.workspace / "made").exists()


def test_in_the_background_it_is_denied(terminal: Terminal) -> None:
    """Reading there would stop the whole program."""
    script = "set -m; toolcrib run calls.json > out & wait; cat out"
    shown = end(terminal.run([MAKE], script=script))
    assert "background" in shown
    assert terminal.made == 0


@pytest.mark.parametrize("way", ["answer", "end", "interrupt"])
def test_the_terminal_is_left_as_it_was(terminal: Terminal, way: str) -> None:
    """A terminal that hands over single keys asks for lines, and then hands over keys again."""
    script = "stty -icanon -echo; toolcrib run calls.json; trap '' INT; stty -a; exec sleep 0"
    process = terminal.run([MAKE], script=script)
    process.expect(PROMPT)
    if way == "answer":
        process.sendline("y")
    elif way == "end":
        process.sendeof()
    else:
        process.sendintr()
    process.expect("speed")
    shown = end(process)
    assert "-icanon" in shown and "-echo " in shown
