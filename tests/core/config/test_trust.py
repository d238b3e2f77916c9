"""The user's list of trusted workspaces."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from toolcrib.config.trust import TrustStore


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "state" / "trusted.json")


def test_trust_lasts_until_it_is_taken_back(store: TrustStore, workspace: Path) -> None:
    assert not store.is_trusted(workspace)
    store.trust(workspace)
    store.trust(workspace)
    assert TrustStore(store.file).is_trusted(workspace)
    store.untrust(workspace)
    assert not store.is_trusted(workspace)
    assert store.paths() == frozenset()


def test_only_the_folder_itself_is_trusted(store: TrustStore, workspace: Path) -> None:
    store.trust(workspace)
    (workspace / "vendored").mkdir()
    assert not store.is_trusted(workspace / "vendored")
    assert not store.is_trusted(workspace.parent)
    assert not store.is_trusted(f"{workspace}-2")


def test_a_workspace_is_known_by_its_real_path(
    store: TrustStore, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = workspace.parent / "link"
    link.symlink_to(workspace)
    store.trust(link)
    assert store.is_trusted(workspace)
    monkeypatch.chdir(workspace)
    assert store.is_trusted(".")


def test_a_link_that_is_bent_elsewhere_is_not_trusted(store: TrustStore, workspace: Path) -> None:
    link, other = workspace.parent / "link", workspace.parent / "other"
    other.mkdir()
    link.symlink_to(workspace)
    store.trust(link)
    link.unlink()
    link.symlink_to(other)
    assert not store.is_trusted(link)


def test_the_file_is_the_users_alone(store: TrustStore, workspace: Path) -> None:
    old = os.umask(0)
    try:
        store.trust(workspace)
    finally:
        os.umask(old)
    assert stat.S_IMODE(store.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.file.parent.stat().st_mode) == 0o700
    assert os.listdir(store.file.parent) == ["trusted.json"]


@pytest.mark.parametrize("content", ["", "{", '{"a": 1}', "5", '[1, null, ["x"]]', "\udcff"])
def test_a_broken_file_trusts_nobody_and_can_be_written_again(
    content: str, store: TrustStore, workspace: Path
) -> None:
    store.file.parent.mkdir()
    store.file.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert store.paths() == frozenset()
    store.trust(workspace)
    assert json.loads(store.file.read_text()) == [str(workspace)]


def test_a_store_that_cannot_be_written_says_so(workspace: Path) -> None:
    (workspace / "file").write_text("")
    with pytest.raises(OSError):
        TrustStore(workspace / "file" / "trusted.json").trust(workspace)
