"""The output of a task: all of it up to the limit, wherever it lies, cut between characters."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_task.log import LOG_NAME, RING_BYTES, OutputLog


class Told:
    """Who is told when a log reaches its limit, and of every piece."""

    def __init__(self) -> None:
        self.limits = 0
        self.news = 0

    def on_limit(self) -> None:
        self.limits += 1

    def on_news(self) -> None:
        self.news += 1


def log_in(folder: Path, limit: int = 1 << 24, told: Told | None = None) -> OutputLog:
    told = told or Told()
    return OutputLog(folder / "task", limit, told.on_limit, told.on_news)


def saved(folder: Path) -> bytes:
    return (folder / "task" / LOG_NAME).read_bytes()


def all_of(log: OutputLog, step: int) -> str:
    """Everything, read on and on as a model would that follows a task."""
    text, offset = "", 0
    while (piece := log.read(since=offset, max_bytes=step)).text:
        assert piece.end > offset
        text, offset = text + piece.text, piece.end
    return text


def test_what_a_call_in_the_foreground_writes_stays_in_memory_at_first(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.write(b"some output\n")
    assert log.path is None and not (tmp_path / "task").exists()
    assert log.read(since=None, max_bytes=100).text == "some output\n"
    log.discard()


def test_more_than_a_mebibyte_goes_to_a_file_and_all_of_it(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    for number in range(20):
        log.write(bytes([65 + number]) * 100_000)
    assert saved(tmp_path) == b"".join(bytes([65 + n]) * 100_000 for n in range(20))
    assert log.total_bytes == log.kept_bytes == 2_000_000
    log.discard()
    assert not (tmp_path / "task").exists()


def test_saving_keeps_what_was_written_before_exactly_once(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.write(b"before ")
    log.save()
    log.write(b"after")
    assert saved(tmp_path) == b"before after"
    assert os.stat(tmp_path / "task" / LOG_NAME).st_mode & 0o077 == 0
    assert os.stat(tmp_path / "task").st_mode & 0o077 == 0
    log.close()
    assert log.read(since=None, max_bytes=100).text == "before after"


def test_exactly_the_limit_is_fine_and_one_byte_more_is_not(tmp_path: Path) -> None:
    told = Told()
    log = log_in(tmp_path, 1000, told)
    log.save()
    log.write(b"x" * 999)
    log.write(b"y")
    assert told.limits == 0
    log.write(b"z")
    log.write(b"and on")
    assert told.limits == 1
    assert saved(tmp_path) == b"x" * 999 + b"y"
    assert (log.total_bytes, log.kept_bytes) == (1007, 1000)
    assert log.problem is not None
    log.close()


def test_in_the_foreground_the_limit_stops_nothing_until_the_call_is_moved(
    tmp_path: Path,
) -> None:
    told = Told()
    log = log_in(tmp_path, 2 * RING_BYTES, told)
    for _ in range(5):
        log.write(b"x" * RING_BYTES)
    assert told.limits == 0
    log.save()
    assert told.limits == 1
    assert len(saved(tmp_path)) == 2 * RING_BYTES
    log.close()


@pytest.mark.parametrize("since", [None, 0, 3, 10, 10_000])
def test_a_folder_that_cannot_be_made_leaves_the_end_in_memory(
    tmp_path: Path, since: int | None
) -> None:
    (tmp_path / "task").write_text("a file is in the way")
    log = log_in(tmp_path)
    log.save()
    log.write(b"0123456789")
    read = log.read(since=since, max_bytes=100)
    assert read.text == "0123456789"[since or 0 :]
    assert read.total_bytes == 10 and read.kept_bytes == 0
    assert read.path is None and read.problem is not None
    log.close()


def test_a_file_that_the_task_writes_itself_is_followed_and_cut_at_the_limit(
    tmp_path: Path,
) -> None:
    log = log_in(tmp_path, 100)
    log.may_be_handed_out = True
    log.save()
    file = log.hand_out()
    assert file is not None
    os.write(file, b"by itself")
    assert log.read(since=None, max_bytes=50).text == "by itself"
    assert not log.outgrown()
    os.write(file, b"x" * 1000)
    assert log.outgrown() and log.outgrown()
    assert len(saved(tmp_path)) == 100
    log.close()


def test_the_file_of_an_earlier_session_can_be_read(tmp_path: Path) -> None:
    first = log_in(tmp_path)
    first.save()
    first.write(b"from before")
    first.close()
    again = log_in(tmp_path)
    again.found(11)
    assert again.read(since=5, max_bytes=100).text == "before"
    assert again.path == first.path


@given(
    text=st.text(max_size=200).filter(lambda text: not set(text) & set("\x1b\r\b\a\0")),
    cuts=st.lists(st.integers(0, 400), max_size=6),
    step=st.integers(4, 64),
    where=st.sampled_from(["parked", "file", "memory"]),
)
def test_reading_on_and_on_gives_everything_whatever_the_pieces(
    tmp_path_factory: pytest.TempPathFactory, text: str, cuts: list[int], step: int, where: str
) -> None:
    folder = tmp_path_factory.mktemp("log")
    if where == "memory":
        (folder / "task").touch()
    log = log_in(folder)
    if where != "parked":
        log.save()
    data = text.encode("utf-8", "replace")
    edges = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    for start, end in pairwise(edges):
        log.write(data[start:end])
    assert all_of(log, step) == data.decode("utf-8")
    log.close()


@given(data=st.binary(max_size=300), size=st.integers(1, 50))
def test_any_bytes_can_be_read_and_the_tail_is_a_tail(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, size: int
) -> None:
    log = log_in(tmp_path_factory.mktemp("log"))
    log.write(data)
    read = log.read(since=None, max_bytes=size)
    assert len(data) - size <= read.start <= read.end == len(data) or not data
    assert read.total_bytes == len(data)
    all_of(log, size)


def test_a_character_that_is_still_being_written_is_waited_for(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.save()
    log.write("a é".encode()[:-1])
    first = log.read(since=0, max_bytes=100)
    assert (first.text, first.end) == ("a ", 2)
    assert log.read(since=2, max_bytes=100).text == ""
    log.write("é".encode()[1:])
    assert log.read(since=2, max_bytes=100).text == "é"
    log.write(b"\xc3")
    log.close()
    assert log.read(since=4, max_bytes=100).text == "\N{REPLACEMENT CHARACTER}"


def test_an_escape_sequence_is_not_read_in_two(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.save()
    log.write(b"red: \x1b[3")
    first = log.read(since=0, max_bytes=100)
    assert first.text == "red: "
    log.write(b"1mnow")
    assert log.read(since=first.end, max_bytes=100).text == "now"
    log.close()


@pytest.mark.parametrize("other", ["a link", "a pipe"])
def test_what_a_task_puts_in_the_place_of_its_log_is_not_read(tmp_path: Path, other: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("a secret, and longer than the limit")
    log = log_in(tmp_path, 10)
    log.may_be_handed_out = True
    log.save()
    log.hand_out()
    Path(log.path or "").unlink()
    if other == "a link":
        (tmp_path / "task" / LOG_NAME).symlink_to(elsewhere)
    else:
        os.mkfifo(tmp_path / "task" / LOG_NAME)
    assert log.read(since=None, max_bytes=100).text == ""
    log.outgrown()
    log.close()
    assert elsewhere.read_text() == "a secret, and longer than the limit"
