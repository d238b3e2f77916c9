"""Compile the schema of a tool to what a model provider accepts, and read what comes back."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from toolcrib.dialects.fitting import Fitting
from toolcrib.dialects.joining import objects_of
from toolcrib.dialects.keywords import is_json, is_text
from toolcrib.dialects.losses import Loss, Losses, UnusableSchema
from toolcrib.dialects.merging import Merging
from toolcrib.dialects.narrow import Narrowing
from toolcrib.dialects.node import Document
from toolcrib.dialects.plans import AS_IS, Plan, Run
from toolcrib.dialects.providers import (
    ANTHROPIC,
    DIALECTS,
    GEMINI,
    OPENAI,
    OPENAI_STRICT,
    Dialect,
)
from toolcrib.dialects.reading import read_schema
from toolcrib.dialects.wide import Widening

_WIDE = {"openai": OPENAI, "anthropic": ANTHROPIC}
_MAX_LEVELS = 100
_NARROW = {"openai-strict": OPENAI_STRICT, "gemini": GEMINI}


@frozen(eq=False)
class CompiledSchema:
    """A schema as a provider accepts it.

    Attributes:
        dialect: what it was compiled for.
        schema: what to send; its own copy, in one order of keywords.
        losses: what the original says beyond that. Arguments are validated by the original, so
            nothing is accepted because of a loss.
    """

    dialect: Dialect
    schema: dict[str, Any]
    losses: tuple[Loss, ...]
    plan: Plan = field(repr=False)
    _document: Document = field(repr=False)
    _definitions: Mapping[str, Plan] = field(factory=dict, repr=False)

    def restore(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Turn arguments that a model gave into what the original schema is about.

        What the dialect made of the original is undone, and a null that only says that an optional
        property is not given is left out, where the original does not accept null. Never raises:
        what makes no sense stays, for the validation to tell.
        """
        run = Run(self._document, self._definitions)
        restored = run.restore(self.plan, arguments)
        restored = Fitting(self._document).without_nulls(self._document.root, restored)
        return dict(restored if isinstance(restored, Mapping) else arguments)


def compile_schema(schema: Any, dialect: Dialect) -> CompiledSchema:
    """Compile a JSON Schema of draft 4 to 2020-12 to what a provider accepts.

    Keywords with a wrong shape are mended or dropped, with a loss in the report; references are
    followed inside the schema only. The schema itself is not changed.

    Raises:
        UnusableSchema: It is no schema, or accepts no object.
        ValueError: There is no such dialect.
    """
    if dialect not in DIALECTS:
        known = ", ".join(DIALECTS)
        raise ValueError(f"there is no dialect {dialect!r}; the dialects are {known}")
    if schema is True:
        schema = {}
    if not isinstance(schema, Mapping):
        raise UnusableSchema(f"{schema!r:.80} is no schema of an object; tools need one")
    losses = Losses()
    document = read_schema(schema, losses)
    if dialect in _WIDE:
        compiled, plan = Widening(document, _WIDE[dialect], losses).compile()
        return CompiledSchema(dialect, compiled, losses.all(), plan, document)
    if dialect in _NARROW:
        narrowing = Narrowing(document, _NARROW[dialect], losses)
        made = narrowing.compile()
        return CompiledSchema(
            dialect, made.schema, losses.all(), made.plan, document, narrowing.definitions
        )
    return _for_protocol(schema, document)


def _for_protocol(schema: Mapping[str, Any], document: Document) -> CompiledSchema:
    """For the Model Context Protocol: an object at the root, otherwise any JSON Schema.

    The protocol's own schema of `Tool.inputSchema`: `type` is "object", `properties` a mapping of
    mappings, `required` a list of texts.
    """
    unnoted, losses = Losses(), Losses()
    objects_of(document.root, Merging(document, unnoted), unnoted)
    copied = {
        key: copy.deepcopy(value)
        for key, value in schema.items()
        if is_text(key) and is_json(value, _MAX_LEVELS)
    }
    result = {"type": "object"} | copied | {"type": "object"}
    if schema.get("type", "object") != "object":
        losses.add("", "type", f"{schema['type']!r:.60} is read as 'object'")
    if "properties" in schema:
        given = schema["properties"]
        kept = {
            name: below
            for name, below in (given.items() if isinstance(given, Mapping) else ())
            if isinstance(below, Mapping | bool) and is_json({name: below}, _MAX_LEVELS)
        }
        if not isinstance(given, Mapping) or len(kept) < len(given):
            losses.add("", "properties", "is no mapping of schemas; what is none is dropped")
        result["properties"] = {n: _as_mapping(copy.deepcopy(s)) for n, s in kept.items()}
    if "required" in schema and schema["required"] != list(document.root.required):
        losses.add("", "required", f"{schema['required']!r:.60} is no list of different names")
        result["required"] = list(document.root.required)
    return CompiledSchema("mcp", result, losses.all(), AS_IS, document)


def _as_mapping(schema: Any) -> Any:
    return {True: {}, False: {"not": {}}}[schema] if isinstance(schema, bool) else schema
