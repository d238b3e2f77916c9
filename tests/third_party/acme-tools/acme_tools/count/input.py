"""The arguments of AcmeCount."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import MinLen
from attrs import frozen
from typing_extensions import Doc


@frozen(kw_only=True)
class AcmeCountInput:
    """Which file to look at, and what to count in it."""

    path: Annotated[str, MinLen(1), Doc("Path of a text file.")]
    unit: Annotated[Literal["lines", "words"], Doc("What to count.")] = "lines"
