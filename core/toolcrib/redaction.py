"""Tell which values are likely to be secrets, by the names that go before them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "[hidden]"
_SECRET = re.compile(
    r"passw(?:or)?d|passphrase|secret|token(?!s)|api[_-]?key|private[_-]?key|credential"
    r"|authorization",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    rf"""(?:{_SECRET.pattern})[\w-]{{0,40}}\\*["']?\s{{0,20}}[:=]\s{{0,20}}
    ("(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?|[^\s,}}\]]++)""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def is_secret(name: str) -> bool:
    """Whether a property of this name is likely to hold a secret."""
    return _SECRET.search(name) is not None


def secret_values(text: str) -> list[tuple[int, int]]:
    """Where text that is almost JSON holds values of such properties: begins and ends."""
    return [match.span(1) for match in _SECRET_VALUE.finditer(text)]


def redacted(value: Any) -> Any:
    """A copy of JSON-like data, or of the text of it, without the values of such properties."""
    if isinstance(value, str):
        for begin, end in reversed(secret_values(value)):
            value = f"{value[:begin]}{HIDDEN}{value[end:]}"
        return value
    if isinstance(value, Mapping):
        return {
            name: HIDDEN if isinstance(name, str) and is_secret(name) else redacted(item)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [redacted(item) for item in value]
    return value
