"""What Read refuses, and what it says instead."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from toolcrib.testing import ToolHarness

PNG = b"\x89PNG\r\n\x1a\n" + bytes(24)


@pytest.mark.parametrize(
    ("name", "data", "word"),
    [
        ("sample.png", PNG, "image"),
        ("sample", PNG, "image"),
        ("clip.bin", b"\0\0\0\x18ftypmp42" + bytes(40), "video"),
        ("fake.png", b"just text\n", "contents"),
        ("blob.dat", b"plain prefix\0\1", "not readable as text"),
        ("late.txt", b"safe text\n" * 50_000 + b"binary\0tail\n", "line 50001"),
        ("late8.txt", b"safe text\n" * 500 + b"\xff\n", "0xff in line 501"),
        ("cut.txt", "né".encode()[:-1], "line 1"),
        ("g.txt", b"\xc4\xe3\xba\xc3\n", "gb18030"),
        ("noise", bytes(range(1, 32)) * 8, "not readable as text"),
    ],
)
async def test_files_that_are_no_text(
    crib: ToolHarness, workspace: Path, name: str, data: bytes, word: str
) -> None:
    (workspace / name).write_bytes(data)
    done = await crib.call("Read", path=name)
    assert done.outcome == "executed" and done.result.is_error
    assert word in str(done.result.output) and name in str(done.result.output)
    assert "safe text" not in str(done.result.output)


async def test_what_cannot_be_decoded_comes_with_a_command_that_converts(
    crib: ToolHarness, workspace: Path
) -> None:
    (workspace / "my file.txt").write_bytes("Привет, мир\n".encode("cp1251"))
    done = await crib.call("Read", path="my file.txt")
    assert "iconv" in str(done.result.output) and "'my file.txt'" in str(done.result.output)


@pytest.mark.parametrize("charset", ["utf-16", "utf-16-le", "utf-16-be"])
async def test_utf16_is_decoded_and_named(crib: ToolHarness, workspace: Path, charset: str) -> None:
    (workspace / "w.txt").write_bytes("one\r\ntwo\r\n".encode(charset))
    done = await crib.call("Read", path="w.txt")
    assert done.result.output == "1\tone\n2\ttwo"
    assert "UTF-16" in str(done.result.note)


async def test_damaged_utf16_is_shown_as_far_as_possible(
    crib: ToolHarness, workspace: Path
) -> None:
    (workspace / "w.txt").write_bytes("fine\n".encode("utf-16") + b"\x00\xd8x")
    done = await crib.call("Read", path="w.txt")
    assert str(done.result.output).startswith("1\tfine\n2\t\ufffd")
    assert "damaged" in str(done.result.note)


async def test_huge_utf16_is_to_be_converted_first(crib: ToolHarness, workspace: Path) -> None:
    with open(workspace / "w.txt", "wb") as file:
        file.write(b"\xff\xfe")
        file.truncate(11 * 1024 * 1024)
    done = await crib.call("Read", path="w.txt")
    assert done.result.is_error and "iconv" in str(done.result.output)


async def test_a_directory_is_listed_instead(crib: ToolHarness, workspace: Path) -> None:
    for number in range(60):
        (workspace / "many" / f"d{number:02d}").mkdir(parents=True)
    done = await crib.call("Read", path="many")
    assert done.result.is_error
    output = str(done.result.output)
    assert "directory" in output and "d00/" in output and "10 more" in output
    assert "d55" not in output


async def test_pipes_sockets_and_devices_never_block(crib: ToolHarness, workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    server = socket.socket(socket.AF_UNIX)
    directory = os.open(workspace, os.O_RDONLY)
    try:
        server.bind(f"/proc/self/fd/{directory}/socket")
        for path, word in (("pipe", "pipe"), ("socket", "socket"), ("/dev/zero", "device")):
            done = await crib.call("Read", path=path)
            assert done.result.is_error and word in str(done.result.output)
    finally:
        server.close()
        os.close(directory)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_an_unreadable_file_says_why(crib: ToolHarness, workspace: Path) -> None:
    (workspace / "a.txt").write_text("x")
    (workspace / "a.txt").chmod(0)
    done = await crib.call("Read", path="a.txt")
    assert done.result.is_error and "permission" in str(done.result.output)


async def test_a_path_below_a_file_says_why(crib: ToolHarness, workspace: Path) -> None:
    (workspace / "a.txt").write_text("x")
    done = await crib.call("Read", path="a.txt/b.txt")
    assert done.result.is_error and "not a directory" in str(done.result.output)


@pytest.mark.parametrize("link", ["ok.txt", "folder/ok.txt"])
async def test_a_link_to_a_secret_is_refused(crib: ToolHarness, workspace: Path, link: str) -> None:
    (workspace / "folder").mkdir()
    (workspace / ".env").write_text("KEY=hunter2\n")
    (workspace / link).symlink_to(workspace / ".env")
    done = await crib.call("Read", path=link)
    assert done.result.is_error and "hunter2" not in str(done.result.output)


async def test_a_link_out_of_the_workspace_is_refused(crib: ToolHarness, workspace: Path) -> None:
    (workspace.parent / "other.txt").write_text("elsewhere\n")
    (workspace / "ok.txt").symlink_to(workspace.parent / "other.txt")
    done = await crib.call("Read", path="ok.txt")
    assert done.result.is_error and "elsewhere\n" not in str(done.result.output)
    outside = await crib.call("Read", path=str(workspace.parent / "other.txt"))
    assert outside.result.output == "1\telsewhere"


async def test_files_that_claim_no_size_are_read(crib: ToolHarness) -> None:
    if not os.path.exists("/proc/self/status"):
        pytest.skip("there is no /proc")
    done = await crib.call("Read", path="/proc/self/status", n_lines=1)
    assert str(done.result.output).startswith("1\tName:")
