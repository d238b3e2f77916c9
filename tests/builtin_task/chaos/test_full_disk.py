"""A disk without room: tasks go on, and what was kept of them is exact."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

UNSHARE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `full_disk.py` tells."""
    probe = [*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    if shutil.which("unshare") is None or subprocess.run(probe, stderr=subprocess.PIPE).returncode:
        pytest.skip("needs a mount namespace to have a small disk")
    workspace = tmp_path_factory.mktemp("full") / "workspace"
    workspace.mkdir()
    done = subprocess.run(
        [*UNSHARE, sys.executable, Path(__file__).with_name("full_disk.py"), workspace],
        stdout=subprocess.PIPE,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_a_task_that_fills_it_runs_to_its_end(seen: dict[str, Any]) -> None:
    flood = seen["flood"]
    assert flood["status"] == "completed"
    assert flood["total"] > 4_000_000
    assert flood["tail"].endswith("the end\n")


def test_what_is_on_it_is_exactly_the_beginning(seen: dict[str, Any]) -> None:
    flood = seen["flood"]
    assert flood["is_beginning"]
    assert 0 < flood["on_disk"] == flood["kept"] < 1 << 20
    assert "No space left" in flood["problem"]


def test_further_tasks_run_without_it(seen: dict[str, Any]) -> None:
    after = seen["after"]
    assert (after["status"], after["tail"]) == ("failed", "still works\n")
    assert after["problem"] is not None or after["kept"] == after["total"]
    assert seen["stopped"] == "killed"


def test_commands_in_the_foreground_do_as_well(seen: dict[str, Any]) -> None:
    assert seen["foreground"].startswith("400000")


def test_each_end_is_told_once(seen: dict[str, Any]) -> None:
    assert (seen["news"], seen["again"]) == (3, 0)


def test_nothing_stays_open(seen: dict[str, Any]) -> None:
    assert seen["files_left"] == 0


def test_once_there_is_room_again_all_is_kept(seen: dict[str, Any]) -> None:
    room = seen["with_room"]
    assert (room["problem"], room["kept"], room["on_disk"]) == (None, 11, 11)
