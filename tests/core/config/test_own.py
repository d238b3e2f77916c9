"""What decides about permissions is told from other files, however it is spelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib.config.own import OwnFiles

if TYPE_CHECKING:
    from core.config.conftest import Home


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("ws/toolcrib.toml", True),
        ("ws/sub/../toolcrib.toml", True),
        ("ws/ToolCrib.TOML", True),
        ("config/toolcrib/toolcrib.toml", True),
        ("config/toolcrib/mcp.json", True),
        ("ws/.mcp.json", True),
        ("ws/.toolcrib/mcp.json", True),
        ("ws/.toolcrib/notes.md", False),
        ("state/trusted.json", True),
        ("state/approvals.db-wal", True),
        ("state", True),
        ("ws/toolcrib.toml.bak", False),
        ("ws/sub/toolcrib.toml", False),
        ("ws", False),
        ("stateful", False),
    ],
)
def test_a_path_is_told_by_its_text(home: Home, path: str, own: bool) -> None:
    files = OwnFiles.of(home.workspace, home.environ, trusted=False)
    assert files.controls(f"{home.root}/{path}") is own


@pytest.mark.parametrize("top", ["", "ws"])
def test_the_servers_of_the_repository_around_the_workspace_count(home: Home, top: str) -> None:
    (home.root / top / ".git").mkdir()
    workspace = home.workspace / "sub"
    files = OwnFiles.of(workspace, home.environ, trusted=True)
    assert files.controls(str(home.root / top / ".mcp.json"))
    assert files.controls(str(workspace / ".mcp.json"))
    assert not files.controls(str(home.root / top / "a" / ".mcp.json"))
    assert files.controls(str(home.root / top), recursive=True)


@pytest.mark.parametrize("path", ["", "ws", "config", "state"])
def test_a_folder_above_counts_when_all_in_it_is_meant(home: Home, path: str) -> None:
    for file in (
        home.user_file,
        home.workspace / "toolcrib.toml",
        home.root / "state/trusted.json",
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    files = OwnFiles.of(home.workspace, home.environ, trusted=False)
    assert files.controls(f"{home.root}/{path}", recursive=True)
    assert files.controls("/", recursive=True)
    assert not files.controls(f"{home.workspace}/sub", recursive=True)


def test_a_file_that_is_not_there_is_at_stake_once_it_would_widen(home: Home) -> None:
    root = str(home.workspace)
    assert not OwnFiles.of(root, home.environ, trusted=False).controls(root, recursive=True)
    assert OwnFiles.of(root, home.environ, trusted=True).controls(root, recursive=True)


def test_links_are_followed_both_ways(home: Home) -> None:
    """A link to the file is the file, and so is the file that a link in its place leads to."""
    (home.root / "dotfiles.toml").write_text("")
    home.user_file.parent.mkdir(parents=True)
    home.user_file.symlink_to(home.root / "dotfiles.toml")
    (home.workspace / "innocent.txt").symlink_to(home.user_file)
    files = OwnFiles.of(home.workspace, home.environ, trusted=False)
    for path in (home.root / "dotfiles.toml", home.workspace / "innocent.txt", home.user_file):
        assert files.controls(str(path))


def test_a_hard_link_is_the_file(home: Home) -> None:
    own = home.workspace / "toolcrib.toml"
    own.write_text("")
    (home.workspace / "innocent.txt").hardlink_to(own)
    (home.workspace / "twin.txt").write_text("")
    (home.workspace / "other.txt").hardlink_to(home.workspace / "twin.txt")
    files = OwnFiles.of(home.workspace, home.environ, trusted=False)
    assert files.controls(str(home.workspace / "innocent.txt"))
    assert not files.controls(str(home.workspace / "other.txt"))


def test_the_file_that_a_variable_names_counts(home: Home) -> None:
    environ = {**home.environ, "TOOLCRIB_CONFIG": str(home.root / "mine.toml")}
    files = OwnFiles.of(home.workspace, environ, trusted=False)
    assert files.controls(str(home.root / "mine.toml"))
    assert not files.controls(str(home.user_file))
