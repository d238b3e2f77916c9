"""The `[search]` table of the configuration."""

from __future__ import annotations

from typing import Literal

from attrs import Attribute, field, frozen
from attrs.validators import in_

from toolcrib import settings


def _positive(instance: object, attribute: Attribute[float], value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"search.{attribute.name} must be a positive number, not {value!r}")


@settings("search")
@frozen(kw_only=True)
class SearchSettings:
    """How Glob and Grep search.

    `engine` is `auto` (ripgrep where there is one, else the slower engine in Python) or `python`.
    `rg_path` is the path of the ripgrep to use; without it PATH is searched, then the folder of
    this Python's scripts. `timeout_s` is the limit in seconds of one search.
    """

    engine: Literal["auto", "python"] = field(default="auto", validator=in_(("auto", "python")))
    rg_path: str | None = None
    timeout_s: float = field(default=20.0, validator=_positive)
