"""What `toolcrib new` makes, and the names and places it refuses."""

from __future__ import annotations

import ast
import os
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.cli.new import NewProjectError, command, create_project, names_of


def test_makes_a_project_whose_entry_point_and_package_agree(tmp_path: Path) -> None:
    made = create_project("toolcrib-weather", tmp_path)
    project = tmp_path / "toolcrib-weather"
    assert sorted(made) == sorted(path for path in project.rglob("*") if path.is_file())
    described = tomllib.loads((project / "pyproject.toml").read_text())
    assert described["project"]["name"] == "toolcrib-weather"
    points = described["project"]["entry-points"]["toolcrib"]
    assert points == {"toolcrib-weather": "toolcrib_weather.plugin"}
    for name in ("__init__.py", "input.py", "tool.py", "plugin.py", "description.md", "py.typed"):
        assert project / "src" / "toolcrib_weather" / name in made


def test_fills_in_every_placeholder(tmp_path: Path) -> None:
    for path in create_project("toolcrib-weather", tmp_path):
        text = path.read_text("utf-8")
        left = text.replace("${DEFAULT_LIMIT}", "") if path.name == "description.md" else text
        assert "${" not in left, path
        if path.suffix == ".py":
            ast.parse(text, str(path))


@pytest.mark.parametrize(
    ("name", "package", "plugin", "tool"),
    [
        ("toolcrib-weather", "toolcrib_weather", "toolcrib-weather", "Weather"),
        ("acme_db.query", "acme_db_query", "acme-db-query", "AcmeDbQuery"),
        ("Dice", "dice", "dice", "Dice"),
        ("a", "a", "a", "A"),
    ],
)
def test_derives_the_other_names_from_that_of_the_project(
    name: str, package: str, plugin: str, tool: str
) -> None:
    names = names_of(name)
    assert (names.package, names.plugin, names.tool) == (package, plugin, tool)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "two words",
        "../outside",
        "a/b",
        ".hidden",
        "-flag",
        "ends-",
        "2fast",
        "wörter",
        "new\n",
        "a" * 51,
        "toolcrib",
        "toolcrib-os",
        "toolcrib-2d",
        "json",
        "class",
        "attrs",
        "pytest",
        "permissions",
        "os-bash",
        "bash",
        "toolcrib-Bash",
    ],
)
def test_refuses_a_name_that_is_no_good_or_taken(name: str, tmp_path: Path) -> None:
    with pytest.raises(NewProjectError) as caught:
        create_project(name, tmp_path)
    assert (
        name in str(caught.value)
        or repr(name) in str(caught.value)
        or "'Bash'" in str(caught.value)
    )
    assert os.listdir(tmp_path) == []


@given(st.text(max_size=60))
def test_every_name_is_refused_or_gives_identifiers(name: str) -> None:
    try:
        names = names_of(name)
    except NewProjectError:
        return
    assert names.package.isidentifier()
    assert names.tool.isidentifier()
    assert Path(names.distribution).name == name


@pytest.mark.parametrize("kind", ["folder", "full folder", "file", "dangling link"])
def test_never_overwrites_what_is_there(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "toolcrib-weather"
    match kind:
        case "folder":
            place.mkdir()
        case "full folder":
            place.mkdir()
            (place / "kept.txt").write_text("kept")
        case "file":
            place.write_text("kept")
        case _:
            place.symlink_to("nowhere")
    before = [(path, path.lstat().st_mtime_ns) for path in sorted(tmp_path.rglob("*"))]
    with pytest.raises(NewProjectError):
        create_project("toolcrib-weather", tmp_path)
    assert [(path, path.lstat().st_mtime_ns) for path in sorted(tmp_path.rglob("*"))] == before


def test_needs_a_folder_that_exists(tmp_path: Path) -> None:
    with pytest.raises(NewProjectError):
        create_project("toolcrib-weather", tmp_path / "missing")
    assert os.listdir(tmp_path) == []


def test_leaves_nothing_when_the_disk_refuses(tmp_path: Path) -> None:
    """The folder's name leaves no room for the longest path of the project."""
    deep = tmp_path
    while len(str(deep)) < 3_900:
        deep = deep / ("d" * 200 if len(str(deep)) < 3_600 else "d" * 80)
        deep.mkdir()
    room = 4_095 - len(str(deep))
    deep = deep / ("d" * (room - 60))
    deep.mkdir()
    with pytest.raises(NewProjectError):
        create_project("toolcrib-weather", deep)
    assert os.listdir(deep) == []


def test_the_command_lists_the_files_and_tells_what_to_do_next(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["toolcrib-weather", "--directory", str(tmp_path)])
    assert done.exit_code == 0
    listed = [Path(line) for line in done.stdout.splitlines()]
    assert listed
    assert all(path.is_file() for path in listed)
    assert "pip install -e" in done.stderr
