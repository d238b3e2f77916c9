"""Schemas as real servers send them: what is made of them is accepted, and all arguments come back.

Instances are made from the original, written as the compiled schema asks for, and restored.
"""

from __future__ import annotations

import copy
import json
import zlib
from typing import Any

import pytest

from toolcrib.dialects import DIALECTS, CompiledSchema, Dialect, compile_schema

INSTANCES = 20


def test_the_corpus_is_large(schemas: dict[str, Any]) -> None:
    assert len(schemas) >= 150


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_result_passes_the_checker(original: Any, dialect: Dialect, checkers: Any) -> None:
    before = copy.deepcopy(original)
    compiled = compile_schema(original, dialect)
    assert list(checkers.CHECKERS[dialect](compiled.schema)) == []
    assert original == before
    assert json.loads(json.dumps(compiled.schema)) == compiled.schema
    for loss in compiled.losses:
        assert loss.keyword and loss.text and "\n" not in loss.text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_instances_can_be_written_and_come_back(
    original: Any, dialect: Dialect, checkers: Any, generating: Any, encoding: Any
) -> None:
    compiled = compile_schema(original, dialect)
    judge = generating.validator(original)
    if judge is None:
        return  # No validator takes it, so no call of the tool comes as far as this.
    plain = checkers.as_json_schema(compiled.schema) if dialect == "gemini" else compiled.schema
    encoder = encoding.Encoder(compiled, plain)
    seed = zlib.crc32(json.dumps(original, sort_keys=True).encode())
    for instance in generating.instances(original, INSTANCES, seed):
        written = encoder.writings(instance)
        if not written:
            assert _narrows(compiled), f"cannot be written: {instance!r}"
            continue
        restored = [compiled.restore(way) for way in written]
        assert all(judge.is_valid(arguments) for arguments in restored), (instance, written)
        if not _narrows(compiled):
            assert restored[0] == instance


def _narrows(compiled: CompiledSchema) -> bool:
    return any(loss.narrows for loss in compiled.losses)
