"""Text of a server as it may be shown: no control characters, no hidden ones, of bounded length."""

from __future__ import annotations

import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # zero width, direction of writing
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # blanks without a width
    "\ufe00-\ufe0d\ufff9-\ufffb\U000e0100-\U000e01ef"  # variants: bytes that only a model reads
    "\ud800-\udfff"  # halves of surrogate pairs, which no encoder takes
    "\U000e0000-\U000e007f]"  # tags: letters that only a model reads
)


def plain(text: object, limit: int) -> str:
    """At most `limit` characters of a server's text, without those that act on a terminal.

    What is no text is none.
    """
    if not isinstance(text, str):
        return ""
    # Twice the limit is looked at, so that a cut text is full also without what is taken out.
    seen = _UNSEEN.sub("", text[: 2 * limit].replace("\r\n", "\n")).strip()
    if len(seen) <= limit and len(text) <= 2 * limit:
        return seen
    return seen[: limit - 1].rstrip() + "…"


def line(text: object, limit: int) -> str:
    """The same as `plain`, on one line."""
    return " ".join(plain(text, limit).split())
