"""Changes of a file that go wrong: the old content stays, and nothing is left lying about."""

from __future__ import annotations

import os
import select
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib_os.shared.atomic import (
    FileChangedError,
    append_content,
    look,
    read_whole,
    replace_content,
)

OLD = b"old line\n" * 50_000


def nothing() -> None:
    """Stands for a call that nobody cancels."""


def replace(path: Path, data: bytes) -> None:
    replace_content(str(path), data, seen=look(str(path)), before_commit=nothing)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "d.json"
    path.write_bytes(OLD)
    return path


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def run(code: str, *arguments: object) -> str:
    """The output of a Python process."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LIMITED = """
import errno, resource, sys
from toolcrib_os.shared.atomic import append_content, look, replace_content
path, how = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
try:
    if how == "append":
        append_content(path, b"new" * 400_000, before_commit=lambda: None)
    else:
        replace_content(path, b"new" * 400_000, seen=look(path), before_commit=lambda: None)
except OSError as error:
    print(errno.errorcode[error.errno])
"""


@pytest.mark.parametrize("how", ["replace", "create", "append", "write over"])
def test_a_limit_met_half_way_leaves_the_old_bytes(file: Path, how: str) -> None:
    """The size limit of the process ends the write after some bytes, as a full disk would."""
    if how == "write over":
        os.link(file, file.with_name("second name"))
    path = file.with_name("new.txt") if how == "create" else file
    names = sorted(os.listdir(file.parent))
    assert run(LIMITED, path, how) == "EFBIG"
    assert file.read_bytes() == OLD
    assert sorted(os.listdir(file.parent)) == names


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("how", ["replace", "create", "append", "write over"])
def test_a_full_disk_leaves_the_old_bytes(tmp_path: Path, how: str) -> None:
    """A disk of 1 MiB, on which the old content fits and the new one does not."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path]).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        file = tmp_path / "d.json"
        file.write_bytes(OLD)
        if how == "write over":
            os.link(file, tmp_path / "second name")
        path = tmp_path / "new" if how == "create" else file
        names = sorted(os.listdir(tmp_path))
        with pytest.raises(OSError, match="No space left"):
            if how == "append":
                append_content(str(path), b"new" * 400_000, before_commit=nothing)
            else:
                replace(path, b"new" * 400_000)
        assert file.read_bytes() == OLD
        assert sorted(os.listdir(tmp_path)) == names
        replace(file, b"small")
        assert file.read_bytes() == b"small"
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file")
def test_a_file_that_is_a_mount_point_is_written_over(tmp_path: Path) -> None:
    """As in containers, where one file of the host is mounted into another tree."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(OLD)
    target.touch()
    if subprocess.run(["mount", "--bind", source, target]).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        replace(target, b"new")
        assert source.read_bytes() == b"new"
        assert sorted(os.listdir(tmp_path)) == ["source", "target"]
    finally:
        subprocess.run(["umount", target], check=True)


@pytest.mark.parametrize("size", [0, 10, len(OLD), len(OLD) * 2])
def test_a_file_with_several_names_is_written_over(file: Path, size: int) -> None:
    """Shorter, longer or empty: the other name sees the same bytes."""
    os.link(file, file.with_name("second name"))
    replace(file, b"n" * size)
    assert file.with_name("second name").read_bytes() == b"n" * size


AS_SOMEBODY = """
import os, sys
from toolcrib_os.shared.atomic import look, replace_content
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    replace_content(sys.argv[1], b"new", seen=look(sys.argv[1]), before_commit=lambda: None)
except OSError as error:
    print(type(error).__name__)
