"""A process that is killed while it writes leaves the old content or the new one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

KILLS = 60

# One process imports everything; each victim is a fork of it.
NURSERY = """
import asyncio, os, sys
from toolcrib import ToolContext, Workspace
from toolcrib_os.edit.input import EditInput
from toolcrib_os.edit.tool import EditTool
from toolcrib_os.write.input import WriteInput
from toolcrib_os.write.tool import WriteTool

root, tool = sys.argv[1:]
workspace = Workspace(root=root)

async def run(tool, args):
    result = await tool.resolve_execution(args).execute(ToolContext(None, "1", tool.name))
    assert not result.is_error, result.output

async def work():
    while True:
        for old, new in (("a", "b"), ("b", "a")):
            if tool == "Write":
                args = WriteInput(path="f.txt", content=(new * 63 + "\\n") * 4096)
                await run(WriteTool(workspace), args)
            else:
                args = EditInput(path="f.txt", old_string=old, new_string=new, replace_all=True)
                await run(EditTool(workspace), args)

for line in sys.stdin:
    victim = os.fork()
    if not victim:
        asyncio.run(work())
    print(victim, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(victim, 0)[1]), flush=True)
"""


@contextmanager
def nursery(root: Path, tool: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY, str(root), tool],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.parametrize("tool", ["Write", "Edit"])
def test_a_kill_at_any_moment_leaves_old_or_new_content(tmp_path: Path, tool: str) -> None:
    """Sixty kills at random moments of a loop that rewrites 256 KiB."""
    contents = {(letter * 63 + b"\n") * 4096 for letter in (b"a", b"b")}
    file = tmp_path / "f.txt"
    file.write_bytes(max(contents) if tool == "Write" else min(contents))
    chance = random.Random(7)
    with nursery(tmp_path, tool) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(KILLS):
            process.stdin.write("next\n")
            process.stdin.flush()
            victim = int(process.stdout.readline())
            time.sleep(chance.uniform(0, 0.06))
            os.kill(victim, signal.SIGKILL)
            assert int(process.stdout.readline()) == -signal.SIGKILL
            assert file.read_bytes() in contents
            if tool == "Edit" and file.read_bytes() == max(contents):
                file.write_bytes(min(contents))  # the next victim starts with the first edit
