"""Output in any amount and of any kind: kept to the byte up to the limit, in bounded memory."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

GIGABYTE = 1_000_000_000
LIMIT = 16 << 20
MAX_RSS_MB = 150

HOST = """
import asyncio, hashlib, json, sys
from pathlib import Path
from toolcrib.testing import ToolHarness

async def main():
    workspace, command, limit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    config = {"task": {"output_limit_bytes": limit}}
    async with ToolHarness(workspace, config=config) as harness:
        arguments = {"command": command, "run_in_background": True, "description": "flood"}
        await harness.call("Bash", arguments)
        tasks = harness.session.tasks
        task_id = tasks.list()[0].task_id
        await tasks.wait([task_id], timeout_s=100)
        output = tasks.output(task_id)
        # Not ru_maxrss, which begins with what the parent took when it forked.
        status = Path("/proc/self/status").read_text()
        peak_kb = int(status.partition("VmHWM:")[2].split()[0])
        with open(output.path, "rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
        Path(output.path).unlink()
        print(json.dumps({
            "status": tasks.get(task_id).status,
            "total": output.total_bytes,
            "kept": output.kept_bytes,
            "problem": output.problem,
            "checksum": checksum,
            "peak_mb": peak_kb / 1024,
        }))

asyncio.run(main())
"""


def checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pieces(host: Any, task_id: str, max_bytes: int) -> list[Any]:
    """All output, read from the start in pieces as somebody does who follows it."""
    read = [host.output(task_id, since=0, max_bytes=max_bytes)]
    while read[-1].end < read[-1].total_bytes and read[-1].end > read[-1].start:
        read.append(host.output(task_id, since=read[-1].end, max_bytes=max_bytes))
    return read


@pytest.mark.parametrize(
    "command",
    [
        f"yes 0123456789abcdef | head -c {2 * GIGABYTE}",
        f"head -c {2 * GIGABYTE} /dev/zero",
    ],
    ids=["lines", "zeros"],
)
async def test_a_flood_is_stopped_at_the_limit(chaos: Any, command: str) -> None:
    """And what is kept is exactly the beginning."""
    host = chaos.open()
    task_id = await host.bash(command)
    (info,) = await host.ended(task_id)
    assert info.status == "killed"
    assert info.stop_reason is not None and f"{LIMIT:,}" in info.stop_reason
    start = b"0123456789abcdef\n" if command.startswith("yes") else b"\0"
    expected = (start * (LIMIT // len(start) + 1))[:LIMIT]
    assert host.log(task_id).read_bytes() == expected
    output = host.output(task_id)
    assert output.kept_bytes == LIMIT < output.total_bytes
    assert output.problem is not None
    assert host.told() == [task_id]


async def test_a_task_at_the_limit_is_none_beyond_it(chaos: Any) -> None:
    host = chaos.open(output_limit_bytes=100_000)
    at, beyond = await host.bash_many(["head -c 100000 /dev/zero", "head -c 100001 /dev/zero"])
    infos = await host.ended(at, beyond)
    assert infos[0].status == "completed"
    assert [host.output(one).kept_bytes for one in (at, beyond)] == [100_000] * 2
    assert host.output(at).problem is None and host.output(beyond).problem is not None


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_two_gigabytes_pass_through_a_host_that_stays_small(tmp_path: Path) -> None:
    """With the limit out of the way all of it is kept, to the byte."""
    if os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize < 3 * GIGABYTE:
        pytest.skip("needs 3 GB of disk space for a moment")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    size = 2 * GIGABYTE
    command = f"yes {'x' * 62} | head -c {size}"
    done = subprocess.run(
        [sys.executable, "-c", HOST, workspace, command, str(4 * GIGABYTE)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert told["peak_mb"] < MAX_RSS_MB
    assert (told["status"], told["total"], told["kept"]) == ("completed", size, size)
    assert told["problem"] is None
    expected = hashlib.sha256()
    block = (b"x" * 62 + b"\n") * 100_000
    for start in range(0, size, len(block)):
        expected.update(block[: size - start])
    assert told["checksum"] == expected.hexdigest()


async def test_binary_output_is_kept_to_the_byte(chaos: Any) -> None:
    host = chaos.open()
    task_id = await host.bash("head -c 3000000 /dev/urandom | tee copy")
    (info,) = await host.ended(task_id)
    assert info.status == "completed"
    written = (chaos.workspace / "copy").read_bytes()
    assert checksum(host.log(task_id).read_bytes()) == checksum(written)
    assert host.output(task_id).binary
    read = pieces(host, task_id, 100_000)
    assert read[-1].end == len(written)
    assert all(left.end == right.start for left, right in pairwise(read))


async def test_every_byte_there_is(chaos: Any) -> None:
    """Cut at every place that a reader can choose, also in the middle of a character."""
    host = chaos.open()
    source = chaos.workspace / "source"
    source.write_bytes(bytes(range(256)) + "aä€😀".encode() * 5)
    task_id = await host.bash("cat source")
    await host.ended(task_id)
    size = source.stat().st_size
    assert host.log(task_id).read_bytes() == source.read_bytes()
    for max_bytes in range(4, 40):
        read = pieces(host, task_id, max_bytes)
        assert read[-1].end == size
        assert all(left.end == right.start for left, right in pairwise(read))
    for since in range(size + 2):
        piece = host.output(task_id, since=since)
        assert since <= piece.start + 3 and piece.end <= size


async def test_output_without_a_newline(chaos: Any) -> None:
    host = chaos.open()
    size = 8_000_000
    task_id = await host.bash(f"head -c {size} /dev/zero | tr '\\0' x")
    await host.ended(task_id)
    assert host.log(task_id).read_bytes() == b"x" * size
    read = pieces(host, task_id, 1_000_000)
    assert "".join(piece.text for piece in read) == "x" * size


async def test_text_that_is_read_while_it_is_written(chaos: Any) -> None:
    """What a reader has put together in the end is what was written."""
    host = chaos.open()
    task_id = await host.bash("for n in $(seq 300); do printf 'ä€😀 %d\\n' $n; sleep 0.001; done")
    text, since = "", 0
    while True:
        active = host.info(task_id).active
        piece = host.output(task_id, since=since, max_bytes=1_000)
        assert piece.start == since
        text, since = text + piece.text, piece.end
        if not active and since == piece.total_bytes:
            break
        await host.tasks.news([task_id], timeout_s=1)
    assert text == "".join(f"ä€😀 {n}\n" for n in range(1, 301))
