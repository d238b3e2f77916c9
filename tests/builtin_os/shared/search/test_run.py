"""A search is stopped in time, and nothing of it stays behind."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from toolcrib import Launch, LocalRuntime
from toolcrib_os.shared.search.engine import SearchEngine
from toolcrib_os.shared.search.request import SearchRequest
from toolcrib_os.shared.search.ripgrep import find_ripgrep
from toolcrib_os.shared.search.run import run_search
from toolcrib_os.shared.search.settings import SearchSettings

SLEEPER = "import subprocess, sys; print('x', flush=True); subprocess.run(['sleep', '60'])"


def children() -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process().children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE
    ]


def launching(folder: Path, code: str) -> Launch:
    return Launch((sys.executable, "-c", code), str(folder), os.environ)


async def wait_until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


async def test_output_and_errors_arrive_whole(tmp_path: Path) -> None:
    pieces: list[bytes] = []
    code = (
        "import sys; sys.stderr.write('e' * 300000); sys.stdout.write('o' * 3000000); sys.exit(3)"
    )
    ending = await run_search(
        launching(tmp_path, code),
        timeout_s=60,
        feed=pieces.append,
    )
    assert (ending.returncode, ending.timed_out) == (3, False)
    assert len(b"".join(pieces)) == 3_000_000
    assert ending.stderr == "e" * (1 << 16)


async def test_a_search_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    pieces: list[bytes] = []
    ending = await run_search(
        launching(tmp_path, SLEEPER),
        timeout_s=2,
        feed=pieces.append,
    )
    assert ending.timed_out
    assert not children()


async def test_a_cancelled_search_is_killed_at_once(tmp_path: Path) -> None:
    pieces: list[bytes] = []
    search = asyncio.ensure_future(
        run_search(
            launching(tmp_path, SLEEPER),
            timeout_s=60,
            feed=pieces.append,
        )
    )
    await wait_until(lambda: pieces)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    await wait_until(lambda: not children())


async def test_an_error_while_reading_ends_the_search(tmp_path: Path) -> None:
    def refuse(data: bytes) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        await run_search(
            launching(tmp_path, SLEEPER),
            timeout_s=60,
            feed=refuse,
        )
    assert not children()


def request(folder: Path, pattern: str) -> SearchRequest:
    root = str(folder)
    return SearchRequest(mode="files", cwd=root, base=root, repository=False, pattern=pattern)


async def test_backtracking_without_end_is_stopped(tmp_path: Path) -> None:
    """The engine in Python runs in its own process, so that `re` can be interrupted."""
    (tmp_path / "a.txt").write_text("a" * 60)
    engine = SearchEngine(SearchSettings(engine="python", timeout_s=2), LocalRuntime())
    started = time.monotonic()
    end = await engine.search(request(tmp_path, "(a|aa)+$x"), lambda data: None)
    assert end.timed_out
    assert time.monotonic() - started < 30
    assert not children()


@pytest.mark.parametrize("name", ["re.py", "pathlib.py", "toolcrib_os.py"])
async def test_no_code_of_the_workspace_runs(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("open('ran', 'w')")
    pieces: list[bytes] = []
    engine = SearchEngine(SearchSettings(engine="python"), LocalRuntime())
    end = await engine.search(request(tmp_path, "ran"), pieces.append)
    assert end.failure is None
    assert b"".join(pieces) == f"./{name}\0".encode()
    assert not (tmp_path / "ran").exists()


def test_ripgrep_is_looked_for_in_order(tmp_path: Path) -> None:
    """The configured one first, then PATH without its relative entries, then our wheel's."""
    for folder in ("configured", "path"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rg").write_text("#!/bin/sh\n")
        (tmp_path / folder / "rg").chmod(0o755)
    configured, on_path = str(tmp_path / "configured" / "rg"), str(tmp_path / "path")
    assert find_ripgrep(configured, on_path) == configured
    assert find_ripgrep(None, f".:relative:{on_path}") == f"{on_path}/rg"
    ours = find_ripgrep(None, "")
    assert ours is None or os.path.dirname(ours) == os.path.dirname(sys.executable)
    with pytest.raises(FileNotFoundError):
        find_ripgrep(str(tmp_path / "none"), on_path)


async def test_a_wrong_path_of_ripgrep_is_told(tmp_path: Path) -> None:
    settings = SearchSettings(rg_path=str(tmp_path / "none"))
    end = await SearchEngine(settings, LocalRuntime()).search(
        request(tmp_path, "x"), lambda data: None
    )
    assert end.failure is not None
    assert "rg_path" in end.failure
