"""Finds tools by keywords, ranked by BM25 over their names and descriptions."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing

MAX_QUERY_CHARS = 500
MAX_WORDS = 16
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
"""Scripts without spaces between words are searched by character."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_COMMON = {"a", "an", "and", "by", "for", "from", "in", "is", "of", "on", "or", "the", "to", "with"}
_NAME_WEIGHT = 4.0
"""How much more a word counts in a name than in a description."""


def search(query: str, tools: Iterable[tuple[str, str]], *, limit: int) -> list[str]:
    """The names of the tools that fit best, best first.

    Those that have all words of the query, or if there are none, those that have any.

    Args:
        query: any text; what stands behind its first 500 characters or 16 words does not count.
        tools: names with descriptions.
        limit: how many names at most.
    """
    terms = _terms(query)
    if not terms:
        return []
    # To index a thousand tools takes some milliseconds: less than keeping an index up to date is
    # worth.
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(
            "CREATE VIRTUAL TABLE tools USING fts5("
            "name UNINDEXED, called, about, tokenize = 'porter unicode61')"
        )
        rows = ((name, _indexed(name), _indexed(about)) for name, about in tools)
        database.executemany("INSERT INTO tools VALUES (?, ?, ?)", rows)
        for joint in (" AND ", " OR "):
            found = database.execute(
                "SELECT name FROM tools WHERE tools MATCH ? "
                "ORDER BY bm25(tools, 0.0, ?, 1.0), name LIMIT ?",
                (joint.join(terms), _NAME_WEIGHT, limit),
            ).fetchall()
            if found:
                return [name for (name,) in found]
    return []


def _indexed(text: str) -> str:
    """A text as its words, each also in its parts: `createIssue create Issue`."""
    words = []
    for word in _WORD.findall(text):
        parts = _HUMP.split(word)
        words += [word, *parts] if len(parts) > 1 else parts
    return " ".join(words)


def _terms(query: str) -> list[str]:
    """The words as terms of a full-text query, with nothing left that could be an operator."""
    words = list(dict.fromkeys(_WORD.findall(query[:MAX_QUERY_CHARS])))
    telling = [word for word in words if word.lower() not in _COMMON]
    return [_term(word) for word in (telling or words)[:MAX_WORDS]]


def _term(word: str) -> str:
    alternatives = [f'"{word}"']
    if len(word) > 2:
        alternatives.append(f'"{word}"*')
    parts = _HUMP.split(word)
    if len(parts) > 1:
        alternatives.append("(" + " AND ".join(f'"{part}"' for part in parts) + ")")
    return f"({' OR '.join(alternatives)})"
