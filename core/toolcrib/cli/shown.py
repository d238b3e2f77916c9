"""What a call would do, in the blocks of text that a person at a terminal reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, assert_never
from urllib.parse import urlsplit

from toolcrib.cli.rows import HIGHLIGHTED_CHARS, Block
from toolcrib.contract.display import (
    AgentCallDisplay,
    CommandDisplay,
    DiffDisplay,
    Display,
    FileIODisplay,
    GenericDisplay,
    GoalStartDisplay,
    PlanReviewDisplay,
    SearchDisplay,
    SkillCallDisplay,
    TaskDisplay,
    TaskStopDisplay,
    TodoListDisplay,
    UrlFetchDisplay,
)

_MARKS = {"done": "[x]", "completed": "[x]", "in_progress": "[>]"}


def blocks(display: Display) -> list[Block]:
    """Everything that the display says, nothing left out."""
    return [block for block in _blocks(display) if block.text]


def plan(text: str, path: str | None) -> list[Block]:
    """A plan as it is written: drawn as Markdown it could hide comments and where links go."""
    named = [] if path is None else [_fact("in", path)]
    return [*named, Block(text=text)]


def _blocks(display: Display) -> Iterator[Block]:
    match display:
        case CommandDisplay():
            yield Block(text=display.command, language=display.language, prefix="$ ")
            yield _fact("in", display.cwd)
            yield Block(text=display.description or "", style="italic")
        case FileIODisplay():
            yield from _file(display)
        case DiffDisplay():
            yield Block(text=display.path, style="bold")
            yield Block(text=display.diff.removesuffix("\n"), language="diff")
        case SearchDisplay():
            yield _fact("search for", display.query)
        case UrlFetchDisplay():
            yield Block(text=display.url, style="bold")
            yield _fact("at the host", _host(display.url))
        case AgentCallDisplay():
            background = " in the background" if display.background else ""
            yield _fact("agent", f"{display.agent}{background}")
            yield Block(text=display.prompt)
        case SkillCallDisplay():
            yield _fact("skill", display.skill)
            yield _fact("with", display.arguments)
        case TodoListDisplay():
            for item in display.items:
                mark = _MARKS.get(item.get("status", ""), "[ ]")
                yield Block(text=item.get("title", ""), prefix=f"{mark} ")
        case TaskDisplay() | TaskStopDisplay():
            verb = "stop the task" if isinstance(display, TaskStopDisplay) else "task"
            yield _fact(verb, display.task_id)
            yield Block(text=display.description or "")
        case PlanReviewDisplay():
            yield from plan(display.plan, display.path)
            yield from (Block(text=option, prefix="- ") for option in display.options)
        case GoalStartDisplay():
            yield Block(text=display.goal)
            yield _fact("budget", display.budget)
        case GenericDisplay():
            yield Block(text=display.summary)
            yield _detail(display.detail)
        case _:
            assert_never(display)


def _fact(name: str, value: str | None) -> Block:
    return Block(text=value or "", prefix=f"{name} ")


def _file(display: FileIODisplay) -> Iterator[Block]:
    yield Block(text=display.path, style="bold", prefix=f"{display.operation} ")
    content = display.content
    if content is not None:
        lines = content.count("\n") + (not content.endswith("\n"))
        size = f"{lines:,} line{'s' * (lines != 1)}, {len(content):,} characters"
        yield Block(text=size if content else "nothing", style="dim")
        yield Block(text=content.removesuffix("\n"), language=_language(display.path))
    yield Block(text=display.detail or "", style="bold" if content else "")
    if display.before is not None or display.after is not None:
        yield Block(text=_changes(display.before or "", display.after or ""), language="diff")


def _changes(before: str, after: str) -> str:
    """The lines taken out and put in; long texts are not compared."""
    if before.endswith("\n") and after.endswith("\n"):
        before, after = before[:-1], after[:-1]
    old, new = before.split("\n"), after.split("\n")
    if len(before) + len(after) > HIGHLIGHTED_CHARS:
        return "\n".join([*(f"-{line}" for line in old), *(f"+{line}" for line in new)])
    from difflib import unified_diff

    # The first lines would name the files and count from the beginning of the old text.
    return "\n".join(list(unified_diff(old, new, lineterm=""))[3:])


def _language(path: str) -> str:
    from rich.syntax import Syntax

    return Syntax.guess_lexer(path)


def _host(url: str) -> str:
    """The host that is asked, in ASCII too: a URL can look like another one."""
    try:
        host = urlsplit(url).hostname or ""
        return host if host.isascii() else f"{host} ({host.encode('idna').decode('ascii')})"
    except ValueError:
        return ""


def _detail(detail: Any) -> Block:
    if isinstance(detail, str) or not detail:
        return Block(text=detail or "")
    text = json.dumps(detail, ensure_ascii=False, indent=2, default=_plain)
    return Block(text=text, language="json")


def _plain(value: Any) -> Any:
    return dict(value) if hasattr(value, "keys") else str(value)
