"""What reading costs in files of many megabytes, counted in bytes that were read."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from toolcrib.testing import ToolHarness

MEBI = 1024 * 1024
ROW = b"%09d a line of a log that goes on and on, as the lines of logs do, and does not end\n"
ROWS = 1_000_000
SIZE = len(ROW % 0) * ROWS


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of a million numbered lines, larger than what is checked as a whole."""
    path = tmp_path_factory.mktemp("large") / "huge.log"
    with open(path, "wb") as file:
        for start in range(1, ROWS + 1, 10_000):
            file.write(b"".join(ROW % number for number in range(start, start + 10_000)))
    os.utime(path, (1, 1))
    yield path
    path.unlink()


@pytest.fixture
async def session(log: Path) -> AsyncIterator[ToolHarness]:
    async with ToolHarness(log.parent) as harness:
        (log.parent / "small.txt").write_text("x")
        await harness.call("Read", path="small.txt")  # loads the modules
        yield harness


def bytes_read() -> int:
    """How many bytes this process has read so far."""
    try:
        fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    except FileNotFoundError:
        pytest.skip("the system does not count the bytes that a process reads")
    return int(fields["rchar"])


def shown(output: object) -> list[tuple[int, int]]:
    """The shown number of each line, and the number that the line itself has."""
    return [
        (int(number), int(text.split()[0]))
        for number, text in (line.split("\t") for line in str(output).split("\n"))
    ]


async def test_the_end_costs_nothing_of_the_rest(session: ToolHarness) -> None:
    before = bytes_read()
    done = await session.call("Read", path="huge.log", line_offset=-100)
    assert bytes_read() - before < 2 * MEBI
    assert shown(done.result.output) == [(i - 101, ROWS - 100 + i) for i in range(1, 101)]
    assert "not counted" in str(done.result.note) and not done.result.truncated


async def test_a_number_from_the_end_is_a_line_offset(session: ToolHarness) -> None:
    done = await session.call("Read", path="huge.log", line_offset=-70, n_lines=2)
    assert shown(done.result.output) == [(-70, ROWS - 69), (-69, ROWS - 68)]


async def test_a_page_costs_no_more_than_its_place_and_later_ones_less(
    session: ToolHarness,
) -> None:
    middle = ROWS // 2
    before = bytes_read()
    done = await session.call("Read", path="huge.log", line_offset=middle, n_lines=100)
    assert bytes_read() - before < SIZE // 2 + 3 * MEBI
    assert shown(done.result.output) == [(n, n) for n in range(middle, middle + 100)]
    before = bytes_read()
    done = await session.call("Read", path="huge.log", line_offset=middle + 100, n_lines=100)
    assert bytes_read() - before < 2 * MEBI
    assert shown(done.result.output) == [(n, n) for n in range(middle + 100, middle + 200)]
    before = bytes_read()
    await session.call("Read", path="huge.log", line_offset=100, n_lines=100)
    assert bytes_read() - before < 2 * MEBI


async def test_a_tail_that_does_not_fit_is_counted_once(session: ToolHarness) -> None:
    done = await session.call("Read", path="huge.log", line_offset=-5000)
    lines = shown(done.result.output)
    assert lines[-1] == (ROWS, ROWS) and all(number == line for number, line in lines)
    assert f'"line_offset": {ROWS - 4999}' in str(done.result.note)
    before = bytes_read()
    done = await session.call("Read", path="huge.log", line_offset=-10)
    assert bytes_read() - before < 2 * MEBI
    assert shown(done.result.output)[0] == (ROWS - 9, ROWS - 9)


async def test_an_index_goes_on_where_a_log_has_grown(
    session: ToolHarness, log: Path, tmp_path: Path
) -> None:
    grown = log.parent / "grown.log"
    grown.write_bytes(b"".join(ROW % number for number in range(1, 900_001)))
    await session.call("Read", path="grown.log", line_offset=900_000)
    with open(grown, "ab") as file:
        file.write(b"".join(ROW % number for number in range(900_001, 900_011)))
    before = bytes_read()
    done = await session.call("Read", path="grown.log", line_offset=900_005)
    assert bytes_read() - before < 2 * MEBI
    assert shown(done.result.output) == [(n, n) for n in range(900_005, 900_011)]
    grown.unlink()


async def test_an_index_is_dropped_when_a_log_was_rewritten(
    session: ToolHarness, log: Path
) -> None:
    again = log.parent / "again.log"
    again.write_bytes(b"".join(ROW % number for number in range(1, 900_001)))
    await session.call("Read", path="again.log", line_offset=899_000, n_lines=1)
    again.write_bytes(b"new\n" + b"".join(ROW % number for number in range(1, 900_001)))
    done = await session.call("Read", path="again.log", line_offset=899_001, n_lines=1)
    assert shown(done.result.output) == [(899_001, 899_000)]
    again.unlink()


async def test_a_middle_sized_file_is_checked_once(crib: ToolHarness, workspace: Path) -> None:
    path = workspace / "middle.log"
    path.write_bytes(b"".join(ROW % number for number in range(1, 100_001)))
    os.utime(path, (1, 1))
    await crib.call("Read", path="middle.log", n_lines=1)
    before = bytes_read()
    done = await crib.call("Read", path="middle.log", line_offset=99_000, n_lines=2)
    assert bytes_read() - before < MEBI
    assert shown(done.result.output) == [(99_000, 99_000), (99_001, 99_001)]
    assert "file: 100000" in str(done.result.note)


async def test_a_change_right_after_a_read_is_seen(crib: ToolHarness, workspace: Path) -> None:
    """Two changes within a tick of the clock leave the same times behind."""
    path = workspace / "middle.log"
    path.write_bytes(ROW % 1 * 20_000)
    stamp = path.stat().st_mtime_ns
    await crib.call("Read", path="middle.log", n_lines=1)
    path.write_bytes((b"\n" + ROW % 1)[:-1] + ROW % 1 * 19_999)
    os.utime(path, ns=(stamp, stamp))
    done = await crib.call("Read", path="middle.log", line_offset=3, n_lines=1)
    assert str(done.result.output).startswith("3\t")
    assert shown(done.result.output) == [(3, 1)]


async def test_one_line_of_many_megabytes_is_not_read_as_a_whole(session: ToolHarness) -> None:
    path = Path(session.root) / "one-line.json"
    path.write_bytes(b"x" * (70 * MEBI))
    before = bytes_read()
    done = await session.call("Read", path="one-line.json")
    assert bytes_read() - before < 2 * MEBI
    assert done.result.truncated and '"column_offset"' in str(done.result.note)
    path.unlink()


async def test_bytes_that_are_no_text_are_found_where_they_are_passed(
    session: ToolHarness,
) -> None:
    path = Path(session.root) / "one-line.json"
    path.write_bytes(b"x" * MEBI + b"\xff" + b"x" * (70 * MEBI))
    assert not (await session.call("Read", path="one-line.json")).result.is_error
    done = await session.call("Read", path="one-line.json", column_offset=2 * MEBI)
    assert done.result.is_error and "0xff in line 1" in str(done.result.output)
    path.unlink()
