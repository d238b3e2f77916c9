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
_VALUE = (
    r"""("(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?|(?:(?:bearer|basic|digest)\s{1,20})?[^\s,}\]]++)"""
)
_SECRET_VALUE = re.compile(
    rf"""(?:{_SECRET.pattern})[\w-]{{0,40}}(?:\\*["']?\s{{0,20}}[:=]\s{{0,20}}|([ ]{{1,20}})(?!-))
    {_VALUE}
    |://[^\s/:@]{{0,200}}:([^\s/@]{{1,400}})@""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
"""A value behind a name, behind the option of a command, and before the host of a URL."""
_OPTION = re.compile(r"(?<![\w-])--?[\w-]*\Z")


def is_secret(name: str) -> bool:
    """Whether a property of this name is likely to hold a secret."""
    return _SECRET.search(name) is not None


def secret_values(text: str) -> list[tuple[int, int]]:
    """Where text, such as a command or almost JSON, holds values of such names: begins and ends."""
    return [
        match.span(match.lastindex or 0)
        for match in _SECRET_VALUE.finditer(text)
        if not match[match.lastindex or 0].startswith(HIDDEN[:-1])
        and (match[1] is None or _OPTION.search(text, max(0, match.start() - 41), match.start()))
    ]


def redacted(value: Any) -> Any:
    """A copy of JSON-like data, or of the text of it, without the values of such properties."""
    if isinstance(value, str):
        pieces, shown = [], 0
        for begin, end in secret_values(value):
            pieces += [value[shown:begin], HIDDEN]
            shown = end
        return "".join((*pieces, value[shown:])) if pieces else value
    if isinstance(value, Mapping):
        return {
            name: HIDDEN if isinstance(name, str) and is_secret(name) else redacted(item)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [redacted(item) for item in value]
    return value
