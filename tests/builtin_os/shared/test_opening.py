"""Opening files without waiting and without following links."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolcrib_os.shared.opening import NotAFileError, open_regular, place_of


def test_a_regular_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"xyz")
    descriptor, status = open_regular(str(tmp_path / "a"))
    assert status.st_size == 3 and os.read(descriptor, 9) == b"xyz"
    os.close(descriptor)


def test_a_link_that_took_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"xyz")
    (tmp_path / "a").symlink_to("secret")
    with pytest.raises(OSError, match="symbolic"):
        open_regular(str(tmp_path / "a"))


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path, "directory"), (tmp_path / "pipe", "pipe"), ("/dev/null", "dev")):
        with pytest.raises(NotAFileError) as raised:
            open_regular(str(path))
        assert kind in raised.value.kind


def test_a_link_that_took_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside" / "b").mkdir(parents=True)
    (tmp_path / "outside" / "b" / "file").write_bytes(b"xyz")
    (tmp_path / "a").symlink_to("outside")
    with pytest.raises(OSError):
        open_regular(str(tmp_path / "a" / "b" / "file"))


def test_a_place_is_in_its_folder_wherever_that_goes(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with place_of(str(tmp_path / "a" / "b" / "file"), create_folders=True) as place:
        (tmp_path / "a").rename(tmp_path / "c")
        (tmp_path / "a" / "b").mkdir(parents=True)
        os.close(place.open(os.O_WRONLY | os.O_CREAT))
    assert (tmp_path / "c" / "b" / "file").exists()
    assert not (tmp_path / "a" / "b" / "file").exists()


def test_the_root_is_a_directory_like_others() -> None:
    with pytest.raises(NotAFileError, match="directory"):
        open_regular("/")
