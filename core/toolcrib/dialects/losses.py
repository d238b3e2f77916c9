"""What a compiled schema gave up, and what cannot be compiled at all."""

from __future__ import annotations

from attrs import Factory, define, frozen

from toolcrib.errors import ToolcribError


class UnusableSchema(ToolcribError, ValueError):
    """A schema that no arguments of a tool can fit; who wrote the tool acts on it."""


@frozen
class Loss:
    """One thing that the original says and the compiled schema does not.

    Attributes:
        pointer: the JSON pointer (RFC 6901) of the schema in the original; empty for the whole.
        keyword: the keyword that is given up.
        text: what became of it, for people.
        narrows: whether the model can no longer say something that the original accepts; without
            it the compiled schema accepts more than the original, whose check comes later.
    """

    pointer: str
    keyword: str
    text: str
    narrows: bool = False

    def __str__(self) -> str:
        return f"#{self.pointer}: {self.keyword}: {self.text}"


@define
class Losses:
    """The losses of one compilation, each once: what is referred to twice is compiled twice."""

    _found: dict[Loss, None] = Factory(dict)

    def add(self, pointer: str, keyword: str, text: str, *, narrows: bool = False) -> None:
        self._found[Loss(pointer, keyword, text, narrows)] = None

    def all(self) -> tuple[Loss, ...]:
        return tuple(self._found)
