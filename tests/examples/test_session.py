"""The recorded session runs for real, against the source that it fetches."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SOURCE_MISSING = 3


@frozen
class Finished:
    """A run of the example: its recording, what it left in its workspace, what it printed."""

    session: dict[str, Any]
    results: list[dict[str, Any]]
    workspace: Path
    transcript: str
    status: int

    def result(self, call_id: str) -> dict[str, Any]:
        (found,) = [result for result in self.results if result["id"] == call_id]
        return found

    def call_of(self, mistake: str) -> dict[str, Any]:
        """The result of the call that was planted with this mistake."""
        planted = self.session["mistakes"]
        (call_id,) = [key for key, value in planted.items() if mistake in value["mistake"]]
        return self.result(call_id)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    folder = tmp_path_factory.mktemp("example")
    command = [sys.executable, str(EXAMPLES / "run_session.py")]
    command += ["--keep", str(folder / "workspace"), "--record", str(folder / "results.jsonl")]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=110)
    if run.returncode == SOURCE_MISSING and "could not be fetched" in run.stderr:
        pytest.skip(f"no package index in reach: {run.stderr.strip()[-200:]}")
    lines = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    yield Finished(
        session=json.loads((EXAMPLES / "session.json").read_text(encoding="utf-8")),
        results=[json.loads(line) for line in lines],
        workspace=folder / "workspace",
        transcript=run.stdout,
        status=run.returncode,
    )


def test_every_call_has_exactly_one_result(finished: Finished) -> None:
    calls = [call["id"] for batch in finished.session["batches"] for call in batch]
    assert len(calls) >= 40
    assert sorted(result["id"] for result in finished.results) == sorted(calls)


def test_batches_come_one_after_the_other(finished: Finished) -> None:
    order = {result["id"]: place for place, result in enumerate(finished.results)}
    places = [[order[call["id"]] for call in batch] for batch in finished.session["batches"]]
    assert all(max(earlier) < min(later) for earlier, later in pairwise(places))


def test_exactly_the_planted_mistakes_fail_and_as_they_should(finished: Finished) -> None:
    planted = finished.session["mistakes"]
    failed = {r["id"]: r["outcome"] for r in finished.results if r["is_error"]}
    assert failed == {call_id: mistake["outcome"] for call_id, mistake in planted.items()}
    assert finished.status == 0


@pytest.mark.parametrize(
    ("mistake", "fact"),
    [
        ("a file that does not exist", "src/click/types.py"),
        ("a tool that", "'Search'"),
        ("breaks off", "JSON"),
        ("a number as words", "fifty"),
        ("under another name", "command"),
        ("out of the workspace", "../notes.txt"),
        ("holds secrets", ".env"),
        ("of a file that was not read", "docs/api.rst"),
        ("overwriting a file", "src/click/utils.py"),
        ("fits many places", "14"),
        ("fails its test", "exit code 1"),
        ("not in the file", "src/click/bytesize.py"),
        ("has changed since", "CHANGES.rst"),
    ],
)
def test_an_error_names_what_the_model_can_act_on(
    finished: Finished, mistake: str, fact: str
) -> None:
    assert fact in finished.call_of(mistake)["output"]


def test_a_command_that_takes_too_long_is_moved_and_waited_for(finished: Finished) -> None:
    moved, waited = finished.result("call_17")["output"], finished.result("call_50")["output"]
    (task_id,) = [line for line in moved.splitlines() if line.startswith("task_id: ")]
    assert task_id in waited.splitlines()
    assert "status: completed" in waited and "part 3" in waited


def test_edits_are_in_the_files_and_refused_ones_are_not(finished: Finished) -> None:
    source = finished.workspace / "src" / "click"
    assert "_SUFFIXES.index(unit.upper())" in (source / "bytesize.py").read_text()
    exports = (source / "__init__.py").read_text()
    assert exports.count("ByteSize as ByteSize") == 1
    assert (source / "utils.py").stat().st_size > 20_000
    changes = (finished.workspace / "CHANGES.rst").read_text()
    assert "type for sizes such as ``10K``." in changes
    assert "Not released yet" in changes


def test_a_long_output_is_cut_and_says_where_the_rest_is(finished: Finished) -> None:
    calls = [call for batch in finished.session["batches"] for call in batch]
    (call_id,) = [c["id"] for c in calls if "cat src/click/core.py" in str(c["arguments"])]
    result = finished.result(call_id)
    size = (finished.workspace / "src" / "click" / "core.py").stat().st_size
    assert size > 50_000
    assert result["truncated"] and len(result["output"]) < 10_000
    assert "tool-results" in result["output"]


def test_secrets_stay_out_of_every_output(finished: Finished) -> None:
    assert (finished.workspace / ".env").is_file()
    assert not any("not-a-real-secret" in result["output"] for result in finished.results)
    assert "not-a-real-secret" not in finished.transcript
