"""The rules that providers which accept little of JSON Schema differ in."""

from __future__ import annotations

import re

from attrs import frozen


@frozen
class Rules:
    """What a provider accepts.

    Attributes:
        limits: the limits that may be said, by type.
        formats: the values of `format`, by type.
        closed: every object lists all its properties as required and allows no others.
        text_only: values of an enum are texts that are not empty.
        union_alone: nothing may stand beside `anyOf`.
        nullable: null is accepted by the keyword `nullable`, not as a type.
        references: definitions may refer to themselves.
        property_name: the pattern of names of properties.
    """

    limits: dict[str, frozenset[str]]
    formats: dict[str, frozenset[str]]
    closed: bool = False
    text_only: bool = False
    union_alone: bool = False
    nullable: bool = False
    references: bool = False
    property_name: re.Pattern[str] | None = None
    max_depth: int = 10
    max_properties: int = 5_000
    max_enum_values: int = 1_000
    max_chars: int = 120_000
