"""The dialects of model providers and protocols, each with the source of its rules."""

from __future__ import annotations

import re
from typing import Literal, get_args

from toolcrib.dialects.rules import Rules
from toolcrib.dialects.wide import WideRules

Dialect = Literal["openai", "openai-strict", "anthropic", "gemini", "mcp"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

OPENAI = WideRules(needs_items=True, not_at_root=frozenset({"not"}))
"""OpenAI, functions without `strict`.

From the errors of the API: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/
'enum'/'not' at the top level", "array schema missing items", "object schema missing properties".
"""

ANTHROPIC = WideRules(property_name=re.compile(r"[a-zA-Z0-9_.-]{1,64}"))
"""Anthropic, tools: `input_schema` is JSON Schema of draft 2020-12 and its type is object.

From the errors of the API: "input_schema does not support oneOf, allOf, or anyOf at the top level",
"Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'", which it looks for at the top level.
"""

OPENAI_STRICT = Rules(
    limits={
        "string": frozenset({"pattern"}),
        "number": frozenset(
            {"multipleOf", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}
        ),
        "array": frozenset({"minItems", "maxItems"}),
    },
    formats={
        "string": frozenset(
            {
                "date",
                "date-time",
                "duration",
                "email",
                "hostname",
                "ipv4",
                "ipv6",
                "time",
                "uuid",
            }
        )
    },
    closed=True,
    references=True,
)
"""OpenAI, structured outputs: supported schemas.

All properties are required, `additionalProperties` is false, the root is an object and no anyOf;
up to 5,000 properties, 10 levels, 1,000 values of enums, 120,000 characters of names and values
(15,000 in one enum of over 250 values); definitions may be recursive. Its errors refuse `default`,
`oneOf`, `allOf`, `propertyNames`, `uniqueItems` and schemas without a type.
"""

GEMINI = Rules(
    limits={
        "string": frozenset({"minLength", "maxLength", "pattern"}),
        "number": frozenset({"minimum", "maximum"}),
        "array": frozenset({"minItems", "maxItems"}),
        "object": frozenset({"minProperties", "maxProperties"}),
    },
    formats={
        "string": frozenset({"date-time"}),
        "integer": frozenset({"int32", "int64"}),
        "number": frozenset({"float", "double"}),
    },
    text_only=True,
    union_alone=True,
    nullable=True,
    property_name=re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}"),
    max_depth=16,
    max_enum_values=10_000,
    max_chars=1_000_000,
)
"""Gemini, function declarations: the API reference of Schema and FunctionDeclaration.

A selection of OpenAPI 3.0 without `$ref`, `oneOf`, `allOf`, `const` and `additionalProperties`,
with one type each; names of parameters are letters, digits and `_`. From the errors of the API:
"only 'enum' and 'date-time' are supported for STRING type", enum "only allowed for STRING type" and
"cannot be empty", properties "should be non-empty for OBJECT type", "When using any_of, it must be
the only field set", required "property is not defined", items "missing field".
"""
