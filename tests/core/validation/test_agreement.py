"""Our verdict is that of jsonschema, an independent implementation, on generated schemas."""

from __future__ import annotations

from typing import Any

from hypothesis import given, reject, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

from toolcrib.validation import ArgumentValidator

NAMES = st.sampled_from(["a", "b", "type", "-i"])
NUMBERS = st.integers(-5, 5) | st.sampled_from([0.5, 2.0, -1.5])
SCALARS = st.none() | st.booleans() | NUMBERS | st.text("ab😀", max_size=3)
INSTANCES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
SIZES = st.integers(0, 3)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])


def schemas_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with a few keywords, whose subschemas come from `inner`."""
    some = st.lists(inner, min_size=1, max_size=2)
    optional = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(SCALARS, min_size=1, max_size=3),
        "const": INSTANCES,
        "minimum": NUMBERS,
        "exclusiveMaximum": NUMBERS,
        "multipleOf": st.sampled_from([2, 3, 0.5]),
        "minLength": SIZES,
        "maxLength": SIZES,
        "pattern": st.sampled_from(["^a", "b$", "^[ab]+$"]),
        "items": inner | some,
        "additionalItems": st.booleans(),
        "minItems": SIZES,
        "maxItems": SIZES,
        "uniqueItems": st.booleans(),
        "contains": inner,
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "additionalProperties": st.booleans() | inner,
        "required": st.lists(NAMES, max_size=2, unique=True),
        "minProperties": SIZES,
        "propertyNames": st.just({"maxLength": 1}),
        "dependencies": st.dictionaries(NAMES, st.lists(NAMES, max_size=1), max_size=1),
        "anyOf": some,
        "oneOf": some,
        "allOf": some,
        "not": inner,
        "if": inner,
        "then": inner,
    }
    keywords = st.lists(st.sampled_from(sorted(optional)), max_size=3, unique=True)
    return keywords.flatmap(
        lambda chosen: st.fixed_dictionaries({keyword: optional[keyword] for keyword in chosen})
    )


SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.just({}), schemas_of, max_leaves=6
)


@settings(max_examples=500, deadline=None)
@given(SCHEMAS, INSTANCES)
def test_verdicts_agree_and_each_refusal_has_words(schema: Any, instance: Any) -> None:
    Draft7Validator.check_schema(schema)
    error = ArgumentValidator(schema).check(instance)
    try:
        expected = Draft7Validator(schema).is_valid(instance)
    except TypeError:  # it trips over additionalItems beside boolean items
        reject()
    assert (error is None) == expected
    assert error is None or error
