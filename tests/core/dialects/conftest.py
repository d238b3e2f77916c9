"""The corpus of schemas, and what the tests of dialects judge by."""

from __future__ import annotations

import json
import sys
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent


def load(name: str) -> ModuleType:
    """A module beside this one; test modules cannot import each other."""
    qualified = f"tests_of_dialects_{name}"
    if qualified not in sys.modules:
        spec = util.spec_from_file_location(qualified, HERE / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = sys.modules[qualified] = util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[qualified]


def corpus() -> dict[str, Any]:
    """All schemas, by file and name."""
    return {
        f"{file.stem}.{name}": schema
        for file in sorted((HERE / "corpus").glob("*.json"))
        for name, schema in json.loads(file.read_text("utf-8")).items()
    }


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `original` for each schema of the corpus."""
    if "original" in metafunc.fixturenames:
        schemas = corpus()
        metafunc.parametrize("original", schemas.values(), ids=schemas.keys())


@pytest.fixture
def schemas() -> dict[str, Any]:
    return corpus()


@pytest.fixture
def checkers() -> ModuleType:
    return load("checkers")


@pytest.fixture
def generating() -> ModuleType:
    return load("generating")


@pytest.fixture
def encoding() -> ModuleType:
    return load("encoding")
