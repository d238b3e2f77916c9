"""The text that a model reads of a tool: a file beside the tool, filled in at every listing."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from string import Template


@lru_cache(maxsize=512)
def _template(package: str) -> Template:
    return Template(files(package).joinpath("description.md").read_text("utf-8").strip())


def read_description(package: str | None, **values: object) -> str:
    """The text of `description.md` in a package, with each `${NAME}` replaced.

    Raises KeyError for a name without a value, FileNotFoundError when the file is missing.
    """
    if not package:
        raise ValueError("read_description needs the package that holds description.md")
    return _template(package).substitute(values)
