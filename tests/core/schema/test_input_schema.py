"""An input class gives the draft-7 schema of what a caller may send."""

from __future__ import annotations

import enum
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NewType, Optional, TypeVar

import attrs
import pytest
from annotated_types import Ge, Gt, Interval, Len, Lt, MaxLen, MinLen, MultipleOf, Predicate
from jsonschema import Draft7Validator  # type: ignore[import-untyped]
from typing_extensions import Doc, TypeAliasType

from toolcrib.schema import Alias, Nullable, SchemaError, input_schema


class Mode(enum.Enum):
    FAST = "fast"
    SAFE = "safe"


@attrs.frozen
class Item:
    text: Annotated[str, MinLen(1), Doc("Words.")]
    mode: Mode = Mode.FAST


@attrs.frozen
class Node:
    name: str
    children: list[Node] = attrs.Factory(list)


Names = TypeAliasType("Names", list[str])
UserId = NewType("UserId", int)

ITEM = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 1, "description": "Words."},
        "mode": {"type": "string", "enum": ["fast", "safe"], "default": "fast"},
    },
    "required": ["text"],
    "additionalProperties": False,
}


def property_schema(annotation: Any, **field: Any) -> Any:
    cls = attrs.make_class("Input", {"value": attrs.field(type=annotation, **field)})
    schema = input_schema(cls)
    Draft7Validator.check_schema(schema)
    return schema["properties"]["value"]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, {"type": "string"}),
        (float, {"type": "number"}),
        (None | bool, {"anyOf": [{"type": "null"}, {"type": "boolean"}]}),
        (Any, {}),
        (object, {}),
        (str | Any, {}),
        (str | int, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Mode, {"type": "string", "enum": ["fast", "safe"]}),
        (Item, ITEM),
        (UserId, {"type": "integer"}),
        (Names, {"type": "array", "items": {"type": "string"}}),
        (list, {"type": "array"}),
        (list[Item], {"type": "array", "items": ITEM}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (tuple[str, ...], {"type": "array", "items": {"type": "string"}}),
        (
            tuple[int, str],
            {
                "type": "array",
                "items": [{"type": "integer"}, {"type": "string"}],
                "additionalItems": False,
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (dict, {"type": "object", "additionalProperties": True}),
        (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (
            dict[Literal["a"], Any],
            {
                "type": "object",
                "additionalProperties": True,
                "propertyNames": {"type": "string", "enum": ["a"]},
            },
        ),
        (Annotated[int, Ge(1)], {"type": "integer", "minimum": 1}),
        (
            Annotated[int, Interval(gt=1, le=5)],
            {"type": "integer", "exclusiveMinimum": 1, "maximum": 5},
        ),
        (
            Annotated[float, Lt(1), MultipleOf(0.5)],
            {"type": "number", "exclusiveMaximum": 1, "multipleOf": 0.5},
        ),
        (Annotated[str, Len(1, 3)], {"type": "string", "minLength": 1, "maxLength": 3}),
        (Annotated[list[Any], MaxLen(2)], {"type": "array", "maxItems": 2}),
        (
            Annotated[dict[str, Any], MinLen(1)],
            {"type": "object", "additionalProperties": True, "minProperties": 1},
        ),
        (Annotated[str, re.compile("^a")], {"type": "string", "pattern": "^a"}),
        (
            Annotated[str | int, Gt(0), Doc("d")],
            {
                "anyOf": [{"type": "string"}, {"type": "integer", "exclusiveMinimum": 0}],
                "description": "d",
            },
        ),
        (
            list[Annotated[int, Ge(1)]],
            {"type": "array", "items": {"type": "integer", "minimum": 1}},
        ),
    ],
    ids=str,
)
def test_annotations_have_their_schema(annotation: Any, expected: Any) -> None:
    assert property_schema(annotation) == expected


def test_an_input_class_gives_a_closed_object_in_the_order_of_its_fields() -> None:
    @attrs.frozen(kw_only=True)
    class Input:
        path: Annotated[str, Doc("A path.")]
        ignore_case: Annotated[bool, Alias("-i")] = False
        _hidden: int = 1
        derived: int = attrs.field(init=False, default=3)

    schema = input_schema(Input)
    assert schema == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "A path."},
            "-i": {"type": "boolean", "default": False},
            "hidden": {"type": "integer", "default": 1},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    assert list(schema["properties"]) == ["path", "-i", "hidden"]


@pytest.mark.parametrize(
    ("annotation", "default", "expected"),
    [
        (int | None, None, {"type": "integer"}),
        (Optional[int], None, {"type": "integer"}),  # noqa: UP045
        (
            Annotated[int, Ge(1), Doc("d")] | None,
            None,
            {"type": "integer", "minimum": 1, "description": "d"},
        ),
        (Annotated[int | None, Ge(1)], None, {"type": "integer", "minimum": 1}),
        (int | str | None, None, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (
            Annotated[int | None, Nullable()],
            None,
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        ),
        (int | None, 1, {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 1}),
    ],
    ids=str,
)
def test_null_is_accepted_only_where_it_differs_from_leaving_out(
    annotation: Any, default: Any, expected: Any
) -> None:
    assert property_schema(annotation, default=default) == expected


@pytest.mark.parametrize(
    ("annotation", "default", "shown"),
    [
        (Mode, Mode.SAFE, "safe"),
        (tuple[int, ...], (1, 2), [1, 2]),
        (list[int], attrs.Factory(list), []),
    ],
    ids=str,
)
def test_defaults_are_shown_as_json(annotation: Any, default: Any, shown: Any) -> None:
    assert property_schema(annotation, default=default)["default"] == shown


@pytest.mark.parametrize("default", [float("inf"), frozenset({1}), attrs.Factory(object)], ids=str)
def test_a_default_that_json_cannot_say_is_left_out(default: Any) -> None:
    assert "default" not in property_schema(Any, default=default)


def test_recursive_classes_refer_to_themselves() -> None:
    root = input_schema(Node)
    assert root["properties"]["children"]["items"] == {"$ref": "#"}
    Draft7Validator(root).validate({"name": "a", "children": [{"name": "b"}]})
    assert not Draft7Validator(root).is_valid({"name": "a", "children": [{"nam": "b"}]})


def test_nested_recursive_classes_become_definitions() -> None:
    annotation: Any = Annotated[Node, Doc("d")]
    cls = attrs.make_class("Input", {"tree": attrs.field(type=annotation)})
    schema = input_schema(cls)
    Draft7Validator.check_schema(schema)
    assert schema["properties"]["tree"]["description"] == "d"
    assert set(schema["definitions"]) == {"Node"}
    accepts = Draft7Validator(schema).is_valid
    assert accepts({"tree": {"name": "a", "children": [{"name": "b"}]}})
    assert not accepts({"tree": {"name": "a", "children": [{"name": 1}]}})


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the type statement is new in 3.12")
def test_recursive_aliases_become_definitions() -> None:
    names: dict[str, Any] = {}
    exec("type Tree = int | list[Tree]", names)
    schema = input_schema(attrs.make_class("Input", {"tree": attrs.field(type=names["Tree"])}))
    assert Draft7Validator(schema).is_valid({"tree": [1, [2, []]]})
    assert not Draft7Validator(schema).is_valid({"tree": [["x"]]})


def test_recursive_classes_of_the_same_name_keep_apart() -> None:
    other = attrs.make_class("Node", {"next": attrs.field(type=Any)})
    other.__annotations__["next"] = Optional[other]  # noqa: UP045
    cls = attrs.make_class("Input", {"a": attrs.field(type=Node), "b": attrs.field(type=other)})
    schema = input_schema(cls)
    assert schema["properties"]["a"] != schema["properties"]["b"]
    assert len(schema["definitions"]) == 2


@pytest.mark.parametrize(
    "annotation",
    [
        bytes,
        complex,
        dict[int, str],
        TypeVar("T"),
        Annotated[str, Ge(1)],
        Annotated[int, MinLen(1)],
        Annotated[str, Predicate(str.islower)],
        Literal[b"x"],
    ],
    ids=str,
)
def test_what_has_no_schema_names_class_field_and_annotation(annotation: Any) -> None:
    with pytest.raises(SchemaError, match=r"Input\.value"):
        property_schema(annotation)


def test_names_that_cannot_be_resolved_and_fields_without_type_are_told() -> None:
    with pytest.raises(SchemaError, match="Missing"):
        property_schema("list[Missing]")
    with pytest.raises(SchemaError, match="value"):
        property_schema(None)
    with pytest.raises(SchemaError, match="attrs"):
        input_schema(int)


def test_two_fields_with_one_property_name_are_refused() -> None:
    same = Annotated[int, Alias("a")]
    cls = attrs.make_class("Input", {"a": attrs.field(type=int), "b": attrs.field(type=same)})
    with pytest.raises(SchemaError, match="property name"):
        input_schema(cls)


def test_deriving_a_schema_does_not_import_what_only_calls_need() -> None:
    code = (
        "import sys, attrs, toolcrib.schema as s\n"
        "@attrs.frozen\nclass A:\n    a: int = 1\n"
        "s.input_schema(A)\n"
        "print([name for name in ('cattrs', 'jsonschema', 'jsonschema_rs') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
