"""Serving over the standard streams, by hand: how it begins, what it bears, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import define

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "by hand", "version": "1"},
}
PIPES: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}


@define
class Hand:
    """Types messages into a server and reads what it answers."""

    process: subprocess.Popen[str]
    number: int = 0

    def send(self, method: str, **params: Any) -> int:
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.type(json.dumps(message))
        return self.number

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def greet(self, **more: Any) -> None:
        self.send("initialize", **{**HELLO, **more})
        assert self.receive()["result"]["capabilities"]["tools"]["listChanged"] is True
        self.type('{"jsonrpc": "2.0", "method": "notifications/initialized"}')


@pytest.fixture(scope="module")
def shared_site(lone_site: Any) -> Any:
    """No server of other tests, for nothing may be left of ours."""
    return lone_site


@pytest.fixture
def hand(site: Any) -> Hand:
    hand = Hand(site.start(**PIPES))
    hand.greet()
    return hand


def wait_for(file: Path, content: str) -> None:
    limit = time.monotonic() + 20
    while not file.exists() or file.read_text() != content:
        assert time.monotonic() < limit
        time.sleep(0.02)


def hang_up(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()


@pytest.mark.parametrize(
    "end",
    [
        hang_up,
        lambda process: process.send_signal(signal.SIGTERM),
        lambda process: process.send_signal(signal.SIGINT),
        lambda process: process.send_signal(signal.SIGHUP),
    ],
    ids=["end of input", "SIGTERM", "SIGINT", "SIGHUP"],
)
def test_an_end_cancels_the_calls_and_leaves_nothing(
    site: Any, hand: Hand, end: Callable[[subprocess.Popen[str]], None]
) -> None:
    """Also not a daemon that a command has started, nor a background task."""
    hand.send("tools/call", name="Slow", arguments={"log": "log"})
    hand.send("tools/call", name="Bash", arguments={"command": "sleep 61 & echo $$ > pid; wait"})
    background = {"command": "sleep 62", "run_in_background": True, "description": "a task"}
    hand.send("tools/call", name="Bash", arguments=background)
    wait_for(site.workspace / "log", "started")
    while not (site.workspace / "pid").exists():
        time.sleep(0.02)
    end(hand.process)
    assert hand.process.wait(timeout=20) == 0
    assert (site.workspace / "log").read_text() == "cancelled"
    assert not site.processes()


def test_only_the_protocol_is_on_standard_output(site: Any, hand: Hand) -> None:
    """Each line is a message, whatever is printed elsewhere."""
    hand.send("tools/call", name="Noise", arguments={})
    assert hand.receive()["result"]["content"][0]["text"] == "quiet"
    hang_up(hand.process)
    assert hand.process.stdout is not None and hand.process.stdout.read() == ""
    assert hand.process.stderr is not None
    said = hand.process.stderr.read()
    for place in ("a plugin that is imported", "a tool", "a program"):
        assert f"printed by {place}" in said
    assert hand.process.wait(timeout=20) == 0


def test_what_is_no_message_is_passed_over(hand: Hand) -> None:
    """Garbage, empty lines and unknown methods do not end the conversation."""
    for line in ("garbage", "", "[]", '{"jsonrpc": "2.0"}', '"\\ud800"', "{" * 10_000):
        hand.type(line)
    hand.send("no/such/method")
    assert hand.receive()["error"]["code"] == -32601
    hand.send("tools/call", name="Read", arguments={"path": "a.txt"})
    assert "hello" in hand.receive()["result"]["content"][0]["text"]
    hang_up(hand.process)
    assert hand.process.wait(timeout=20) == 0


def test_a_message_without_end_ends_the_server(hand: Hand) -> None:
    """Its memory stays bounded."""
    assert hand.process.stdin is not None
    try:
        for _ in range(40):
            hand.process.stdin.write("x" * 1_000_000)
        hand.process.stdin.flush()
    except BrokenPipeError:
        pass
    assert hand.process.wait(timeout=20) == 0


def test_a_client_that_reads_nothing_does_not_keep_the_server_from_ending(
    site: Any, hand: Hand
) -> None:
    """Not even with answers that do not fit into the pipe."""
    (site.workspace / "long.txt").write_text("a line\n" * 10_000)
    for _ in range(8):
        hand.send("tools/call", name="Read", arguments={"path": "long.txt"})
    time.sleep(0.5)
    hand.process.send_signal(signal.SIGTERM)
    assert hand.process.wait(timeout=20) == 0


def test_a_change_of_the_tools_is_told(site: Any, hand: Hand) -> None:
    """Also between two calls, as when somebody edits the configuration."""
    hand.send("tools/list")
    assert "Bash" in [tool["name"] for tool in hand.receive()["result"]["tools"]]
    site.configure('[tools]\ndisabled = ["Bash"]\n')
    assert hand.receive()["method"] == "notifications/tools/list_changed"
    hand.send("tools/list")
    assert "Bash" not in [tool["name"] for tool in hand.receive()["result"]["tools"]]
    hang_up(hand.process)
    assert hand.process.wait(timeout=20) == 0


def test_a_client_that_reads_no_more_has_gone(site: Any, hand: Hand) -> None:
    """Though its own end is still open; the next answer shows it."""
    hand.send("tools/call", name="Slow", arguments={"log": "log"})
    wait_for(site.workspace / "log", "started")
    assert hand.process.stdout is not None
    hand.process.stdout.close()
    hand.send("tools/list")
    assert hand.process.wait(timeout=20) == 0
    assert (site.workspace / "log").read_text() == "cancelled"


@pytest.mark.parametrize("closed", [True, False])
def test_nobody_has_to_read_standard_error(site: Any, closed: bool) -> None:
    """Whether it is closed or only left alone, tools print as they like."""
    process = site.start(**PIPES)
    if closed:
        process.stderr.close()
    hand = Hand(process)
    hand.greet()
    for name, said in (("Loud", "loud"), ("Noise", "quiet"), ("Loud", "loud")):
        hand.send("tools/call", name=name, arguments={})
        assert hand.receive()["result"]["content"][0]["text"] == said
    hang_up(process)
    assert process.wait(timeout=20) == 0


def test_streams_that_do_not_block_serve_as_well(site: Any) -> None:
    """Nothing is lost of a long answer, and a wait for input is no end."""
    (site.workspace / "long.txt").write_text("a line\n" * 10_000)
    (their_input, our_input), (our_output, their_output) = os.pipe(), os.pipe()
    for descriptor in (their_input, their_output):
        os.set_blocking(descriptor, False)
    process = site.start(stdin=their_input, stdout=their_output)
    os.close(their_input)
    os.close(their_output)
    with open(our_input, "w") as typed, open(our_output) as read:
        for number, (method, params) in enumerate(
            [
                ("initialize", HELLO),
                ("notifications/initialized", {}),
                *[("tools/call", {"name": "Read", "arguments": {"path": "long.txt"}})] * 4,
            ]
        ):
            identified = {} if "/init" in method else {"id": number}
            message = {"jsonrpc": "2.0", **identified, "method": method, "params": params}
            typed.write(json.dumps(message) + "\n")
        typed.flush()
        time.sleep(0.3)  # until no more fits into the pipe
        answers = [json.loads(read.readline()) for _ in range(5)]
    assert sorted(answer["id"] for answer in answers) == [0, 2, 3, 4, 5]
    assert all("a line" in str(answer["result"]) for answer in answers if answer["id"])
    assert process.wait(timeout=20) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_server_that_is_not_ready_yet(site: Any, number: int) -> None:
    """Quietly, as it does later."""
    process = site.start(**PIPES)
    for line in process.stderr:
        if "written by a plugin that is imported" in line:
            break
    process.send_signal(number)
    out, said = process.communicate(timeout=20)
    assert process.returncode == 0 and out == "" and "Traceback" not in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_server_whose_client_is_being_asked(site: Any, number: int) -> None:
    """The call does not run; what is on standard output is protocol to the end."""
    hand = Hand(site.start(mode="manual", **PIPES))
    hand.greet(capabilities={"elicitation": {}})
    hand.send("tools/call", name="Bash", arguments={"command": "touch made"})
    assert hand.receive()["method"] == "elicitation/create"
    hand.process.send_signal(number)
    out, said = hand.process.communicate(timeout=20)
    assert hand.process.returncode == 0 and "Traceback" not in said
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert not (site.workspace / "made").exists()


def test_an_empty_conversation_is_one_too(site: Any) -> None:
    """Nothing was asked, so nothing is answered; started as users do it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "toolcrib", "serve", "--workspace", site.workspace],
        env=site.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, said = process.communicate(timeout=20)
    assert process.returncode == 0 and out == "" and "serving" in said


