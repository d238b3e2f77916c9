"""The benchmarks run and report; how fast anything is, is not asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110)


def test_rows_come_as_a_table_and_as_json(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    run = _run("--quick", "reject", "bash-true", "background-start", "--json", str(file))
    assert run.returncode in (0, 1), run.stderr  # 1: a target is missed on a busy machine
    heading = run.stdout.splitlines()[0].split()
    assert heading == ["what", "floor", "toolcrib", "ratio", "target", "met"]
    rows = json.loads(file.read_text())["rows"]
    assert [row["name"] for row in rows] == ["reject", "bash-true", "background-start"]
    for row in rows:
        assert row["what"] in run.stdout
        assert row["floor"] > 0 and row["toolcrib"] > 0 and not row["failed"]
        if row["max_more"] is None:
            assert row["met"] is (row["ratio"] <= row["max_ratio"])
        else:
            assert row["met"] is (row["toolcrib"] - row["floor"] <= row["max_more"])


def test_every_row_can_be_listed_and_an_unknown_one_is_refused() -> None:
    names = [line.split()[0] for line in _run("--list").stdout.splitlines()]
    assert len(names) == len(set(names)) > 15
    assert _run("no-such-row").returncode not in (0, None)
