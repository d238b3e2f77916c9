"""The guard: no change of a file that was not read as it is now."""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.testing import ToolHarness
from toolcrib_features.stale_guard import memory

Call = tuple[str, dict[str, Any]]


def write(path: str, content: str = "new\n", mode: str = "overwrite") -> Call:
    return "Write", {"path": path, "content": content, "mode": mode}


def edit(path: str, old: str = "alpha", new: str = "omega") -> Call:
    return "Edit", {"path": path, "old_string": old, "new_string": new}


@pytest.fixture
def file(workspace: Path) -> Path:
    path = workspace / "a.txt"
    path.write_text("alpha\nbeta\n")
    return path


@pytest.mark.parametrize("call", [write("a.txt"), write("a.txt", mode="append"), edit("a.txt")])
async def test_a_file_that_was_never_read_is_not_changed(
    crib: ToolHarness, file: Path, call: Call
) -> None:
    """The refusal says what to do; after a Read the same call passes."""
    done = await crib.call(*call)
    assert done.result.is_error
    assert "Read it first" in str(done.result.output)
    assert "'a.txt'" in str(done.result.output)
    assert file.read_text() == "alpha\nbeta\n"
    await crib.call("Read", path="a.txt")
    done = await crib.call(*call)
    assert not done.result.is_error
    assert file.read_text() != "alpha\nbeta\n"


async def test_new_files_and_directories_are_not_its_business(
    crib: ToolHarness, workspace: Path
) -> None:
    """A new file needs no Read; the tools have their own words for the rest."""
    (workspace / "d").mkdir()
    new = await crib.call(*write("new.txt"))
    assert not new.result.is_error
    folder = await crib.call(*write("d"))
    assert "directory" in str(folder.result.output)
    ghost = await crib.call(*edit("ghost.txt"))
    assert "does not exist" in str(ghost.result.output)


async def test_own_changes_need_no_read_in_between(crib: ToolHarness, file: Path) -> None:
    """The agent knows what it has written itself, through whatever spelling or link."""
    (file.parent / "link.txt").symlink_to("a.txt")
    await crib.call("Read", path="a.txt")
    for call in (
        edit("a.txt", "alpha", "b"),
        edit("./a.txt", "b\n", "c\n"),
        write("link.txt", "d\n", mode="append"),
        write(str(file), "e\n"),
        edit("link.txt", "e", "f"),
    ):
        done = await crib.call(*call)
        assert not done.result.is_error, done.result.output
    assert file.read_text() == "f\n"


@pytest.mark.parametrize("read_as", ["link.txt", "./d/../a.txt"])
async def test_a_read_through_another_path_counts(
    crib: ToolHarness, file: Path, read_as: str
) -> None:
    """Files are known by their real path."""
    (file.parent / "d").mkdir()
    (file.parent / "link.txt").symlink_to("a.txt")
    await crib.call("Read", path=read_as)
    done = await crib.call(*edit("a.txt"))
    assert not done.result.is_error


async def test_a_read_of_another_file_does_not_count(crib: ToolHarness, file: Path) -> None:
    """Not even of one with the same content."""
    (file.parent / "b.txt").write_text("alpha\nbeta\n")
    await crib.call("Read", path="b.txt")
    assert (await crib.call(*edit("a.txt"))).result.is_error


def touched(path: Path) -> None:
    os.utime(path)


def rewritten(path: Path) -> None:
    path.write_bytes(path.read_bytes())


def replaced_by_the_same(path: Path) -> None:
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    os.replace(copy, path)


def changed_mode(path: Path) -> None:
    path.chmod(0o600)


@pytest.mark.parametrize("happening", [touched, rewritten, replaced_by_the_same, changed_mode])
async def test_what_leaves_the_content_alone_is_no_change(
    crib: ToolHarness, file: Path, happening: Callable[[Path], None]
) -> None:
    """Formatters and cloud drives touch files without changing them."""
    await crib.call("Read", path="a.txt")
    happening(file)
    done = await crib.call(*edit("a.txt"))
    assert not done.result.is_error, done.result.output


async def test_a_change_that_sets_the_time_back_is_noticed(crib: ToolHarness, file: Path) -> None:
    """Same size, same modification time, other content."""
    await crib.call("Read", path="a.txt")
    info = file.stat()
    file.write_text("alpha\nBETA\n")
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    done = await crib.call(*edit("a.txt"))
    assert done.result.is_error
    assert "changed since" in str(done.result.output)


async def test_a_change_by_a_command_is_noticed(crib: ToolHarness, file: Path) -> None:
    """The agent has not seen what the command made of the file."""
    await crib.call("Read", path="a.txt")
    await crib.call("Bash", command="sed -i s/beta/gamma/ a.txt")
    for call in (edit("a.txt"), write("a.txt")):
        done = await crib.call(*call)
        assert done.result.is_error
        assert "changed since" in str(done.result.output)
    assert file.read_text() == "alpha\ngamma\n"
    await crib.call("Read", path="a.txt")
    assert not (await crib.call(*edit("a.txt"))).result.is_error


