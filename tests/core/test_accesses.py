"""Which declared accesses keep two calls apart, and that the scheduler keeps apart the same."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.accesses import (
    Accesses,
    FileAccess,
    Operation,
    ResourceAccess,
    conflict,
    covers,
    fold_path,
)
from toolcrib.pipeline.identity import PathIdentity
from toolcrib.pipeline.scheduler import EXCLUDED_BY, claims_of

OPERATIONS: tuple[Operation, ...] = ("read", "write", "readwrite", "search")


class NoIdentity(PathIdentity):
    """Knows nothing of the disk, as `conflict` does."""

    def of(self, path: str) -> tuple[str | None, str | None]:
        return None, None


def excluded(later: Accesses | None, earlier: Accesses | None) -> bool:
    """Whether the scheduler has one call wait for the other."""
    held = set(claims_of(earlier, NoIdentity()))
    return any(
        (path, kind) in held
        for path, wanted in claims_of(later, NoIdentity())
        for kind in EXCLUDED_BY[wanted]
    )


def files(*paths: str) -> st.SearchStrategy[FileAccess]:
    return st.builds(FileAccess, st.sampled_from(OPERATIONS), st.sampled_from(paths), st.booleans())


RESOURCES = st.builds(ResourceAccess, st.sampled_from(["db:main", "browser"]), st.booleans())
FILES = files("/", "/a", "/A/", "/a/b", "//a//b", "/a/bc", "/a/b/c", "/d", "C:\\a\\b", "a", "a/b")
DECLARED = (
    st.none()
    | st.just(Accesses.all())
    | st.lists(FILES | RESOURCES, max_size=3).map(lambda items: Accesses(tuple(items)))
)


class TestConflict:
    @pytest.mark.parametrize("mine", OPERATIONS)
    @pytest.mark.parametrize("theirs", OPERATIONS)
    def test_one_of_two_has_to_write(self, mine: Operation, theirs: Operation) -> None:
        left = Accesses((FileAccess(mine, "/a"),))
        right = Accesses((FileAccess(theirs, "/a"),))
        writes = {"write", "readwrite"} & {mine, theirs}
        assert conflict(left, right) == bool(writes)

    @pytest.mark.parametrize(
        ("left", "right", "expected"),
        [
            (Accesses.write("/a"), Accesses.write("/b"), False),
            (Accesses.write("/a"), Accesses.write("/a/b"), False),
            (Accesses.write("/a", recursive=True), Accesses.read("/a/b"), True),
            (Accesses.read("/a", recursive=True), Accesses.write("/a/b/c"), True),
            (Accesses.read("/a", recursive=True), Accesses.write("/ab"), False),
            (Accesses.search("/a"), Accesses.write("/a/b"), True),
            (Accesses.search("/a/b"), Accesses.write("/a"), False),
            (Accesses.search("/"), Accesses.write("/a"), True),
            (Accesses.search("/a"), Accesses.readwrite("/a"), True),
            (Accesses.search("/a"), Accesses.search("/a"), False),
            (Accesses.write("/a/b"), Accesses.write("/A\\B/"), True),
            (Accesses.write("/a//b"), Accesses.read("/a/b"), True),
            (Accesses.write("/Straße"), Accesses.read("/STRASSE"), True),
            (Accesses.none(), Accesses.all(), False),
            (None, Accesses.none(), False),
            (None, None, True),
            (None, Accesses.read("/a"), True),
            (Accesses.all(), Accesses.resource("db", shared=True), True),
            (Accesses.resource("db"), Accesses.resource("db"), True),
            (Accesses.resource("db"), Accesses.resource("db", shared=True), True),
            (Accesses.resource("db", shared=True), Accesses.resource("db", shared=True), False),
            (Accesses.resource("db"), Accesses.resource("DB"), False),
            (Accesses.resource("/a"), Accesses.write("/a"), False),
            (Accesses.read("/a") | Accesses.write("/b"), Accesses.read("/b"), True),
        ],
    )
    def test_table(self, left: Accesses | None, right: Accesses | None, expected: bool) -> None:
        assert conflict(left, right) is expected
        assert conflict(right, left) is expected

    @given(DECLARED, DECLARED)
    def test_it_is_symmetric(self, left: Accesses | None, right: Accesses | None) -> None:
        assert conflict(left, right) == conflict(right, left)

    @given(DECLARED, DECLARED, st.lists(FILES | RESOURCES, max_size=2))
    def test_declaring_more_never_takes_a_conflict_away(
        self, left: Accesses | None, right: Accesses | None, more: list[FileAccess]
    ) -> None:
        if left is not None:
            assert conflict(left | Accesses(tuple(more)), right) >= conflict(left, right)

    @given(DECLARED, DECLARED)
    def test_the_scheduler_agrees(self, left: Accesses | None, right: Accesses | None) -> None:
        assert excluded(left, right) == conflict(left, right)

    def test_the_scheduler_agrees_on_every_pair_of_files(self) -> None:
        paths = ("/", "/a", "/a/b", "/a/bc", "/a/b/c", "/d")
        every = [
            Accesses((FileAccess(operation, path, recursive),))
            for operation in OPERATIONS
            for path in paths
            for recursive in (False, True)
        ]
        for left, right in itertools.product(every, repeat=2):
            assert excluded(left, right) == conflict(left, right), (left, right)


class TestAccesses:
    def test_joining_with_everything_is_everything(self) -> None:
        assert (Accesses.read("/a") | Accesses.all()) == Accesses.all()
        assert (Accesses.all() | Accesses.none()) == Accesses.all()

    def test_nothing_declared_is_false(self) -> None:
        assert not Accesses.none()
        assert Accesses.all() and Accesses.read("/a") and Accesses.resource("db")

    def test_written_paths_are_those_that_change(self) -> None:
        joined = (
            Accesses.read("/a")
            | Accesses.write("/b")
            | Accesses.readwrite("/c")
            | Accesses.search("/d")
            | Accesses.resource("e")
        )
        assert joined.written_paths() == ("/b", "/c")

    def test_a_search_covers_all_below(self) -> None:
        (item,) = Accesses.search("/a").items
        assert isinstance(item, FileAccess) and item.recursive and not item.writes


class TestOnlyReads:
    """Whether a call declares to change nothing."""

    @pytest.mark.parametrize(
        ("accesses", "expected"),
        [
            (Accesses.none(), True),
            (Accesses.read("/a"), True),
            (Accesses.read("/a", recursive=True), True),
            (Accesses.search("/a"), True),
            (Accesses.resource("db", shared=True), True),
            (Accesses.all(), False),
            (Accesses.write("/a"), False),
            (Accesses.readwrite("/a"), False),
            (Accesses.resource("db"), False),
        ],
    )
    def test_it_holds_for_what_changes_nothing(self, accesses: Accesses, expected: bool) -> None:
        assert accesses.only_reads is expected

    @given(st.lists(st.builds(FileAccess, st.sampled_from(OPERATIONS), st.just("/a"))))
    def test_one_that_changes_something_is_enough(self, items: list[FileAccess]) -> None:
        accesses = Accesses(tuple(items))
        assert accesses.only_reads is not any(item.writes for item in items)
        assert (accesses | Accesses.resource("db")).only_reads is False
        assert accesses.only_reads is (accesses.written_paths() == ())


class TestFolding:
    @pytest.mark.parametrize(
        ("path", "folded"),
        [
            ("/A/b", "/a/b"),
            ("\\A\\b\\", "/a/b"),
            ("////a///b///", "/a/b"),
            ("/", "/"),
            ("///", "/"),
            ("a/B", "a/b"),
            ("C:\\X", "c:/x"),
        ],
    )
    def test_table(self, path: str, folded: str) -> None:
        assert fold_path(path) == folded

    @given(st.text(st.sampled_from("/\\aAß."), min_size=1, max_size=20))
    def test_folding_again_changes_nothing(self, path: str) -> None:
        assert fold_path(fold_path(path)) == fold_path(path)

    def test_a_name_that_goes_on_is_not_below(self) -> None:
        assert covers("/a", "/a") and covers("/a", "/a/b") and covers("/", "/a")
        assert not covers("/a", "/ab") and not covers("/a/b", "/a")
