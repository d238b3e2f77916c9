"""A host that may open few files: what it cannot start it refuses, and nothing is lost of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `few_files.py` tells."""
    workspace = tmp_path_factory.mktemp("files") / "workspace"
    workspace.mkdir()
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("few_files.py"), workspace],
        stdout=subprocess.PIPE,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_some_are_started_and_the_others_refused(seen: dict[str, Any]) -> None:
    assert seen["started"] > 10 and seen["refused"] > 10


def test_those_that_were_started_can_be_stopped(seen: dict[str, Any]) -> None:
    assert (seen["statuses"], seen["active"]) == (["killed"], 0)


def test_nothing_stays_open_and_further_ones_can_be_started(seen: dict[str, Any]) -> None:
    assert seen["left"] == 0
    assert seen["again"] == "again\n"


def test_only_what_was_started_is_told_of(seen: dict[str, Any]) -> None:
    assert seen["news"] == seen["started"] + 2