"""


def test_a_file_in_a_folder_that_takes_no_new_files_is_written_over(open_folder: Path) -> None:
    """The file itself may be written, so the call succeeds."""
    file = open_folder / "a.txt"
    file.write_bytes(OLD)
    file.chmod(0o666)
    open_folder.chmod(0o555)
    assert run(AS_SOMEBODY, file) == ""
    assert file.read_bytes() == b"new"


def test_a_file_that_may_not_be_written_is_not_replaced(open_folder: Path) -> None:
    """Although its folder would allow a new file in its place."""
    open_folder.chmod(0o777)
    file = open_folder / "a.txt"
    file.write_bytes(OLD)
    file.chmod(0o444)
    assert run(AS_SOMEBODY, file) == "PermissionError"
    assert file.read_bytes() == OLD
    assert os.listdir(open_folder) == ["a.txt"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_owner_and_special_bits_are_kept(file: Path) -> None:
    """Where permitted."""
    os.chown(file, 1234, 2345)
    file.chmod(0o6751)
    replace(file, b"new")
    info = file.stat()
    assert (info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)) == (1234, 2345, 0o6751)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_group_that_cannot_be_kept_leaves_no_right_to_another(open_folder: Path) -> None:
    """What members of the old group could do, members of the new one must not gain."""
    open_folder.chmod(0o777)
    file = open_folder / "a.txt"
    file.write_bytes(OLD)
    os.chown(file, 65534, 1234)
    file.chmod(0o660)
    assert run(AS_SOMEBODY, file) == ""
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_extended_attributes_are_kept(file: Path) -> None:
    """Access lists are among them."""
    try:
        os.setxattr(file, "user.origin", b"here")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    replace(file, b"new")
    assert os.getxattr(file, "user.origin") == b"here"


@pytest.mark.parametrize("several_names", [False, True])
def test_a_change_by_somebody_else_meanwhile_is_not_overwritten(
    file: Path, several_names: bool
) -> None:
    """The file is compared with what was seen, just before the change."""
    if several_names:
        os.link(file, file.with_name("second name"))
    _, seen = read_whole(str(file))
    file.write_bytes(b"theirs")
    with pytest.raises(FileChangedError):
        replace_content(str(file), b"mine", seen=seen, before_commit=nothing)
    assert file.read_bytes() == b"theirs"
    assert not list(file.parent.glob(".toolcrib-*"))


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """It was not there when the change was decided."""
    path = tmp_path / "new.txt"
    path.write_bytes(b"theirs")
    with pytest.raises(FileChangedError):
        replace_content(str(path), b"mine", seen=None, before_commit=nothing)
    assert path.read_bytes() == b"theirs"


@pytest.mark.parametrize("how", ["replace", "create", "append", "write over"])
def test_a_change_that_is_called_off_leaves_no_trace(file: Path, how: str) -> None:
    """Whoever calls it off does so before the first byte that others can see."""

    def call_off() -> None:
        raise InterruptedError("stop")

    if how == "write over":
        os.link(file, file.with_name("second name"))
    before, names = file.stat(), sorted(os.listdir(file.parent))
    path = str(file.with_name("new.txt") if how == "create" else file)
    with pytest.raises(InterruptedError):
        if how == "append":
            append_content(path, b"x", before_commit=call_off)
        else:
            replace_content(path, b"x", seen=look(path), before_commit=call_off)
    assert sorted(os.listdir(file.parent)) == names
    assert file.stat() == before or file.read_bytes() == OLD


def test_a_link_that_takes_the_place_of_the_file_is_not_followed(file: Path) -> None:
    """Between the look and the write somebody may have put one there."""
    seen = look(str(file))
    elsewhere = file.with_name("elsewhere")
    elsewhere.write_bytes(b"precious")
    file.unlink()
    file.symlink_to(elsewhere)
    with pytest.raises(Exception, match="link"):
        replace_content(str(file), b"x", seen=seen, before_commit=nothing)
    assert elsewhere.read_bytes() == b"precious"


@pytest.mark.parametrize("how", ["look", "read", "replace", "create", "append"])
def test_a_link_that_takes_the_place_of_a_folder_is_not_followed(tmp_path: Path, how: str) -> None:
    """Also folders above may be swapped between the look-up of a path and its use."""
    inside, outside = tmp_path / "a" / "b", tmp_path / "outside"
    for folder in (inside, outside / "b"):
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"precious")
    path = str(inside / "file")
    seen = look(path)
    (tmp_path / "a").rename(tmp_path / "moved")
    (tmp_path / "a").symlink_to(outside)
    with pytest.raises(OSError):
        if how == "look":
            look(path)
        elif how == "read":
            read_whole(path)
        elif how == "replace":
            replace_content(path, b"x", seen=seen, before_commit=nothing)
        elif how == "create":
            new = str(inside / "new" / "file")
            replace_content(new, b"x", seen=None, before_commit=nothing)
        else:
            append_content(path, b"x", before_commit=nothing)
    assert os.listdir(outside / "b") == ["file"]
    assert (outside / "b" / "file").read_bytes() == b"precious"


def test_a_folder_swapped_while_the_file_is_written_changes_nothing(tmp_path: Path) -> None:
    inside, outside = tmp_path / "a", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "file").write_bytes(b"precious")

    def swap() -> None:
        inside.rename(tmp_path / "moved")
        inside.symlink_to(outside)

    path = str(inside / "file")
    replace_content(path, b"new", seen=look(path), before_commit=swap)
    assert (outside / "file").read_bytes() == b"precious"
    assert (tmp_path / "moved" / "file").read_bytes() == b"new"
    assert os.listdir(outside) == ["file"]


def test_a_file_that_is_a_stream_is_no_text(tmp_path: Path) -> None:
    """Such as /proc/kmsg, which says that it is a regular file and has nothing to read yet."""
    if not os.access("/proc/kmsg", os.R_OK):
        pytest.skip("no such file may be read here")
    with open("/proc/kmsg", "rb", buffering=0) as kernel_log:
        if select.select([kernel_log], [], [], 0)[0]:
            pytest.skip("the kernel has something to say just now")
    with pytest.raises(OSError):
        read_whole("/proc/kmsg")
