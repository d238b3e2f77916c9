"""What a person at a terminal sees: tables, progress, and what Ctrl-C does."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from core.cli.conftest import Cli

if sys.platform == "win32":
    pytest.skip("terminals are of POSIX", allow_module_level=True)

import pexpect  # type: ignore[import-untyped]

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """Starts commands on a terminal of 100 columns."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.started: list[Any] = []

    def start(self, *arguments: str) -> Any:
        process = pexpect.spawn(
            self.cli.program,
            list(arguments),
            cwd=str(self.cli.workspace),
            env=self.cli.environ,
            dimensions=(40, 100),
            encoding="utf-8",
            timeout=30,
            # Whoever runs the tests in the background ignores it, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        self.started.append(process)
        return process

    def read(self, *arguments: str) -> str:
        """Everything that a command shows."""
        process = self.start(*arguments)
        process.expect(pexpect.EOF)
        process.close()
        return ESCAPE.sub("", process.before).replace("\r\n", "\n")


@pytest.fixture
def terminal(cli: Cli) -> Iterator[Terminal]:
    terminal = Terminal(cli)
    yield terminal
    for process in terminal.started:
        process.close(force=True)


@pytest.mark.parametrize("command", ["tools", "explain", "plugins"])
def test_a_table_has_headings_and_fits_the_terminal(terminal: Terminal, command: str) -> None:
    lines = terminal.read(command).splitlines()
    assert {"plugin"} <= set(lines[0].split())
    assert any("os-read" in line for line in lines[1:])
    assert max(map(len, lines)) <= 100


def test_run_without_input_does_not_wait_for_any(terminal: Terminal) -> None:
    assert "standard input" in terminal.read("run")


def write_calls(cli: Cli, command: str) -> None:
    calls = [
        {"id": "one", "name": "Bash", "arguments": {"command": command}},
        {"id": "two", "name": "Bash", "arguments": {"command": "echo never"}},
    ]
    (cli.workspace / "calls.json").write_text(json.dumps([[call] for call in calls]))


def test_progress_is_gone_when_results_come(terminal: Terminal) -> None:
    write_calls(terminal.cli, "sleep 1.5; echo slept")
    shown = terminal.start("run", "calls.json", "--mode", "yolo")
    shown.expect("0 of 1 calls done")
    shown.expect("\r\x1b\\[K\\[one\\]")
    shown.expect("slept")
    shown.expect(pexpect.EOF)


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_ctrl_c_cancels_and_reports_every_call(terminal: Terminal, flags: list[str]) -> None:
    fifo = terminal.cli.workspace / "started"
    os.mkfifo(fifo)
    write_calls(terminal.cli, "echo > started; sleep 60")
    shown = terminal.start("run", "calls.json", "--mode", "yolo", *flags)
    fifo.read_text()
    shown.sendintr()
    shown.expect("one")
    shown.expect("two")
    shown.expect(pexpect.EOF)
    shown.close()
    assert shown.exitstatus == 130


def test_a_second_ctrl_c_ends_what_does_not_stop(
    terminal: Terminal, wait_for_end: Callable[[int], None]
) -> None:
    fifo = terminal.cli.workspace / "started"
    os.mkfifo(fifo)
    write_calls(terminal.cli, "trap '' INT TERM; echo $$ > started; while :; do sleep 60; done")
    shown = terminal.start("run", "calls.json", "--mode", "yolo", "--json")
    shell = int(fifo.read_text())
    shown.sendintr()
    shown.expect("once more")
    shown.sendintr()
    shown.expect('"id": "one"')
    shown.expect('"id": "two"')
    shown.expect(pexpect.EOF)
    shown.close()
    assert shown.exitstatus == 130
    wait_for_end(shell)


def test_ctrl_c_ends_a_single_call(terminal: Terminal, wait_for_end: Callable[[int], None]) -> None:
    fifo = terminal.cli.workspace / "started"
    os.mkfifo(fifo)
    command = json.dumps({"command": "echo $$ > started; exec sleep 60"})
    shown = terminal.start("call", "Bash", command, "--mode", "yolo")
    sleeper = int(fifo.read_text())
    shown.sendintr()
    shown.expect(pexpect.EOF)
    shown.close()
    assert shown.exitstatus == 130
    wait_for_end(sleeper)


def test_what_a_tool_gives_back_does_not_move_the_cursor(terminal: Terminal) -> None:
    (terminal.cli.workspace / "odd").write_bytes(b"one\x1b]0;title\x07\x1b[2Jtwo\tthree\n")
    process = terminal.start("call", "Read", '{"path": "odd"}')
    process.expect(pexpect.EOF)
    assert "two" in process.before
    assert "\x1b]0;" not in process.before and "\x1b[2J" not in process.before
