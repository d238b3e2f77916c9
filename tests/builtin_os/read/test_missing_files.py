"""What Read does when there is no file of that exact name."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib.testing import ToolHarness


async def test_close_names_are_suggested(crib: ToolHarness, workspace: Path) -> None:
    (workspace / "src").mkdir()
    for name in ("Config.toml", "config.tml", "confgi.toml", "unrelated.md", "config.json"):
        (workspace / "src" / name).write_text("x")
    done = await crib.call("Read", path="src/config.toml")
    output = str(done.result.output)
    assert done.result.is_error and "src/Config.toml" in output
    assert output.count("src/") == 4, "the path and three suggestions"
    assert "unrelated" not in output


async def test_secrets_are_not_suggested(crib: ToolHarness, workspace: Path) -> None:
    (workspace / ".env").write_text("x")
    done = await crib.call("Read", path=".enw")
    assert done.result.is_error and "'.env'" not in str(done.result.output)


async def test_a_missing_directory_is_named(crib: ToolHarness, workspace: Path) -> None:
    (workspace / "a").mkdir()
    done = await crib.call("Read", path="a/b/c/d.txt")
    assert done.result.is_error and "'a/b'" in str(done.result.output)


async def test_a_link_to_nothing_says_so(crib: ToolHarness, workspace: Path) -> None:
    (workspace / "link.txt").symlink_to("gone.txt")
    done = await crib.call("Read", path="link.txt")
    assert done.result.is_error and "gone.txt" in str(done.result.output)


@pytest.mark.parametrize(
    ("actual", "asked"),
    [
        ("Shot 9.41\u202fPM.txt", "Shot 9.41 PM.txt"),
        ("Shot 9.41\u00a0PM.txt", "Shot 9.41 PM.txt"),
        ("cafe\u0301.txt", "caf\u00e9.txt"),
        ("caf\u00e9.txt", "cafe\u0301.txt"),
        ("d\u00a0ir/re\u0301sume\u0301.txt", "d ir/r\u00e9sum\u00e9.txt"),
    ],
)
async def test_a_name_spelled_with_other_unicode_characters_is_opened(
    crib: ToolHarness, workspace: Path, actual: str, asked: str
) -> None:
    (workspace / actual).parent.mkdir(exist_ok=True)
    (workspace / actual).write_text("found\n")
    done = await crib.call("Read", path=asked)
    assert done.result.output == "1\tfound"
    assert ascii(actual) in str(done.result.note)


async def test_several_equivalent_names_are_listed(crib: ToolHarness, workspace: Path) -> None:
    for space in ("\u202f", "\u00a0"):
        (workspace / f"Shot 9.41{space}PM.txt").write_text("x")
    done = await crib.call("Read", path="Shot 9.41 PM.txt")
    assert done.result.is_error
    assert "\\u202f" in str(done.result.output) and "\\xa0" in str(done.result.output)


async def test_an_equivalent_name_of_a_link_to_a_secret_is_refused(
    crib: ToolHarness, workspace: Path
) -> None:
    (workspace / ".env").write_text("KEY=hunter2\n")
    (workspace / "my\u00a0notes.txt").symlink_to(".env")
    done = await crib.call("Read", path="my notes.txt")
    assert done.result.is_error and "hunter2" not in str(done.result.output)
