"""The scheduler against a model that compares every call with every earlier one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.accesses import Accesses, FileAccess, ResourceAccess, covers, fold_path
from toolcrib.pipeline.identity import PathIdentity
from toolcrib.pipeline.scheduler import Scheduler, Ticket

SPELLINGS = (
    "a.txt",
    "A.TXT",
    "./a.txt",
    "d/../a.txt",
    "d//x.txt",
    "d/x.txt",
    "d",
    "d/",
    "d/.",
    "d/sub/..",
    "d/sub",
    "d/sub/y.txt",
    "link.txt",
    "hard.txt",
    "dl",
    "dl/x.txt",
    "dl/sub/y.txt",
    "new.txt",
    "dangling",
    "d/new.txt",
    "dl/new.txt",
    "loop",
    "d\\x.txt",
    "no/such/folder/f.txt",
    "nul\0",
    ".",
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    (root / "d" / "sub").mkdir(parents=True)
    for name in ("a.txt", "d/x.txt", "d/sub/y.txt"):
        (root / name).write_text(name)
    (root / "link.txt").symlink_to("a.txt")
    (root / "hard.txt").hardlink_to(root / "d/x.txt")
    (root / "dl").symlink_to("d")
    (root / "dangling").symlink_to("new.txt")
    (root / "loop").symlink_to("loop")
    return root


file_accesses = st.builds(
    FileAccess,
    st.sampled_from(["read", "write", "readwrite", "search"]),
    st.sampled_from(SPELLINGS),
    st.booleans(),
)
resources = st.builds(ResourceAccess, st.sampled_from(["db:main", "browser"]), st.booleans())
declared = st.one_of(
    st.none(),
    st.just(Accesses.none()),
    st.just(Accesses.all()),
    st.lists(st.one_of(file_accesses, file_accesses, resources), max_size=3).map(
        lambda items: Accesses(tuple(items))
    ),
)


def below(root: Path, accesses: Accesses | None) -> Accesses | None:
    if accesses is None or accesses.everything:
        return accesses
    return Accesses(
        tuple(
            FileAccess(item.operation, f"{root}/{item.path}", item.recursive)
            if isinstance(item, FileAccess)
            else item
            for item in accesses.items
        )
    )


def names_of(path: str) -> set[str]:
    """Every folded path that a declared one stands for."""
    names = {fold_path(path)}
    try:
        names.add(fold_path(os.path.realpath(path)))
    except ValueError:
        pass
    return names


def inode_of(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if os.path.isfile(path) else None


def excludes(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, ResourceAccess) or isinstance(theirs, ResourceAccess):
        if type(mine) is not type(theirs):
            return False
        return bool(mine.name == theirs.name and not (mine.shared and theirs.shared))
    if not (mine.writes or theirs.writes):
        return False
    inode = inode_of(mine.path)
    if inode is not None and inode == inode_of(theirs.path):
        return True
    return any(
        a == b or (mine.recursive and covers(a, b)) or (theirs.recursive and covers(b, a))
        for a in names_of(mine.path)
        for b in names_of(theirs.path)
    )


def must_wait(earlier: Accesses | None, later: Accesses | None) -> bool:
    for accesses in (earlier, later):
        if accesses is not None and not accesses:
            return False
    if earlier is None or later is None or earlier.everything or later.everything:
        return True
    return any(excludes(mine, theirs) for mine in earlier.items for theirs in later.items)


class World:
    """A scheduler with the calls it was given, and what the model says of them."""

    def __init__(self) -> None:
        self.scheduler = Scheduler()
        self.identity = PathIdentity()
        self.accesses: list[Accesses | None] = []
        self.tickets: list[Ticket] = []
        self.started: set[int] = set()
        self.finished: set[int] = set()

    def submit(self, accesses: Accesses | None) -> None:
        number = len(self.accesses)
        self.accesses.append(accesses)
        ticket = self.scheduler.submit(accesses, self._starter(number), self.identity)
        self.tickets.append(ticket)
        if not ticket.waits:
            self.started.add(number)

    def _starter(self, number: int) -> Callable[[], None]:
        def start() -> None:
            assert number not in self.started
            self.started.add(number)

        return start

    def finish(self, number: int) -> None:
        self.finished.add(number)
        self.scheduler.finish(self.tickets[number])

    def expected(self) -> set[int]:
        return {
            later
            for later, accesses in enumerate(self.accesses)
            if not any(
                must_wait(self.accesses[earlier], accesses)
                for earlier in range(later)
                if earlier not in self.finished
            )
        }

    def check(self) -> None:
        assert self.started - self.finished == self.expected() - self.finished


@settings(max_examples=150, deadline=None)
@given(batch=st.lists(declared, max_size=9), data=st.data())
def test_a_call_starts_exactly_when_no_earlier_unfinished_call_conflicts(
    tree: Path, batch: list[Accesses | None], data: st.DataObject
) -> None:
    """Calls come and end in any order, some before they ever ran; at the end nothing is left."""
    world = World()
    waiting = [below(tree, accesses) for accesses in batch]
    while waiting or len(world.finished) < len(world.accesses):
        unfinished = sorted(set(range(len(world.accesses))) - world.finished)
        if waiting and (not unfinished or data.draw(st.booleans())):
            world.submit(waiting.pop(0))
        else:
            may_abort = data.draw(st.integers(0, 4)) == 0
            choices = unfinished if may_abort else sorted(world.started - world.finished)
            world.finish(data.draw(st.sampled_from(choices)))
        world.check()
    assert world.scheduler.idle


def test_finishing_twice_does_nothing() -> None:
    world = World()
    for _ in range(3):
        world.submit(None)
    world.finish(0)
    world.finish(0)
    assert world.started == {0, 1}
    world.finish(1)
    world.finish(2)
    assert world.scheduler.idle


def test_every_spelling_of_one_file_is_one_file(tree: Path) -> None:
    world = World()
    for spelling in ("d/x.txt", "d/sub/../x.txt", "dl/x.txt", "hard.txt", "dl/../d/x.txt"):
        world.submit(Accesses.readwrite(f"{tree}/{spelling}"))
    assert world.started == {0}
    for number in range(5):
        assert max(world.started) == number
        world.finish(number)


@pytest.mark.parametrize("pair", [("new.txt", "dangling"), ("d/new.txt", "dl/new.txt")])
def test_a_file_that_does_not_exist_yet_is_known_by_its_folder(
    tree: Path, pair: tuple[str, str]
) -> None:
    world = World()
    for spelling in pair:
        world.submit(Accesses.write(f"{tree}/{spelling}"))
    assert world.started == {0}


def operations(work: Callable[[], None]) -> int:
    """How many functions, of Python and of C, a piece of work calls."""
    count = 0

    def tally(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tally)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def files(number: int) -> Accesses | None:
    return Accesses.write(f"/nowhere/in/{number % 50}/{number}")


def readers_and_writers(number: int) -> Accesses | None:
    path = f"/nowhere/in/{number % 10}"
    return Accesses.write(path) if number % 3 == 0 else Accesses.search("/nowhere/in")


def barriers(number: int) -> Accesses | None:
    return None if number % 100 == 0 else files(number)


def one_file(number: int) -> Accesses | None:
    return Accesses.readwrite("/nowhere/in/file")


@pytest.mark.parametrize("kind", [files, readers_and_writers, barriers, one_file])
def test_the_work_for_one_call_does_not_grow_with_the_batch(
    kind: Callable[[int], Accesses | None],
) -> None:
    """Measured in function calls, not in time."""

    def schedule(size: int) -> None:
        world = World()
        for number in range(size):
            world.submit(kind(number))
        for number in range(size):
            assert number in world.started
            world.finish(number)
        assert world.scheduler.idle

    small = operations(lambda: schedule(300)) / 300
    large = operations(lambda: schedule(3000)) / 3000
    assert large < 1.3 * small
