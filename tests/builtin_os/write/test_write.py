"""Write: what lands on the disk, and what the model is told."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from toolcrib.testing import ToolHarness


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".toolcrib-*")]


@pytest.mark.parametrize(
    ("content", "size"),
    [
        ("hello", 5),
        ("日本語の文字", 18),
        ("hi😀", 6),
        ("", 0),
        ("a\r\nb\nc\rd", 8),
        ("\ufeffhi", 5),
        ("nul\0 and form\ffeed", 18),
    ],
)
async def test_content_lands_exactly_and_its_bytes_are_counted(
    crib: ToolHarness, workspace: Path, content: str, size: int
) -> None:
    """No newline is added, no line ending is changed, and the size is in UTF-8 bytes."""
    done = await crib.call("Write", path="new.txt", content=content)
    assert not done.result.is_error
    assert f" {size} byte" in str(done.result.output)
    assert (workspace / "new.txt").read_bytes() == content.encode()
    assert leftovers(workspace) == []


async def test_directories_on_the_way_are_created(crib: ToolHarness, workspace: Path) -> None:
    """A missing parent is no error."""
    await crib.call("Write", path="a/b/c.txt", content="x")
    assert (workspace / "a/b/c.txt").read_text() == "x"


async def test_a_new_file_gets_the_mode_of_the_umask(crib: ToolHarness, workspace: Path) -> None:
    """As with any other program."""
    old = os.umask(0o027)
    try:
        await crib.call("Write", path="n.txt", content="x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((workspace / "n.txt").stat().st_mode) == 0o640


async def test_an_overwrite_keeps_the_mode_and_tells_the_old_size(
    crib: ToolHarness, workspace: Path
) -> None:
    """The file is replaced by a new one that takes over what the old one was."""
    script = workspace / "run.sh"
    script.write_text("echo a\necho b\n")
    script.chmod(0o755)
    before = script.stat().st_ino
    done = await crib.call("Write", path="run.sh", content="echo c\n")
    assert "14 bytes, 2 lines" in str(done.result.output)
    assert script.read_text() == "echo c\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert script.stat().st_ino != before


async def test_identical_content_is_not_written(crib: ToolHarness, workspace: Path) -> None:
    """Inode and modification time stay, so that no build starts for nothing."""
    file = workspace / "same.txt"
    file.write_text("same\n")
    os.utime(file, (1, 1))
    before = file.stat()
    done = await crib.call("Write", path="same.txt", content="same\n")
    after = file.stat()
    assert "unchanged" in str(done.result.output)
    assert not done.result.is_error
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_a_write_goes_through_a_link(crib: ToolHarness, workspace: Path) -> None:
    """The link stays a link; the file it leads to changes."""
    (workspace / "d").mkdir()
    (workspace / "d/real.txt").write_text("old")
    (workspace / "link.txt").symlink_to("d/real.txt")
    await crib.call("Write", path="link.txt", content="new")
    assert (workspace / "link.txt").is_symlink()
    assert (workspace / "d/real.txt").read_text() == "new"


@pytest.mark.parametrize("mode", ["overwrite", "append"])
async def test_hard_links_stay_together(crib: ToolHarness, workspace: Path, mode: str) -> None:
    """A file with several names is the same file afterwards."""
    (workspace / "one.txt").write_text("long old content")
    os.link(workspace / "one.txt", workspace / "two.txt")
    await crib.call("Write", path="one.txt", content="new", mode=mode)
    assert (workspace / "two.txt").read_text() == (
        "new" if mode == "overwrite" else "long old contentnew"
    )
    assert (workspace / "one.txt").stat().st_nlink == 2


async def test_a_lone_surrogate_is_refused_before_anything_is_opened(
    crib: ToolHarness, workspace: Path
) -> None:
    """The file keeps its content, no directory is made, and the offset is named."""
    (workspace / "s.txt").write_text("keep\n")
    for path in ("s.txt", "new/s.txt"):
        done = await crib.call("Write", f'{{"path": "{path}", "content": "x\\ud83dy"}}')
        assert done.result.is_error
        assert "offset 1," in str(done.result.output)
    assert (workspace / "s.txt").read_text() == "keep\n"
    assert not (workspace / "new").exists()


async def test_a_parent_that_is_a_file_is_no_directory(crib: ToolHarness, workspace: Path) -> None:
    """At any depth."""
    (workspace / "f.txt").write_text("keep")
    for path in ("f.txt/child.txt", "f.txt/a/b/child.txt"):
        done = await crib.call("Write", path=path, content="x")
        assert done.result.is_error
        assert "not a directory" in str(done.result.output)
    assert (workspace / "f.txt").read_text() == "keep"


@pytest.mark.parametrize("mode", ["overwrite", "append"])
async def test_what_is_no_file_is_left_alone(crib: ToolHarness, workspace: Path, mode: str) -> None:
    """Directories, pipes, sockets and devices; none of them makes the call hang."""
    (workspace / "d").mkdir()
    os.mkfifo(workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(workspace)  # the name of a socket has to be short
        try:
            server.bind("sock")
        finally:
            os.chdir(here)
        for path, kind in (
            ("d", "directory"),
            ("pipe", "named pipe"),
            ("sock", "socket"),
            ("/dev/null", "device"),
        ):
            done = await crib.call("Write", path=path, content="x", mode=mode)
            assert done.result.is_error
            assert kind in str(done.result.output)
    assert stat.S_ISFIFO((workspace / "pipe").stat().st_mode)
    assert leftovers(workspace) == []


async def test_append_adds_no_newline_and_says_when_a_line_goes_on(
    crib: ToolHarness, workspace: Path
) -> None:
    """The model learns that its content continues the last line."""
    file = workspace / "w.txt"
    file.write_text("start")
    inode = file.stat().st_ino
    done = await crib.call("Write", path="w.txt", content="more\n", mode="append")
    assert "5 bytes" in str(done.result.output)
    assert "10" in str(done.result.output)
    assert "newline" in str(done.result.output)
    again = await crib.call("Write", path="w.txt", content="é", mode="append")
    assert "2 bytes" in str(again.result.output)
    assert "newline" not in str(again.result.output)
    assert file.read_text() == "startmore\né"
    assert file.stat().st_ino == inode


async def test_append_creates_a_missing_file(crib: ToolHarness, workspace: Path) -> None:
    """With its directories."""
    await crib.call("Write", path="x/m.txt", content="café", mode="append")
    assert (workspace / "x/m.txt").read_text() == "café"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
async def test_append_refuses_utf_16(crib: ToolHarness, workspace: Path, encoding: str) -> None:
    """UTF-8 at its end would make the file unreadable."""
    data = "hello\n".encode(encoding)
    (workspace / "u.txt").write_bytes(data)
    done = await crib.call("Write", path="u.txt", content="x", mode="append")
    assert done.result.is_error
    assert "UTF-16" in str(done.result.output)
    assert "iconv" in str(done.result.output)
    assert (workspace / "u.txt").read_bytes() == data


@pytest.mark.parametrize(
    ("old", "note"),
    [
        (b"\xef\xbb\xbfa\n", "byte order mark"),
        ("a\n".encode("utf-16"), "UTF-16"),
        (b"a\r\nb\r\n", "CRLF"),
    ],
)
async def test_an_overwrite_that_changes_the_kind_of_text_says_so(
    crib: ToolHarness, workspace: Path, old: bytes, note: str
) -> None:
    """The content is written as given all the same."""
    (workspace / "k.txt").write_bytes(old)
    done = await crib.call("Write", path="k.txt", content="x\ny\n")
    assert note in str(done.result.output)
    assert (workspace / "k.txt").read_bytes() == b"x\ny\n"


async def test_secrets_and_places_outside_are_refused(crib: ToolHarness, workspace: Path) -> None:
    """Before anything is touched."""
    for path in (".env", "id_rsa", "../o.txt"):
        done = await crib.call("Write", path=path, content="x")
        assert done.outcome == "resolution-failed"
    assert list(workspace.iterdir()) == []
    assert not (workspace.parent / "o.txt").exists()


async def test_arguments_are_checked(crib: ToolHarness, workspace: Path) -> None:
    """Content has to be there and has to be text; nothing is converted."""
    for arguments in (
        {"path": "w.txt"},
        {"path": "w.txt", "content": {"a": 1}},
        {"path": "w.txt", "content": None},
        {"path": "w.txt", "content": "x", "mode": "prepend"},
    ):
        done = await crib.call("Write", arguments)
        assert done.outcome == "preflight-rejected"
    assert not (workspace / "w.txt").exists()


async def test_a_name_that_is_too_long_is_explained(crib: ToolHarness) -> None:
    """In words, not as an exception."""
    done = await crib.call("Write", path="n" * 300, content="x")
    assert done.result.is_error
    assert "too long" in str(done.result.output)
