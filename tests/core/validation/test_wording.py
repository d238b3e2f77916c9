"""A rejected call tells the model every problem: the place, what was given, what is expected."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from toolcrib.validation import validate_args

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "timeout": {
            "type": "number",
            "minimum": 1,
            "maximum": 600,
            "description": "Seconds until the command is stopped.",
        },
        "items": {
            "type": "array",
            "items": {"type": "object", "required": ["text"], "additionalProperties": False},
        },
        "mode": {"enum": ["fast", "safe"]},
        "api_key": {"type": "string", "minLength": 40},
    },
    "required": ["path", "mode"],
    "additionalProperties": False,
}


def complaint(data: Any, schema: Any = SCHEMA) -> str:
    error = validate_args(schema, data)
    assert error is not None
    return error


def about(value: Any, **rules: Any) -> str:
    return complaint({"value": value}, {"properties": {"value": rules}})


def test_everything_missing_is_named_at_once() -> None:
    assert "'path', 'mode'" in complaint({})


def test_what_is_missing_inside_is_told_with_its_place() -> None:
    error = complaint({"path": "a", "mode": "fast", "items": [{"text": 1}, {}]})
    assert "items[1]" in error
    assert "'text'" in error


def test_an_unknown_property_gets_a_suggestion_and_the_list() -> None:
    error = complaint({"path": "a", "mode": "fast", "tiemout": 5})
    assert "'tiemout'" in error
    assert "did you mean 'timeout'?" in error
    assert "'api_key'" in error


def test_problems_are_joined() -> None:
    error = complaint({"path": 1, "mode": "slow", "timeout": 0})
    assert {part.split()[0] for part in error.split("; ")} == {"path", "mode", "timeout"}


def test_a_number_out_of_range_is_told_both_bounds_and_the_unit() -> None:
    error = complaint({"path": "a", "mode": "fast", "timeout": 120000})
    for part in ("timeout", "1", "600", "120000", "Seconds"):
        assert part in error


@pytest.mark.parametrize(
    ("rules", "value", "told"),
    [
        ({"type": "string"}, ["a.txt"], ["value", "string", '["a.txt"]']),
        ({"type": ["integer", "null"]}, "5", ["integer", "null", '"5"']),
        ({"type": "integer"}, True, ["integer", "true"]),
        ({"enum": ["a", 1]}, "c", ['"a"', "1", '"c"']),
        ({"const": False}, 0, ["false", "0"]),
        ({"exclusiveMinimum": 0}, 0, ["above 0"]),
        ({"multipleOf": 5}, 7, ["5", "7"]),
        ({"minLength": 1}, "", ["1 character"]),
        ({"maxLength": 2}, "abc", ["2 characters", "3"]),
        ({"minItems": 1}, [], ["1 item"]),
        ({"maxItems": 2}, [1, 2, 3], ["2 items", "3"]),
        ({"minProperties": 1}, {}, ["1 property"]),
        ({"maxProperties": 1}, {"a": 1, "b": 2}, ["1 property", "2"]),
        ({"pattern": "^a+$"}, "b", ["^a+$", '"b"']),
        ({"format": "uri"}, "b", ["uri", '"b"']),
        ({"uniqueItems": True}, [1, 1], ["[1, 1]"]),
        ({"contains": {"const": 7}}, [1], ["contains", "7", "[1]"]),
        ({"not": {"type": "string"}}, "a", ["not", "string"]),
        ({"propertyNames": {"pattern": "^z"}}, {"a": 1}, ["value", '"a"', "^z"]),
        ({"properties": {"a": False}}, {"a": 1}, ["value.a"]),
        ({"items": [True], "additionalItems": False}, [1, 2], ["value"]),
        ({"dependencies": {"a": ["b"]}}, {"a": 1}, ["'a'", "'b'"]),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, ["'a'", "'b'"]),
        ({"unevaluatedProperties": False}, {"a": 1}, ["'a'"]),
        ({"if": True, "then": {"required": ["x"]}}, {}, ["'x'"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_each_kind_of_error_tells_place_value_and_rule(
    rules: dict[str, Any], value: Any, told: list[str]
) -> None:
    error = about(value, **rules)
    assert "value" in error
    for part in told:
        assert part in error


def test_the_flags_of_draft_4_say_how_a_bound_is_meant() -> None:
    property_ = {"minimum": 3, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False}
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"n": property_}}
    error = validate_args(schema, {"n": 3})
    assert error is not None and "above 3 and at most 9" in error


TAGGED: dict[str, Any] = {
    "oneOf": [
        {"type": "null"},
        {"properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["n"]},
        {
            "properties": {"kind": {"const": "b"}, "text": {"type": "string"}},
            "required": ["text", "more", "most"],
        },
    ]
}


class TestAlternatives:
    def test_where_only_types_differ_all_are_told(self) -> None:
        error = about({}, anyOf=[{"type": "string"}, {"type": "integer"}])
        assert "string or integer" in error

    def test_the_alternative_of_the_type_is_nearest(self) -> None:
        error = about(0, anyOf=[{"type": "string"}, {"type": "integer", "minimum": 1}])
        assert "at least 1" in error
        assert "string" not in error

    def test_the_alternative_of_the_tag_is_nearest(self) -> None:
        error = about({"kind": "b", "text": 5}, **TAGGED)
        assert "value.text" in error
        assert "'more', 'most'" in error
        assert "'n'" not in error

    def test_too_many_fitting_alternatives_are_numbered(self) -> None:
        assert "1, 2" in about(5, oneOf=[{"type": "integer"}, {"minimum": 1}])


class TestSize:
    def test_long_values_are_shortened(self) -> None:
        error = about(["x" * 100_000, {"y": ["z"] * 100_000}], type="string")
        assert len(error) < 200

    def test_deep_values_are_shortened(self) -> None:
        deep: Any = 1
        for _ in range(90):
            deep = [deep]
        assert len(about(deep, type="string")) < 200

    def test_many_errors_are_counted(self) -> None:
        error = complaint(list(range(100)), {"items": {"type": "string"}})
        assert "[19]" in error
        assert "[20]" not in error
        assert "80 more" in error

    def test_a_long_list_tells_its_first_error(self) -> None:
        error = complaint(list(range(100_000)), {"items": {"type": "string"}})
        assert error.startswith("[0]")
        assert len(error) < 200


class TestSecrets:
    @pytest.mark.parametrize(
        "name", ["password", "apiKey", "api_key", "AUTH_TOKEN", "clientSecret"]
    )
    @pytest.mark.parametrize(
        "rules",
        [
            {"type": "integer"},
            {"maxLength": 1},
            {"pattern": "^z"},
            {"enum": ["a"]},
            {"not": {}},
            {"anyOf": [{"type": "integer"}, {"maxLength": 1}]},
        ],
        ids=str,
    )
    def test_the_value_of_a_secret_is_not_told(self, name: str, rules: dict[str, Any]) -> None:
        error = complaint({name: "hunter2"}, {"properties": {name: rules}})
        assert name in error
        assert "hunter2" not in error

    def test_nor_is_one_inside_a_value(self) -> None:
        each: list[dict[str, Any]] = [{"type": "string"}, {"not": {}}, {"contains": {"const": 1}}]
        for rules in each:
            error = about([{"user": "me", "password": "hunter2"}], **rules)
            assert "me" in error
            assert "hunter2" not in error

    def test_a_number_of_tokens_is_no_secret(self) -> None:
        assert "-5" in complaint({"max_tokens": -5}, {"properties": {"max_tokens": {"minimum": 1}}})


def test_common_rejections_do_not_import_jsonschema() -> None:
    code = (
        "import sys\nfrom toolcrib.validation import validate_args\n"
        "assert validate_args({'anyOf': [{'type': 'string'}, {'minimum': 5}]}, 1)\n"
        "print('jsonschema' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
