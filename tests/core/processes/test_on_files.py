"""A process that is talked to over open files of the caller, and does not outlive it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toolcrib import Launch, process_started, start_on_files

HOST = """
import asyncio, os, sys
from toolcrib import Launch, start_on_files

async def main():
    null = os.open(os.devnull, os.O_RDWR)
    launch = Launch(("sleep", "300"), "/", os.environ)
    print(start_on_files(launch, stdin=null, stdout=null, stderr=null).pid, flush=True)

asyncio.run(main())
"""


async def test_it_reads_and_writes_the_files(tmp_path: Path) -> None:
    """Each of the three is the one that was given."""
    reading, writing = os.pipe()
    out, err = tmp_path / "out", tmp_path / "err"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = start_on_files(
            Launch(("/bin/sh", "-c", "cat; echo complaint >&2"), "/", os.environ),
            stdin=reading,
            stdout=stdout.fileno(),
            stderr=stderr.fileno(),
        )
    os.close(reading)
    os.write(writing, b"said\n")
    os.close(writing)
    assert await process.wait() == 0
    await process.stop()
    assert (out.read_text(), err.read_text()) == ("said\n", "complaint\n")


async def test_a_program_that_is_missing_is_told() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    with pytest.raises(FileNotFoundError):
        start_on_files(
            Launch(("/no/such/program",), "/", os.environ), stdin=null, stdout=null, stderr=null
        )
    os.close(null)


def test_it_ends_with_a_host_that_forgets_it() -> None:
    said = subprocess.run([sys.executable, "-c", HOST], capture_output=True, check=True)
    deadline = time.monotonic() + 10
    while process_started(int(said.stdout)) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
