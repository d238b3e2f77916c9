"""Hosts that are killed at random moments, and the sessions that come after them."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from toolcrib import process_started

KILLS = 50
KEEPING_KILLS = 10
LATEST_S = 0.35
WHOLE = {
    "short": "".join(f"short {n}\n" for n in range(1, 21)),
    "failing": "failing\n",
    "large": "".join(f"{n}\n" for n in range(1, 20_001)),
}
"""What the commands write that end by themselves."""
BEGINNING = WHOLE | {
    "quiet": "",
    "stubborn": "".join(f"{n}\n" for n in range(1, 10_000)),
    "daemon": "up\n",
    "crowd": "",
}
NATURAL_END = {"short": "completed", "large": "completed", "failing": "failed"}


@define
class Report:
    """What a host has told until it was killed.

    `unsure` says that it was taking news then, which nobody else knows of.
    """

    kinds: dict[str, str] = field(factory=dict)
    ended: dict[str, str] = field(factory=dict)
    told: Counter[str] = field(factory=Counter)
    unsure: bool = False

    @classmethod
    def of(cls, lines: list[dict[str, Any]]) -> Report:
        report = cls()
        for line in lines:
            if "started" in line:
                report.kinds[line["started"]] = line["kind"]
            elif "ended" in line:
                assert line["ended"] not in report.ended
                report.ended[line["ended"]] = line["status"]
            elif "told" in line:
                report.told.update(line["told"])
            report.unsure = "taking" in line or (report.unsure and "told" not in line)
        return report


@define
class Nursery:
    """Starts hosts and kills them; see `nursery.py`."""

    process: subprocess.Popen[str]
    lines: list[dict[str, Any]] = field(factory=list)

    def read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(map(json.loads, self.process.stdout))

    def send(self, word: str, number: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word} {number}\n")
        self.process.stdin.flush()

    def until(self, key: str) -> Any:
        """Wait for a line of this kind; its value."""
        deadline = time.monotonic() + 60
        while True:
            for line in tuple(self.lines):
                if key in line:
                    return line[key]
            assert time.monotonic() < deadline and self.process.poll() is None
            time.sleep(0.001)

    def killed_after(self, seconds: float, word: str, seed: int) -> Report:
        """Have a host run for so long and kill it; what it has told."""
        self.lines.clear()
        self.send(word, seed)
        pid = self.until("pid")
        time.sleep(seconds)
        os.kill(pid, 9)
        while process_started(pid) is not None:
            time.sleep(0.001)
        self.send("echo", seed)
        assert self.until("echo") == seed
        return Report.of(self.lines)


@pytest.fixture
def nursery(chaos: Any) -> Iterator[Nursery]:
    program = Path(__file__).with_name("nursery.py")
    with subprocess.Popen(
        [sys.executable, program, chaos.workspace, chaos.mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        made = Nursery(process)
        reader = threading.Thread(target=made.read)
        reader.start()
        made.send("echo", 0)
        made.until("echo")
        yield made
        assert process.stdin is not None
        process.stdin.close()
        reader.join()


def assert_output(host: Any, task_id: str, kind: str, *, whole: bool) -> None:
    """The log holds what the command writes, and is given as it is; it may still grow."""
    written = host.log(task_id).read_text()
    output = host.output(task_id, since=0, max_bytes=1 << 20)
    assert output.text.startswith(written) and output.total_bytes == len(output.text)
    assert BEGINNING[kind].startswith(output.text)
    assert written == BEGINNING[kind] or not whole


@pytest.fixture
async def bystander(chaos: Any) -> AsyncIterator[Any]:
    """A session in the same workspace that lives all the while, with a task of its own."""
    other = type(chaos)(chaos.workspace)
    host = other.open()
    task_id = await host.bash("echo up; exec sleep 300")
    yield host
    assert host.info(task_id).active and host.told() == []
    await other.aclose()
    assert other.processes() == []


@pytest.mark.slow
async def test_nothing_is_left_and_nothing_is_forgotten(
    chaos: Any, nursery: Nursery, bystander: Any
) -> None:
    """After each kill, a new session accounts for every task that was started."""
    moment = random.Random(4)
    told_before: set[str] = set()
    statuses: Counter[str] = Counter()
    for seed in range(KILLS):
        report = nursery.killed_after(moment.uniform(0, LATEST_S), "start", seed)
        files = chaos.open_logs()
        host = chaos.open()
        assert host.tasks.list() == ()
        await chaos.all_gone()
        told = Counter(host.told())
        for task_id, kind in report.kinds.items():
            info = host.info(task_id)
            statuses[info.status] += 1
            natural = NATURAL_END.get(kind)
            if task_id in report.ended:
                assert info.status == report.ended[task_id] == natural
            else:  # it may have ended in the moment of the kill
                assert info.status in ("lost", natural)
            assert info.ended_at is not None and info.ended_at >= info.started_at
            assert_output(host, task_id, kind, whole=info.status == natural)
            times = report.told[task_id] + told[task_id]
            assert times == 1 or (times == 0 and report.unsure and info.status == natural)
        assert set(told.values()) <= {1}
        assert not (told.keys() | report.told.keys()) & told_before
        told_before |= told.keys() | report.told.keys()
        assert host.told() == []
        await host.harness.aclose()
        assert chaos.open_logs() == files
    # How many depends on how fast the machine is.
    assert statuses["lost"] and statuses["completed"], statuses


async def test_what_is_kept_goes_on_until_somebody_stops_it(chaos: Any, nursery: Nursery) -> None:
    """And what ended meanwhile has left word of how."""
    moment = random.Random(7)
    statuses: Counter[str] = Counter()
    for seed in range(KEEPING_KILLS):
        report = nursery.killed_after(moment.uniform(0.1, LATEST_S), "keep", seed)
        host = chaos.open()
        running = {info.task_id for info in host.tasks.list()}
        for task_id, kind in report.kinds.items():
            if kind in NATURAL_END:
                (info,) = await host.ended(task_id)
                assert info.status == NATURAL_END[kind]
                assert_output(host, task_id, kind, whole=True)
            else:
                assert task_id in running and process_started(host.info(task_id).details["pid"])
                assert_output(host, task_id, kind, whole=False)
        for task_id in running:
            info = await host.tasks.stop(task_id, "enough")
            assert info is not None
            statuses[info.status] += 1
        await chaos.all_gone()
        told = Counter(host.told()) + report.told
        assert set(told.values()) <= {1}
        assert told.keys() >= report.kinds.keys() - (report.ended.keys() if report.unsure else ())
        assert host.told() == []
        await host.harness.aclose()
    assert statuses["killed"], statuses  # how many depends on how fast the machine is
