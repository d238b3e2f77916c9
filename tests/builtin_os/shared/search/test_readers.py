"""What a search prints is understood wherever the pieces are cut, in bounded memory."""

from __future__ import annotations

import random
import tracemalloc
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from toolcrib_os.grep.blocks import MAX_HELD_BYTES, Blocks
from toolcrib_os.shared.search.pages import Smallest
from toolcrib_os.shared.search.records import BlockReader, CountReader, NameReader

BLOCKS = (
    b"./b:1\0" + b"2-x\n3:hit\r\n--\r\n7:\n8:12:y\n\n"
    b"./two\n\nlines\0" + b"1:a\n\n"
    b"./c.bin\0" + b"1:hit\n./c.bin: WARNING: stopped searching binary file\n\n"
    b"./last\0" + b"9:no end\r\n"
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = sorted({0, len(data), *(place % len(data) for place in places)})
    return [data[a:b] for a, b in pairwise(bounds)]


@given(st.lists(st.integers(0, 10_000), max_size=12))
def test_blocks_are_read_from_pieces_of_any_size(places: list[int]) -> None:
    blocks = Blocks(100, lambda name: True, True)
    reader = BlockReader(blocks.take)
    for piece in cut(BLOCKS, places):
        reader.feed(piece)
    assert (blocks.total, blocks.files, blocks.binary) == (7, 4, ["c.bin"])
    found = [(line.name, line.number, line.is_match, line.text) for line in blocks.page(0, 100)]
    assert found == [
        ("b:1", 2, False, "x"),
        ("b:1", 3, True, "hit"),
        ("b:1", 7, True, ""),
        ("b:1", 8, True, "12:y"),
        ("c.bin", 1, True, "hit"),
        ("last", 9, True, "no end"),
        ("two\n\nlines", 1, True, "a"),
    ]
    assert [line.gap for line in blocks.page(0, 100)][:4] == [False, False, True, False]


@given(st.lists(st.integers(0, 10_000), max_size=12))
def test_names_and_counts_are_read_from_pieces_of_any_size(places: list[int]) -> None:
    names: list[str] = []
    counts: list[tuple[str, int]] = []
    for reader, data in (
        (NameReader(names.extend), b"./a\0./b\n./c\0./u\xff\0"),
        (CountReader(counts.extend), b"./a:1\x002\n./b\n3\x0014\r\n"),
    ):
        for piece in cut(data, places):
            reader.feed(piece)
    assert names == ["a", "b\n./c", "u\udcff"]
    assert counts == [("a:1", 2), ("b\n3", 14)]


@given(
    st.dictionaries(st.text("abc", min_size=1), st.integers(1, 30), max_size=40),
    st.integers(0, 60),
    st.integers(1, 60),
)
def test_a_page_is_right_whatever_was_let_go(
    files: dict[str, int], offset: int, limit: int
) -> None:
    """Files come in any order, and only what the page can show is held."""
    blocks = Blocks(offset + limit, lambda name: True, False, slack=0)
    names = list(files)
    random.Random(7).shuffle(names)
    for name in names:
        blocks.take(name, b"".join(b"%d:x\n" % number for number in range(1, files[name] + 1)))
    whole = [(name, number) for name in sorted(files) for number in range(1, files[name] + 1)]
    assert blocks.total == len(whole)
    page = [(line.name, line.number) for line in blocks.page(offset, limit)]
    assert page == whole[offset : offset + limit]


def test_memory_stays_bounded_for_any_number_of_lines() -> None:
    lines = b"1:" + b"x" * 98 + b"\n"
    tracemalloc.start()
    try:
        blocks = Blocks(250, lambda name: True, False)
        for number in range(2_000):
            blocks.take(f"f{number}", lines * 1_000)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
        tracemalloc.reset_peak()
        all_of_them = Blocks(100_000, lambda name: True, False)
        for number in range(2_000, 0, -1):
            all_of_them.take(f"f{number}", lines * 1_000)
        assert tracemalloc.get_traced_memory()[1] < 3 * MAX_HELD_BYTES
    finally:
        tracemalloc.stop()
    assert blocks.total == all_of_them.total == 2_000_000


@given(st.lists(st.integers()), st.integers(0, 20), st.integers(1, 20))
def test_the_smallest_are_held(items: list[int], offset: int, limit: int) -> None:
    smallest = Smallest[int](offset + limit)
    for item in items:
        smallest.add([item] * 7)
    assert smallest.total == 7 * len(items)
    assert smallest.page(offset, limit) == sorted(items * 7)[offset : offset + limit]
