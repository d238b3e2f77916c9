"""A cancelled change either happens as a whole and says so, or not at all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib import ToolContext, ToolResult
from toolcrib_os.shared.atomic import replace_content
from toolcrib_os.shared.changes import carry_out


async def cancelled_change(path: Path, *, committed: bool) -> ToolResult:
    """Cancel a change that is under way, just before or just after its commit."""
    reached, go_on = threading.Event(), threading.Event()
    context = ToolContext(None, "1", "Write")

    def change(before_commit: Callable[[], None]) -> ToolResult:
        if not committed:
            reached.set()
            go_on.wait(10)
        replace_content(str(path), b"new", seen=None, before_commit=before_commit)
        if committed:
            reached.set()
            go_on.wait(10)
        return ToolResult("done")

    task = asyncio.ensure_future(carry_out(change, doing="write", path="a", context=context))
    await asyncio.to_thread(reached.wait, 10)
    context.cancelled = True
    task.cancel()
    await asyncio.sleep(0)
    go_on.set()
    return await task


async def test_a_change_that_was_not_committed_does_not_happen(tmp_path: Path) -> None:
    """No file, no temporary file."""
    with pytest.raises(asyncio.CancelledError):
        await cancelled_change(tmp_path / "a.txt", committed=False)
    assert list(tmp_path.iterdir()) == []


async def test_a_change_that_was_committed_is_reported(tmp_path: Path) -> None:
    """The model has to know what is on the disk."""
    result = await cancelled_change(tmp_path / "a.txt", committed=True)
    assert result.output == "done"
    assert (tmp_path / "a.txt").read_bytes() == b"new"
