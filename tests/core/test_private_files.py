"""Files of the user's state are private, changed in one step, one change at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib import StateError, change_private_file, read_private_file

LIMIT = 1 << 20


COUNT_UP = """
import json, pathlib, sys, toolcrib
for _ in range(20):
    toolcrib.change_private_file(
        pathlib.Path(sys.argv[1]),
        lambda before: json.dumps(json.loads(before or b"0") + 1).encode(),
        limit_bytes=1 << 20,
    )
"""


def test_a_file_that_is_not_there_is_none_and_a_new_one_is_private(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "a.json"
    assert read_private_file(file, limit_bytes=LIMIT) is None
    assert change_private_file(file, lambda before: b"[]", limit_bytes=LIMIT) == b"[]"
    assert read_private_file(file, limit_bytes=LIMIT) == b"[]"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_a_change_that_fails_or_is_none_leaves_everything_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    change_private_file(file, lambda before: b"old", limit_bytes=LIMIT)

    def fail(before: bytes | None) -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        change_private_file(file, fail, limit_bytes=LIMIT)
    assert change_private_file(file, lambda before: None, limit_bytes=LIMIT) == b"old"
    assert file.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == [".a.json.lock", "a.json"]


def test_changes_of_several_processes_are_all_kept(tmp_path: Path) -> None:
    file = tmp_path / "count.json"
    workers = [subprocess.Popen([sys.executable, "-c", COUNT_UP, str(file)]) for _ in range(3)]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert read_private_file(file, limit_bytes=LIMIT) == b"60"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "large"])
def test_what_is_no_plain_file_within_the_limit_is_not_read(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "a.json"
    if kind == "link":
        (tmp_path / "other").write_bytes(b"x")
        file.symlink_to(tmp_path / "other")
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.write_bytes(b"x" * 11)
    with pytest.raises(StateError, match=r"a\.json"):
        read_private_file(file, limit_bytes=10)
    with pytest.raises(StateError, match=r"a\.json"):
        change_private_file(file, lambda before: b"new", limit_bytes=10)


def test_nothing_is_written_that_could_not_be_read(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    change_private_file(file, lambda before: b"old", limit_bytes=10)
    with pytest.raises(StateError, match=r"a\.json"):
        change_private_file(file, lambda before: b"x" * 11, limit_bytes=10)
    assert read_private_file(file, limit_bytes=10) == b"old"


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StateError, match="cannot write"):
        change_private_file(tmp_path / "file" / "a.json", lambda before: b"", limit_bytes=LIMIT)
