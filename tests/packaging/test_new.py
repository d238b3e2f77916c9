"""A project of `toolcrib new` does what its README says, in an environment of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def project(installed: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A new project, installed in place with what its tests need."""
    folder = tmp_path_factory.mktemp("projects")
    toolcrib = installed.path("toolcrib")
    listed = installed.check(toolcrib, "new", "toolcrib-weather", "--directory", str(folder))
    made = folder / "toolcrib-weather"
    assert {Path(line) for line in listed.splitlines()} == {
        path for path in made.rglob("*") if path.is_file()
    }
    installed.pip("install", "-e", f"{made}[test]")
    yield made
    installed.pip("uninstall", "-y", "toolcrib-weather", "pytest", "iniconfig")


def test_it_passes_its_own_tests(project: Path, installed: Any) -> None:
    done = installed.check(
        installed.path("python"), "-m", "pytest", "-q", "-W", "error", str(project)
    )
    assert " passed" in done
    assert " failed" not in done


def test_it_shows_up(project: Path, installed: Any) -> None:
    (tool,) = [tool for tool in installed.json("tools") if tool["name"] == "Weather"]
    assert tool["plugin"] == "toolcrib-weather"
    assert "${" not in tool["description"]
    (plugin,) = [p for p in installed.json("plugins") if p["name"] == "toolcrib-weather"]
    assert (plugin["status"], plugin["failures"]) == ("loaded", [])


def test_its_tool_can_be_called(project: Path, installed: Any) -> None:
    command = [installed.path("toolcrib"), "call", "Weather", json.dumps({"path": "README.md"})]
    output = installed.check(*command, "--workspace", str(project), "--mode", "yolo")
    assert "toolcrib" in output


def test_its_types_are_sound(project: Path, installed: Any, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    installed.mypy(project, cache=tmp_path)


def test_it_is_linted_and_formatted(project: Path, installed: Any) -> None:
    ruff = pytest.importorskip("ruff").find_ruff_bin()
    installed.check(ruff, "check", "--no-cache", str(project))
    installed.check(ruff, "format", "--no-cache", "--check", str(project))


def test_a_second_one_of_that_name_is_refused(
    project: Path, installed: Any, tmp_path: Path
) -> None:
    command = [installed.path("toolcrib"), "new", "weather", "--directory", str(tmp_path)]
    done = installed.run(*command)
    assert done.returncode == 2
    assert "Weather" in done.stderr
    assert list(tmp_path.iterdir()) == []
