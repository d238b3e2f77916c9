"""Arguments that passed their schema become instances of the input class."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import attrs
import pytest
from annotated_types import Ge, MinLen
from typing_extensions import Doc

from toolcrib.schema import Alias, InvalidArguments, Nullable, structure, structurer


class Mode(enum.Enum):
    FAST = "fast"
    SAFE = "safe"


@attrs.frozen
class Item:
    text: str
    mode: Mode = Mode.FAST


@attrs.frozen
class Node:
    name: str
    children: list[Node] = attrs.Factory(list)


@attrs.frozen(kw_only=True)
class Input:
    path: str
    ignore_case: Annotated[bool, Alias("-i"), Doc("Case.")] = False
    count: Annotated[int | None, Ge(1)] = None
    ratio: float = 1.0
    items: list[Item] = attrs.Factory(list)
    tree: Node | None = None
    some: str | int | list[str] | Item | Node | None = None
    kind: Literal["x", "y"] = "x"
    env: Mapping[str, int] = attrs.Factory(dict)
    anything: Any = None
    pair: Annotated[tuple[int, float] | None, Nullable()] = None

    def __attrs_post_init__(self) -> None:
        if self.count == 13:
            raise ValueError("count must not be 13")


def test_properties_become_attributes() -> None:
    data = {
        "path": "a",
        "-i": True,
        "items": [{"text": "t", "mode": "safe"}],
        "tree": {"name": "r", "children": [{"name": "c"}]},
        "env": {"a": 1},
        "anything": {"b": [1]},
        "pair": [1, 2],
    }
    assert structure(Input, data) == Input(
        path="a",
        ignore_case=True,
        items=[Item("t", Mode.SAFE)],
        tree=Node("r", [Node("c")]),
        env={"a": 1},
        anything={"b": [1]},
        pair=(1, 2.0),
    )


def test_integral_floats_become_integers_where_integers_are_wanted() -> None:
    made = structure(Input, {"path": "a", "count": 2.0, "ratio": 2, "some": 3.0, "pair": [1.0, 2]})
    assert made.pair is not None
    kinds = [type(value) for value in (made.count, made.ratio, made.some, made.pair[0])]
    assert kinds == [int, float, int, int]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("x", "x"),
        (1, 1),
        (["a"], ["a"]),
        ({"text": "t"}, Item("t")),
        ({"name": "n", "children": [{"name": "c"}]}, Node("n", [Node("c")])),
        (None, None),
    ],
    ids=repr,
)
def test_a_union_takes_the_alternative_that_accepts_the_value(given: Any, expected: Any) -> None:
    assert structure(Input, {"path": "a", "some": given}).some == expected


def test_checks_across_fields_come_back_with_their_message_only() -> None:
    with pytest.raises(InvalidArguments) as caught:
        structure(Input, {"path": "a", "count": 13})
    assert str(caught.value) == "count must not be 13"


def test_the_validators_of_attrs_come_back_with_their_message_only() -> None:
    @attrs.frozen
    class Checked:
        size: int = attrs.field(validator=attrs.validators.in_([1, 2]))

    with pytest.raises(InvalidArguments) as caught:
        structure(Checked, {"size": 3})
    assert "'size' must be in [1, 2]" in str(caught.value)
    assert "Attribute(" not in str(caught.value)


def test_a_number_too_large_for_a_float_is_the_models_error() -> None:
    with pytest.raises(InvalidArguments):
        structure(Input, {"path": "a", "ratio": 10**400})


def test_a_function_per_class_makes_fresh_instances() -> None:
    make = structurer(Input)
    first, second = make({"path": "a"}), make({"path": "a"})
    assert first == second
    assert first.items is not second.items


def test_half_a_surrogate_pair_is_named() -> None:
    """The schemas of alternatives refuse it before any of them is taken."""

    @attrs.frozen
    class Either:
        glob: Annotated[str, MinLen(1)] | list[str]

    with pytest.raises(InvalidArguments, match="surrogate"):
        structure(Either, {"glob": "a\ud800"})
