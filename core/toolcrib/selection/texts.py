"""What the model reads of tools that can be loaded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

SUMMARY_CHARS = 80
MOST_SUMMARIES = 300
"""More tools than this, announced at once, are announced by their names alone."""
_GUIDANCE = (
    "These tools are not in your list of tools: load those that you need with select_tools, by "
    "name or by a query of keywords, before you call them. What was removed can no longer be "
    "loaded or called. Later announcements go on from earlier ones."
)


def announcement(added: Sequence[tuple[str, str]], removed: Sequence[str]) -> str:
    """The tools that came, each with its description, and those that went."""
    summaries = len(added) <= MOST_SUMMARIES
    lines = [_entry(name, about) if summaries else name for name, about in added]
    blocks = [*_block("tools_removed", removed), *_block("tools_added", lines), _GUIDANCE]
    return "\n".join(blocks)


def _block(name: str, lines: Sequence[str]) -> Iterable[str]:
    return [f"<{name}>", *lines, f"</{name}>"] if lines else []


def _entry(name: str, description: str) -> str:
    about = summary(description)
    return f"{name}: {about}" if about else name


def summary(description: str) -> str:
    """The first sentence of a description in at most 80 characters; it can pass for no markup."""
    line = " ".join(description[:1000].split())
    line = "".join(char for char in line if char.isprintable() and char not in "<>")
    sentence = line.split(". ", 1)[0].removesuffix(".")
    if len(sentence) > SUMMARY_CHARS:
        return f"{sentence[: SUMMARY_CHARS - 1].rstrip()}…"
    return sentence


def load_first(name: str) -> str:
    arguments = json.dumps({"names": [name]})
    return (
        f"Tool {name!r} is not loaded, so it was not called. Load it first, by calling "
        f"select_tools with {arguments}; call it again when you have its definition."
    )


def loaded_by_call(name: str) -> str:
    return f"{name} was not loaded, and has been for this call; its definition follows."


def inactive(name: str, reason: str, remedy: str) -> str:
    return (
        f"Tool {name!r} is loaded, but not active now: {reason}. Ask the user to enable it "
        f"({remedy})."
    )


def vanished(name: str, *, of_server: bool) -> str:
    if of_server:
        return (
            f"Tool {name!r} is loaded, but its MCP server is disconnected. It may come back: go on "
            "without it for now."
        )
    return (
        f"Tool {name!r} is gone, although it was loaded. Do not call it again unless it is "
        "announced anew."
    )
