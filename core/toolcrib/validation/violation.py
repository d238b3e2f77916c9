"""One error of a rejected call, with what it says about the schema and the arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jsonschema_rs
from attrs import frozen

from toolcrib.redaction import is_secret
from toolcrib.validation.shown import show


@frozen
class Violation:
    """An error beside the schema and the arguments that it is about."""

    error: jsonschema_rs.ValidationError
    schema: Any
    data: Any

    @property
    def keyword(self) -> str:
        """The keyword of the schema that was violated."""
        return self.error.kind.name

    @property
    def kind(self) -> Any:
        """The details, whose attributes differ by keyword."""
        return self.error.kind

    @property
    def path(self) -> tuple[str | int, ...]:
        """The way from the arguments to the value."""
        return tuple(self.error.instance_path)

    @property
    def place(self) -> str:
        """The path as text, for the beginning of a sentence."""
        return joined(self.path) or "the arguments"

    @property
    def value(self) -> Any:
        """The value itself; the error has a copy, in which numbers may have become null."""
        return _follow(self.data, self.path)

    @property
    def given(self) -> str:
        """The value for people to read, if they may."""
        if any(isinstance(step, str) and is_secret(step) for step in self.path):
            return "a secret value"
        return show(self.value)

    @property
    def rule(self) -> Any:
        """What the keyword is set to."""
        return _follow(self.schema, self.error.schema_path)

    @property
    def node(self) -> Mapping[str, Any]:
        """The object of the schema in which the keyword stands."""
        node = _follow(self.schema, self.error.schema_path[:-1])
        return node if isinstance(node, Mapping) else {}


def joined(path: Iterable[str | int]) -> str:
    """Write a path as in `items[0].name`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def _follow(document: Any, path: Iterable[str | int]) -> Any:
    for step in path:
        try:
            document = document[step]
        except (LookupError, TypeError):
            return None  # Behind a reference the schema's path need not lead anywhere.
    return document
