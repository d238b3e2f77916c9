"""Generated input classes: valid instances pass the schema and come back equal, others do not."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

import attrs
from annotated_types import Ge, Interval, Len, MaxLen
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator  # type: ignore[import-untyped]
from typing_extensions import Doc

from toolcrib.schema import Alias, input_schema, structure
from toolcrib.validation import ArgumentValidator


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen(kw_only=True)
class Kind:
    """A type, its values as Python and JSON, and JSON that is none of its values."""

    annotation: Any
    values: st.SearchStrategy[tuple[Any, Any]]
    wrong: Any


def plain(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    return values.map(lambda value: (value, value))


INTEGERS = st.integers(min_value=-(2**53), max_value=2**53)
SCALARS = [
    Kind(annotation=str, values=plain(st.text(max_size=5)), wrong=1),
    Kind(annotation=bool, values=plain(st.booleans()), wrong="true"),
    Kind(annotation=int, values=INTEGERS.map(lambda n: (n, n)), wrong="1"),
    Kind(annotation=int, values=st.integers(-99, 99).map(lambda n: (n, float(n))), wrong=1.5),
    Kind(annotation=float, values=st.floats(-9, 9).map(lambda n: (n, n)), wrong=None),
    Kind(annotation=Annotated[int, Ge(1)], values=plain(st.integers(1, 9)), wrong=0),
    Kind(
        annotation=Annotated[float, Interval(gt=0, le=2)], values=plain(st.floats(0.1, 2)), wrong=0
    ),
    Kind(
        annotation=Annotated[str, Len(1, 3), Doc("d")],
        values=plain(st.text(min_size=1, max_size=3)),
        wrong="",
    ),
    Kind(annotation=Literal["a", "b"], values=plain(st.sampled_from("ab")), wrong="c"),
    Kind(
        annotation=Colour,
        values=st.sampled_from(Colour).map(lambda colour: (colour, colour.value)),
        wrong="green",
    ),
    Kind(annotation=str | int, values=plain(st.text(max_size=3) | INTEGERS), wrong=[]),
]


def list_of(kind: Kind) -> Kind:
    return Kind(
        annotation=Annotated[list[kind.annotation], MaxLen(3)],  # type: ignore[name-defined]
        values=st.lists(kind.values, max_size=3).map(
            lambda pairs: ([value for value, _ in pairs], [data for _, data in pairs])
        ),
        wrong=[kind.wrong],
    )


def mapping_of(kind: Kind) -> Kind:
    return Kind(
        annotation=dict[str, kind.annotation],  # type: ignore[name-defined]
        values=st.dictionaries(st.text(max_size=3), kind.values, max_size=3).map(
            lambda pairs: (
                {name: value for name, (value, _) in pairs.items()},
                {name: data for name, (_, data) in pairs.items()},
            )
        ),
        wrong={"a": kind.wrong},
    )


def pair_of(kind: Kind) -> Kind:
    return Kind(
        annotation=tuple[kind.annotation, int],  # type: ignore[name-defined]
        values=kind.values.map(lambda pair: ((pair[0], 1), [pair[1], 1])),
        wrong=[kind.wrong, 1],
    )


def union_of(kind: Kind) -> Kind:
    lists = st.lists(st.booleans(), max_size=2).map(lambda value: (value, value))
    return Kind(annotation=kind.annotation | list[bool], values=kind.values | lists, wrong=[2])


def class_of(kinds: list[Kind]) -> Kind:
    """Every other field has an alias, every third is optional."""
    fields, names, strategies = {}, [], []
    for number, kind in enumerate(kinds):
        annotation, name = kind.annotation, f"field_{number}"
        names.append((name, f"-{number}" if number % 2 else name))
        if number % 2:
            annotation = Annotated[annotation, Alias(f"-{number}")]
        optional = number % 3 == 2
        if optional:
            annotation = annotation | None
            strategies.append(kind.values | st.just((None, None)))
        else:
            strategies.append(kind.values)
        default: dict[str, Any] = {"default": None} if optional else {}
        fields[name] = attrs.field(type=annotation, **default)
    cls = attrs.make_class("Generated", fields, kw_only=True, frozen=True)
    return Kind(
        annotation=cls,
        values=st.tuples(*strategies).map(lambda pairs: instance_of(cls, names, pairs)),
        wrong={names[0][1]: kinds[0].wrong},
    )


def instance_of(cls: type, names: list[tuple[str, str]], pairs: Any) -> tuple[Any, Any]:
    present = [
        (name, json_name, pair)
        for (name, json_name), pair in zip(names, pairs, strict=True)
        if pair != (None, None)
    ]
    return (
        cls(**{name: value for name, _, (value, _) in present}),
        {json_name: data for _, json_name, (_, data) in present},
    )


WRAPPERS: list[Callable[[Kind], Kind]] = [list_of, mapping_of, pair_of]
KINDS = st.recursive(
    st.sampled_from(SCALARS) | st.sampled_from(SCALARS[:5]).map(union_of),
    lambda inner: (
        st.tuples(st.sampled_from(WRAPPERS), inner).map(lambda pair: pair[0](pair[1]))
        | st.lists(inner, min_size=1, max_size=3).map(class_of)
    ),
    max_leaves=4,
)
CLASSES = st.lists(KINDS, min_size=1, max_size=4).map(class_of)


@settings(max_examples=150, deadline=None)
@given(CLASSES, st.data())
def test_valid_arguments_pass_and_come_back_as_the_instance(
    kind: Kind, data: st.DataObject
) -> None:
    schema = input_schema(kind.annotation)
    Draft7Validator.check_schema(schema)
    json.dumps(schema)
    check = ArgumentValidator(schema).check
    instance, arguments = data.draw(kind.values)
    assert check(arguments) is None
    assert Draft7Validator(schema).is_valid(arguments)
    assert structure(kind.annotation, arguments) == instance


@settings(max_examples=150, deadline=None)
@given(CLASSES, st.data())
def test_invalid_arguments_are_refused(kind: Kind, data: st.DataObject) -> None:
    schema = input_schema(kind.annotation)
    check = ArgumentValidator(schema).check
    _, arguments = data.draw(kind.values)
    (name, wrong) = next(iter(kind.wrong.items()))
    assert check({**arguments, name: wrong})
    assert "surplus" in (check({**arguments, "surplus": 1}) or "")
    for required in schema["required"]:
        without = {key: value for key, value in arguments.items() if key != required}
        assert repr(required) in (check(without) or "")
    for optional in schema["properties"].keys() - set(schema["required"]):
        assert check({**arguments, optional: None})
