"""What `compile_schema` makes of particular schemas, and what it says about the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcrib.dialects import DIALECTS, Dialect, UnusableSchema, compile_schema

BELOW_PROTOCOL = [dialect for dialect in DIALECTS if dialect != "mcp"]


def with_property(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"v": schema}, "required": ["v"], **more}


def compiled(schema: Any, dialect: Dialect) -> Any:
    made: dict[str, Any] = compile_schema(with_property(schema), dialect).schema
    return made["properties"]["v"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "schema",
    [None, "string", 7, [], False, {"type": "string"}, {"type": ["null", "string"]},
     {"allOf": [{"type": "object"}, {"type": "array"}]}, {"enum": ["a", 1]}],
)  # fmt: skip
def test_what_no_object_can_fit_is_refused(schema: Any, dialect: Dialect) -> None:
    with pytest.raises(UnusableSchema):
        compile_schema(schema, dialect)
    with pytest.raises(ValueError):
        compile_schema(schema, dialect)


def test_an_unknown_dialect_is_named() -> None:
    with pytest.raises(ValueError, match="klingon"):
        compile_schema({}, "klingon")  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_null_for_an_optional_property_is_dropped_where_null_is_refused(
    dialect: Dialect,
) -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": ["string", "null"]},
            "c": {"type": "object", "properties": {"d": {"type": "integer"}}},
        },
    }
    restore = compile_schema(schema, dialect).restore
    assert restore({"a": None, "b": None, "c": {"d": None}}) == {"b": None, "c": {}}
    given = {"a": "x", "b": "y", "c": {"d": 1}}
    assert restore(given) == given


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_null_for_a_needed_property_stays_for_the_validation(dialect: Dialect) -> None:
    schema = with_property({"type": "string"})
    assert compile_schema(schema, dialect).restore({"v": None}) == {"v": None}


_NESTED: dict[str, Any] = {
    "type": "object",
    "required": ["need"],
    "properties": {
        "a": {"type": "string"},
        "b": {"type": ["string", "null"]},
        "c": {"$ref": "#/$defs/inner"},
        "e": {"enum": ["x", None]},
        "f": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "g": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/inner"}]},
        "h": {},
        "need": {"type": "string"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/inner"}},
    },
    "$defs": {
        "inner": {
            "type": "object",
            "properties": {"d": {"type": "integer"}, "again": {"$ref": "#/$defs/inner"}},
        }
    },
}


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"a": None, "b": None, "c": {"d": None}}, {"b": None, "c": {}}),
        ({"e": None, "f": None, "h": None}, {"e": None, "f": None, "h": None}),
        ({"g": None, "need": None, "unknown": None}, {"need": None, "unknown": None}),
        ({"items": [{"d": None}, None, {"d": 1}]}, {"items": [{}, None, {"d": 1}]}),
        ({"c": {"again": {"again": {"d": None}}}}, {"c": {"again": {"again": {}}}}),
        ({"g": {"d": None}}, {"g": {}}),
    ],
)
def test_nulls_go_at_every_depth_where_nothing_allows_them(given: Any, left: Any) -> None:
    assert compile_schema(_NESTED, "mcp").restore(given) == left


def test_nulls_below_references_in_circles() -> None:
    loop = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    assert compile_schema(loop, "mcp").restore({"x": None}) == {"x": None}
    both = {"allOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"x": {"type": "string"}}}
    assert compile_schema(both, "mcp").restore({"x": None}) == {}


def test_nullable_of_openapi_is_shown_but_not_insisted_on() -> None:
    schema = {"type": "string", "nullable": True}
    assert compiled(schema, "gemini")["nullable"] is True
    assert compiled(schema, "anthropic")["type"] == ["null", "string"]
    optional = {"type": "object", "properties": {"v": schema}}
    assert compile_schema(optional, "gemini").restore({"v": None}) == {}


@pytest.mark.parametrize("dialect", ["openai-strict", "gemini"])
@pytest.mark.parametrize("text", ['{"a": [1, null]}', "7", '"x"', "null", "plain", "NaN", "{"])
def test_any_value_is_given_as_json_text(dialect: Dialect, text: str) -> None:
    made = compile_schema(with_property({}), dialect)
    assert made.schema["properties"]["v"]["type"] == "string"
    try:
        meant = json.loads(text, parse_constant=lambda constant: constant)
    except ValueError:
        meant = text
    assert made.restore({"v": text}) == {"v": meant}


@pytest.mark.parametrize("dialect", ["openai-strict", "gemini"])
def test_a_map_is_given_as_pairs_and_taken_as_a_map_too(dialect: Dialect) -> None:
    made = compile_schema(with_property({"additionalProperties": {"type": "integer"}}), dialect)
    pairs = [{"key": "a", "value": 1}, {"key": "b", "value": 2}]
    assert made.restore({"v": pairs}) == {"v": {"a": 1, "b": 2}}
    assert made.restore({"v": {"a": 1}}) == {"v": {"a": 1}}
    assert made.restore({"v": [1]}) == {"v": [1]}


def test_values_that_gemini_takes_as_texts_only_come_back() -> None:
    made = compile_schema(with_property({"enum": [1, "1", "", True, None]}), "gemini")
    shown = made.schema["properties"]["v"]
    options = [shown] if "enum" in shown else shown["anyOf"]
    texts = [text for option in options for text in option["enum"]]
    assert all(texts) and len(texts) == len(set(texts))
    back = [made.restore({"v": text})["v"] for text in texts]
    assert sorted(map(repr, back)) == sorted(map(repr, [1, "1", "", True]))


def test_names_that_a_provider_refuses_are_changed_and_come_back() -> None:
    schema = {
        "type": "object",
        "properties": {"filter[a]": {"type": "string"}, "filter(a)": {"type": "string"}},
        "required": ["filter[a]"],
    }
    for dialect in ("anthropic", "gemini"):
        made = compile_schema(schema, dialect)
        first, second = made.schema["properties"]
        assert made.schema["required"] == [first]
        assert made.restore({first: "x", second: "y"}) == {"filter[a]": "x", "filter(a)": "y"}


RECURSIVE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/Node"}},
    "required": ["tree"],
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}


@pytest.mark.parametrize("dialect", ["openai", "openai-strict", "anthropic", "mcp"])
def test_recursion_is_kept_where_it_may_be(dialect: Dialect) -> None:
    made = compile_schema(RECURSIVE, dialect)
    assert made.losses == ()
    assert made.schema["properties"]["tree"] == {"$ref": "#/$defs/Node"}
    assert made.restore({"tree": {"kids": [{"kids": None}]}}) == {"tree": {"kids": [{}]}}


def test_recursion_is_cut_with_a_loss_where_it_may_not_be() -> None:
    made = compile_schema(RECURSIVE, "gemini")
    assert [loss.keyword for loss in made.losses] == ["$ref"]
    assert "$ref" not in json.dumps(made.schema)
    written = {"tree": {"kids": ['{"kids": [{}]}']}}
    assert made.restore(written) == {"tree": {"kids": [{"kids": [{}]}]}}


@pytest.mark.parametrize("dialect", BELOW_PROTOCOL)
def test_a_reference_out_of_the_schema_is_open_and_named(dialect: Dialect) -> None:
    made = compile_schema(with_property({"$ref": "https://example.com/x.json"}), dialect)
    (loss,) = [loss for loss in made.losses if loss.keyword == "$ref"]
    assert loss.pointer == "/properties/v" and "example.com" in loss.text


def test_a_loss_says_where_and_what() -> None:
    made = compile_schema(with_property({"type": "string", "minLength": 3}), "openai-strict")
    (loss,) = [loss for loss in made.losses if loss.keyword == "minLength"]
    assert (loss.pointer, loss.narrows) == ("/properties/v", False)
    assert "3" in made.schema["properties"]["v"]["description"]
    assert str(loss).startswith("#/properties/v: minLength: ")


def test_what_only_the_original_refuses_is_no_narrowing_and_what_it_takes_is_one() -> None:
    def narrows(schema: Any) -> bool:
        return any(loss.narrows for loss in compile_schema(schema, "openai-strict").losses)

    assert narrows(with_property({"type": "string"}))
    assert not narrows(with_property({"type": "string"}, additionalProperties=False))


def test_a_root_of_alternatives_becomes_one_object() -> None:
    schema = {
        "oneOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}},
        ]
    }
    for dialect in BELOW_PROTOCOL:
        made = compile_schema(schema, dialect)
        assert set(made.schema["properties"]) == {"a", "b"}
        assert not {"oneOf", "anyOf"} & set(made.schema)
        assert "oneOf" in {loss.keyword for loss in made.losses}


@pytest.mark.parametrize("dialect", BELOW_PROTOCOL)
def test_the_order_of_keywords_in_the_original_does_not_matter(dialect: Dialect) -> None:
    schema = {"description": "d", "minLength": 1, "type": "string", "maxLength": 9, "title": "t"}
    turned = dict(reversed(schema.items()))
    one = compile_schema(with_property(schema), dialect).schema
    other = compile_schema(dict(reversed(with_property(turned).items())), dialect).schema
    assert json.dumps(one) == json.dumps(other)


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


def doubling(levels: int, keyword: str) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        f"d{level}": {keyword: [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(levels)
    }
    definitions[f"d{levels}"] = {"type": "object", "properties": {"q": {"type": "string"}}}
    return with_property({"$ref": "#/$defs/d0"}, **{"$defs": definitions})


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "schema",
    [
        nested(3000),
        doubling(40, "anyOf"),
        doubling(40, "allOf"),
        {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(6000)}},
        with_property({"enum": list(range(20_000))}),
    ],
    ids=["deep", "doubling-any", "doubling-all", "wide", "long-enum"],
)
def test_huge_schemas_are_bounded(schema: Any, dialect: Dialect, checkers: Any) -> None:
    made = compile_schema(schema, dialect)
    assert list(checkers.CHECKERS[dialect](made.schema)) == []
    assert len(json.dumps(made.schema)) < 500_000


def test_all_arguments_of_too_many_come_back_from_one_text() -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(6000)}}
    made = compile_schema(schema, "openai-strict")
    assert made.restore({"arguments": '{"p1": "x"}'}) == {"p1": "x"}
    assert made.restore({"arguments": "["}) == {"arguments": "["}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_senseless_arguments_come_back_as_they_are(dialect: Dialect) -> None:
    schema = with_property({"anyOf": [{"type": "array", "items": {"enum": [1]}}, {"type": "null"}]})
    restore = compile_schema(schema, dialect).restore
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    for arguments in ({}, {"v": {"x": None}}, {"w": None, "v": "["}, {"v": deep}):
        assert restore(arguments) == arguments


def test_the_protocol_gets_the_original_unless_its_root_is_wrong() -> None:
    original = with_property({"type": "string", "x-y": 1}, **{"$schema": "x", "minProperties": 1})
    assert compile_schema(original, "mcp").schema == original
    broken = {"properties": [], "required": "v", "x": 1}
    made = compile_schema(broken, "mcp")
    assert made.schema == {"type": "object", "properties": {}, "required": ["v"], "x": 1}
    assert {loss.keyword for loss in made.losses} == {"properties", "required"}


def test_two_groups_of_alternatives_are_both_kept() -> None:
    nullable = {"type": "string", "nullable": True}
    schema = {"anyOf": [{"minLength": 1}, {"maxLength": 5}], "oneOf": [nullable, {"type": "null"}]}
    written = compiled(schema, "anthropic")
    assert len(written["anyOf"]) == 2 and len(written["allOf"][0]["anyOf"]) == 2
