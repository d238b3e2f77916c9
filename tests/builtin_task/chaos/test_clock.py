"""Clocks that are set while tasks run: no duration is negative, and no limit is missed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DAY_S = 86_400


@pytest.fixture(
    scope="module", params=[-30 * 365 * DAY_S, -DAY_S, DAY_S, 30 * 365 * DAY_S], ids=str
)
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What `set_clock.py` tells."""
    workspace = tmp_path_factory.mktemp("clock") / "workspace"
    workspace.mkdir()
    done = subprocess.run(
        [
            sys.executable,
            Path(__file__).with_name("set_clock.py"),
            workspace,
            str(request.param),
        ],
        stdout=subprocess.PIPE,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0
    return json.loads(done.stdout)


def durations(infos: list[Any]) -> list[float]:
    return [info["ended_at"] - info["started_at"] for info in infos]


def test_durations_are_those_that_passed(seen: Any) -> None:
    short, limited, unlimited = durations(seen["running"]["infos"])
    assert 0.2 < short < 60 and 0.9 < limited < 60 and 0.9 < unlimited < 60
    assert all(0 <= duration < 60 for duration in durations(seen["starting"]["infos"]))
    assert all(duration >= 0 for duration in durations(seen["later"]["infos"]))


def test_limits_and_waits_go_by_the_time_that_passes(seen: Any) -> None:
    assert seen["running"]["active"] == ["running", "running"]
    statuses = [info["status"] for info in seen["running"]["infos"]]
    assert statuses == ["completed", "timed_out", "killed"]


def test_the_order_is_that_of_the_starts(seen: Any) -> None:
    assert seen["starting"]["in_order"]
    assert seen["starting"]["texts"] == ["0\n", "1\n", "2\n", "3\n"]


def test_each_end_is_told_once_and_as_it_is_known(seen: Any) -> None:
    running = seen["running"]
    assert sorted(running["told"]) == sorted(info["task_id"] for info in running["infos"])
    assert all(info in running["ends"] for info in running["infos"])
    assert seen["starting"]["told"]


def test_a_later_session_gets_along_with_it(seen: Any) -> None:
    """Nothing that has just ended is too old, and nothing is younger than new."""
    later = seen["later"]
    assert (later["told"], later["text"]) == (later["wanted"], "done\n")
    assert (later["active"], later["infos"][0]["status"]) == ("running", "killed")
    assert later["negative"] == []
