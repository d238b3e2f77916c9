"""Show values of arguments in messages: short, as JSON, without secrets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from toolcrib.redaction import is_secret

MAX_SHOWN_CHARS = 80
_MAX_DEPTH = 3
_MAX_NAMES = 40
_MAX_ITEMS = 20
_MAX_INTEGER_BITS = 1_000


def show(value: Any) -> str:
    """Return JSON of about `value`, at most 80 characters and an ellipsis."""
    return shorten(_json(value, _MAX_DEPTH), MAX_SHOWN_CHARS)


def shorten(text: str, limit: int) -> str:
    """Cut text to `limit` characters and mark the cut."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def join_names(names: Iterable[object]) -> str:
    """List names, quoted, up to 40 of them."""
    quoted = [repr(name) for name in names]
    more = len(quoted) - _MAX_NAMES
    return ", ".join(quoted[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def _json(value: Any, depth: int) -> str:
    # Looks at no more than can be shown: the value may be megabytes.
    if isinstance(value, str):
        return json.dumps(value[: MAX_SHOWN_CHARS + 1], ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(_members(value, depth)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_items(value, depth)) + "]"
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        return f"a whole number of {value.bit_length()} bits"
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def _members(value: dict[str, Any], depth: int) -> Iterator[str]:
    for number, (name, inner) in enumerate(value.items()):
        if number == _MAX_ITEMS or not depth:
            yield "..."
            return
        shown = '"***"' if is_secret(name) else _json(inner, depth - 1)
        yield f"{_json(name, 0)}: {shown}"


def _items(value: Sequence[Any], depth: int) -> Iterator[str]:
    for number, inner in enumerate(value):
        if number == _MAX_ITEMS or not depth:
            yield "..."
            return
        yield _json(inner, depth - 1)