async def test_a_read_earlier_in_the_batch_counts_if_it_succeeds(
    crib: ToolHarness, file: Path
) -> None:
    """What counts is how things are when the call starts, not when the batch was prepared."""
    good = await crib.batch(("Read", {"path": "a.txt"}), edit("a.txt"))
    assert [done.result.is_error for done in good] == [False, False]
    (file.parent / "b.txt").write_text("alpha\n")
    bad = await crib.batch(("Read", {"path": "b.txt", "max_chars": 1}), edit("b.txt"))
    assert [done.result.is_error for done in bad] == [True, True]
    command = ("Bash", {"command": "echo alpha > c.txt"})
    made = await crib.batch(command, edit("c.txt"))
    assert [done.result.is_error for done in made] == [False, True]
    made = await crib.batch(command, ("Read", {"path": "c.txt"}), edit("c.txt"))
    assert [done.result.is_error for done in made] == [False, False, False]


async def test_appends_of_one_batch_follow_each_other(crib: ToolHarness, workspace: Path) -> None:
    """The first one makes the file, so the others know it."""
    done = await crib.batch(*(write("d/f.txt", text, "append") for text in "123"))
    assert [completion.result.is_error for completion in done] == [False] * 3
    assert (workspace / "d/f.txt").read_text() == "123"


async def test_a_file_read_in_part_is_not_overwritten(crib: ToolHarness, workspace: Path) -> None:
    """The number of lines that would be lost unseen is told; an edit passes."""
    big = workspace / "big.txt"
    big.write_text("".join(f"line {number}\n" for number in range(1, 5001)))
    await crib.call("Read", path="big.txt", n_lines=2000)
    done = await crib.call(*write("big.txt"))
    assert done.result.is_error
    assert "3000 lines never shown" in str(done.result.output)
    assert not (await crib.call(*write("big.txt", "end\n", "append"))).result.is_error
    assert not (await crib.call(*edit("big.txt", "line 5000\n", "last\n"))).result.is_error
    assert (await crib.call(*write("big.txt"))).result.is_error
    await crib.call("Read", path="big.txt")
    assert not (await crib.call(*write("big.txt"))).result.is_error


async def test_a_file_read_piece_by_piece_is_known(crib: ToolHarness, workspace: Path) -> None:
    """In any order, with overlaps and from the end."""
    (workspace / "b.txt").write_text("".join(f"{number}\n" for number in range(100)))
    for where in ({"line_offset": 40, "n_lines": 30}, {"line_offset": -35}, {"n_lines": 39}):
        assert (await crib.call(*write("b.txt"))).result.is_error
        await crib.call("Read", {"path": "b.txt", **where})
    assert not (await crib.call(*write("b.txt"))).result.is_error


async def test_an_empty_file_can_be_known(crib: ToolHarness, workspace: Path) -> None:
    """A Read that shows no line shows all there is."""
    (workspace / "e.txt").touch()
    await crib.call("Read", path="e.txt")
    assert not (await crib.call(*write("e.txt"))).result.is_error


async def test_warn_lets_the_call_pass_with_a_note(workspace: Path, file: Path) -> None:
    """For hosts that leave the decision to the model."""
    async with ToolHarness(workspace, config={"stale_guard": {"mode": "warn"}}) as crib:
        done = await crib.call(*edit("a.txt"))
    assert not done.result.is_error
    assert "not read yet" in str(done.result.note)
    assert file.read_text() == "omega\nbeta\n"


@pytest.mark.parametrize(
    "config", [{"stale_guard": {"mode": "off"}}, {"features": {"stale-guard": False}}]
)
async def test_it_can_be_turned_off(workspace: Path, file: Path, config: dict[str, Any]) -> None:
    """By its own switch, or as a feature."""
    async with ToolHarness(workspace, config=config) as crib:
        done = await crib.call(*write("a.txt"))
    assert not done.result.is_error
    assert done.result.note is None
    assert file.read_text() == "new\n"


async def test_sessions_share_no_memory_and_leave_none(workspace: Path, file: Path) -> None:
    """What one session has read, another has not."""
    async with ToolHarness(workspace) as one, ToolHarness(workspace) as other:
        await one.call("Read", path="a.txt")
        assert (await other.call(*edit("a.txt"))).result.is_error
        assert not (await one.call(*edit("a.txt"))).result.is_error
        known = weakref.ref(one.session)
        assert memory.memory_of(one.session)
    del one
    gc.collect()
    assert known() is None
