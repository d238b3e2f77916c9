"""Every hook is documented with the arguments that it has, and no other hook is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from toolcrib.contract import hooks

DOCUMENT = Path(__file__).parents[2] / "docs" / "hooks.md"
SPECS = {
    name: value
    for name, value in vars(hooks).items()
    if hasattr(value, f"{hooks.PROJECT_NAME}_spec")
}


def sections() -> dict[str, str]:
    """The text below each heading of the second level."""
    parts = re.split(r"^## (.+)$", DOCUMENT.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_there_are_hooks() -> None:
    assert len(SPECS) >= 10


@pytest.mark.parametrize("name", SPECS)
def test_a_hook_has_a_section_that_shows_its_arguments(name: str) -> None:
    arguments = ", ".join(inspect.signature(SPECS[name]).parameters)
    section = sections()[name]
    assert f"`{name}({arguments})`" in section
    assert re.search(r"exception|raises", section), "it has to say what an exception does"
    assert f"def {name}(self" in section, "it has to have an example"


@pytest.mark.parametrize("name", SPECS)
def test_a_hook_is_in_the_picture_of_the_order(name: str) -> None:
    assert name in sections()["The order"]


def test_every_section_is_about_a_hook_that_exists() -> None:
    assert set(sections()) - {"The order"} == set(SPECS)


@pytest.mark.parametrize("name", SPECS)
def test_a_hook_says_in_code_what_it_is_for(name: str) -> None:
    assert inspect.getdoc(SPECS[name])
