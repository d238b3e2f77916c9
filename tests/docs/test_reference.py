"""The reference page says what the code says."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_reference_is_made_from_the_code_as_it_is() -> None:
    """If this fails, run `python docs/make_reference.py`."""
    made = runpy.run_path(str(DOCS / "make_reference.py"))["reference"]()
    assert made == (DOCS / "reference.md").read_text(encoding="utf-8")
