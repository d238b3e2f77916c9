"""Telling processes apart over time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toolcrib.processes import identity
from toolcrib.processes.identity import process_age_s, process_started, this_host


@pytest.fixture
def sleeper(tmp_path: Path) -> subprocess.Popen[bytes]:
    """A process whose name looks like the rest of its line in /proc."""
    program = tmp_path / "a) S 1 1 (b"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    return subprocess.Popen([program, "300"])


def test_a_process_has_the_same_start_every_time(sleeper: subprocess.Popen[bytes]) -> None:
    try:
        started = process_started(sleeper.pid)
        assert started is not None
        assert process_started(sleeper.pid) == started != process_started(os.getpid())
    finally:
        sleeper.kill()
        sleeper.wait()


def test_one_that_has_ended_has_none(sleeper: subprocess.Popen[bytes]) -> None:
    """From its end on, not only from when somebody takes note of it."""
    sleeper.kill()
    deadline = time.monotonic() + 10
    while process_started(sleeper.pid) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(sleeper.pid, 0)  # it is still there, as a zombie
    sleeper.wait()
    assert process_started(sleeper.pid) is None


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_age_of_a_process_grows_whatever_the_clock_says(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = process_age_s(sleeper.pid)
    own = process_age_s(os.getpid())
    assert first is not None and own is not None
    assert 0 <= first <= own
    monkeypatch.setattr(time, "time", lambda: 0.0)
    time.sleep(0.05)
    later = process_age_s(sleeper.pid)
    assert later is not None and first + 0.04 <= later < first + 60
    sleeper.kill()
    sleeper.wait()
    assert process_age_s(sleeper.pid) is None


@pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps")
def test_where_there_is_no_proc_ps_tells(sleeper: subprocess.Popen[bytes]) -> None:
    started = identity._started_by_ps(sleeper.pid)
    assert started is not None
    assert identity._started_by_ps(sleeper.pid) == started
    sleeper.kill()
    deadline = time.monotonic() + 10
    while identity._started_by_ps(sleeper.pid) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    sleeper.wait()
    assert identity._started_by_ps(sleeper.pid) is None


def test_other_processes_see_the_same() -> None:
    code = (
        "import sys; from toolcrib import process_started, this_host; "
        "print(this_host(), process_started(int(sys.argv[1])), sep='|')"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(os.getpid())], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == f"{this_host()}|{process_started(os.getpid())}"


UNSEEN = """
import os, subprocess, sys
from toolcrib import process_started
process_started(1)  # imports what it needs
if sys.argv[1] == "hidden":
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(repr(process_started(os.getppid())), process_started((1 << 22) - 1))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(
    ("kind", "prepare"),
    [
        ("hidden", "mount -t proc -o hidepid=2 proc /proc"),
        ("missing", "umount -l /proc"),
        ("of another container", ":"),
    ],
)
def test_where_proc_does_not_tell_a_process_still_runs(kind: str, prepare: str) -> None:
    options = ["--mount"] if kind == "hidden" else ["--mount", "--pid", "--fork"]
    script = f'{prepare} && {{ "$0" -c "$1" "$2"; echo done; }}'
    done = subprocess.run(
        ["unshare", *options, "sh", "-c", script, sys.executable, UNSEEN, kind],
        capture_output=True,
        text=True,
    )
    if "done" not in done.stdout:
        pytest.skip(f"needs containers: {done.stderr}")
    assert done.stdout == "'' None\ndone\n"
