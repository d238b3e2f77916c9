"""Every builtin tool is a folder of the same shape, with an entry point, cheap to discover."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ["builtin_os/toolcrib_os", "builtin_task/toolcrib_task", "features/toolcrib_features"]
TOOLS = sorted(
    file.parent for package in PACKAGES for file in (ROOT / "plugins" / package).rglob("tool.py")
)
PLUGINS = sorted(
    file for package in PACKAGES for file in (ROOT / "plugins" / package).rglob("plugin.py")
)
DECLARED: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "entry-points"
]["toolcrib"]
FILES = ("__init__.py", "input.py", "description.md", "tool.py", "plugin.py")
LATE = {
    "asyncio",
    "difflib",
    "importlib_metadata",
    "jsonschema",
    "jsonschema_rs",
    "pathspec",
    "rich",
    "sqlite3",
    "subprocess",
    "svcs",
    "wcmatch",
}
"""What only calls need; a plugin module that imports it slows every process down."""


def module_of(file: Path) -> str:
    """The dotted name of a module below `plugins/<group>/`."""
    parts = file.relative_to(ROOT / "plugins").with_suffix("").parts[1:]
    return ".".join(parts)


def test_there_are_tools() -> None:
    assert {folder.name for folder in TOOLS} >= {"read", "write", "edit", "glob", "grep", "bash"}


@pytest.mark.parametrize("folder", TOOLS, ids=lambda folder: folder.name)
def test_a_tool_folder_has_its_five_files(folder: Path) -> None:
    assert [name for name in FILES if not (folder / name).is_file()] == []


@pytest.mark.parametrize("folder", TOOLS, ids=lambda folder: folder.name)
def test_the_package_of_a_tool_holds_a_docstring_and_nothing_else(folder: Path) -> None:
    body = ast.parse((folder / "__init__.py").read_text("utf-8")).body
    assert len(body) == 1
    assert isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


@pytest.mark.parametrize("file", PLUGINS, ids=lambda file: file.parent.name)
def test_a_plugin_has_an_entry_point(file: Path) -> None:
    assert module_of(file) in DECLARED.values()


@pytest.mark.parametrize("name", DECLARED)
def test_an_entry_point_is_installed(name: str) -> None:
    """After a new one, `pip install -e .` has to be run again."""
    installed = {
        point.name: point.value
        for point in entry_points(group="toolcrib")
        if point.dist is not None and point.dist.name == "toolcrib"
    }
    assert installed.get(name) == DECLARED[name]


@pytest.mark.parametrize("name", DECLARED)
def test_a_plugin_is_cheap_to_import(name: str) -> None:
    """It brings neither the module of its tool nor what only calls need."""
    code = (
        "import json, sys; before = set(sys.modules)\n"
        f"import {DECLARED[name]}\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    imported = set(json.loads(subprocess.check_output([sys.executable, "-c", code], text=True)))
    assert DECLARED[name].replace(".plugin", ".tool") not in imported
    assert imported & LATE == set()