def test_standard_input_may_be_a_file(site: Any) -> None:
    """What stands in it is answered as far as there is time before the end."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    file = site.folder / "input"
    file.write_text(json.dumps(message) + "\n")
    with open(file) as opened:
        process = site.start(stdin=opened, stdout=subprocess.PIPE)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 0 and json.loads(out)["id"] == 1


def test_a_server_that_is_configured_in_its_own_client_is_not_started_for_ever(site: Any) -> None:
    """One that was started by a server says so and ends."""
    done = subprocess.run(
        [sys.executable, *site.arguments()],
        env={**site.environ, "TOOLCRIB_SERVING": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 2 and "started by toolcrib serve" in done.stderr


def test_a_missing_package_is_named_with_the_way_to_get_it(site: Any) -> None:
    """The protocol is an extra."""
    code = "import sys; sys.modules['mcp'] = None; from toolcrib.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "serve"],
        env=site.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 2 and "toolcrib[mcp]" in done.stderr


def test_a_second_signal_ends_at_once(site: Any, hand: Hand) -> None:
    """Whatever still wants to be cleaned up; what runs is killed."""
    command = "trap '' TERM INT; echo $$ > pid; while :; do sleep 0.1; done"
    hand.send("tools/call", name="Bash", arguments={"command": command})
    while not (site.workspace / "pid").exists():
        time.sleep(0.02)
    for _ in range(2):
        hand.process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
    assert hand.process.wait(timeout=20) in (0, 1)
    limit = time.monotonic() + 10
    while site.processes():
        assert time.monotonic() < limit
        time.sleep(0.05)
