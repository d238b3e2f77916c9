"""Schemas as real servers send them: what is made of them is accepted, and all arguments come back.

Instances are made from the original, written as the compiled schema asks for, and restored.
"""

from __future__ import annotations

import copy
import json
import zlib
from typing import Any

import pytest

from toolcrib.dialects import DIALECTS, CompiledSchema, compile_schema
from toolcrib.schema import close_object_nodes

INSTANCES = 20


def test_the_corpus_is_large(schemas: dict[str, Any]) -> None:
    assert len(schemas) >= 150


def test_the_result_passes_the_checker(original: Any, checkers: Any) -> None:
    before = copy.deepcopy(original)
    for dialect in DIALECTS:
        compiled = compile_schema(original, dialect)
        assert list(checkers.CHECKERS[dialect](compiled.schema)) == [], dialect
        assert original == before, dialect
        assert json.loads(json.dumps(compiled.schema)) == compiled.schema, dialect
        for loss in compiled.losses:
            assert loss.keyword and loss.text and "\n" not in loss.text, dialect


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_instances_can_be_written_and_come_back(
    original: Any, closed: bool, checkers: Any, generating: Any, encoding: Any
) -> None:
    """Also with its objects closed, where fewer losses excuse what does not come back."""
    original = close_object_nodes(original) if closed else original
    judge = generating.validator(original)
    if judge is None:
        return  # No validator takes it, so no call of the tool comes as far as this.
    seed = zlib.crc32(json.dumps(original, sort_keys=True).encode())
    instances = generating.instances(original, INSTANCES, seed)
    for dialect in DIALECTS:
        compiled = compile_schema(original, dialect)
        plain = checkers.as_json_schema(compiled.schema) if dialect == "gemini" else compiled.schema
        encoder = None if dialect == "mcp" else encoding.Encoder(compiled, plain)
        for instance in copy.deepcopy(instances):
            written = encoder.writings(instance) if encoder else [instance]
            if not written:
                assert _narrows(compiled), f"{dialect}: cannot be written: {instance!r}"
                continue
            restored = [compiled.restore(way) for way in written]
            assert all(judge.is_valid(given) for given in restored), (dialect, instance, written)
            if not _narrows(compiled):
                assert _bare(restored[0]) == _bare(instance), dialect


def _bare(value: Any) -> Any:
    """A value without nulls: null for a property whose default it is says the same as nothing."""
    if isinstance(value, dict):
        return {key: _bare(part) for key, part in value.items() if part is not None}
    return [_bare(part) for part in value] if isinstance(value, list) else value


def _narrows(compiled: CompiledSchema) -> bool:
    return any(loss.narrows for loss in compiled.losses)
