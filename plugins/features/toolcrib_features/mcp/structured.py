"""The structured part of an answer as text, where the answer does not say the same already."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_RESERVED = frozenset({"modelcontextprotocol", "mcp"})
_WRAPPERS = frozenset({"result", "content"})


def structured_text(
    structured: Any, meta: Any, texts: Sequence[str], blocks: Any = None
) -> str | None:
    """`structuredContent` and `_meta` between tags; None when there is nothing new to say.

    What cannot be written as JSON is left out.

    Args:
        texts: those of the content.
        blocks: all of the content, with what is no text.
    """
    said: dict[str, Any] = {}
    if structured is not None and not is_told(structured, texts, blocks):
        said["structuredContent"] = structured
    if isinstance(meta, Mapping):
        own = {key: value for key, value in meta.items() if not is_reserved(key)}
        if own:
            said["_meta"] = own
    written = _json(said) if said else None
    if written is None:
        return None
    # No tag inside ends the text early, and the JSON still means the same.
    written = written.replace("</", "<\\/")
    return f"<mcp-structured-result>\n{written}\n</mcp-structured-result>"


def is_told(structured: Any, texts: Sequence[str], blocks: Any = None) -> bool:
    """Whether a text has the same value, or all texts together that of a lone `result`.

    Servers put a value that is no object under this key, some under `content`, where there can be
    all blocks of the content as well.
    """
    if any(_says(text, structured) for text in texts):
        return True
    if not isinstance(structured, Mapping) or len(structured) != 1:
        return False
    key, value = next(iter(structured.items()))
    if key not in _WRAPPERS:
        return False
    if key == "content" and blocks is not None and _same(value, blocks):
        return True
    if any(_says(text, value) for text in texts):
        return True
    return (
        isinstance(value, list)
        and len(value) == len(texts)
        and all(_says(text, item) for text, item in zip(texts, value, strict=True))
    )


def is_data(value: Any) -> bool:
    """Whether it is an object that can be written as JSON."""
    return isinstance(value, Mapping) and _json(value) is not None


def is_reserved(key: object) -> bool:
    """Whether a key of `_meta` belongs to the protocol: `mcp.dev/x`, `io.modelcontextprotocol/x`.

    One edition of the protocol reserves prefixes with its name before the last label, later ones
    those with its name as the second.
    """
    prefix, slash, _ = str(key).partition("/")
    labels = prefix.lower().split(".")
    return bool(slash) and (_any_reserved(labels[:-1]) or _any_reserved(labels[1:2]))


def _any_reserved(labels: Iterable[str]) -> bool:
    return not _RESERVED.isdisjoint(labels)


def _says(text: str, value: Any) -> bool:
    if isinstance(value, str):
        return text == value
    try:
        return _same(json.loads(text), value)
    except (ValueError, RecursionError):
        return False


def _same(one: Any, other: Any) -> bool:
    """Whether two values have the same JSON text, so that no boolean equals a number."""
    written = _json(one, canonical=True)
    return written is not None and _json(other, canonical=True) == written


def _json(value: Any, *, canonical: bool = False) -> str | None:
    """JSON text; None for what has none."""
    try:
        return json.dumps(value, ensure_ascii=canonical, sort_keys=canonical, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
