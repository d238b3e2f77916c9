"""Whether the source of a command alone tells what it does, wherever else it stands."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from toolcrib.shell.danger import program_name, runs_what_it_gets
from toolcrib.shell.model import SimpleCommand, Word

_EXPANDED = re.compile(r"\$\{?[#!]?([A-Za-z_]\w*|[0-9@*#?$!-])", re.ASCII)
_SET_BY_THE_SHELL = re.compile(
    r"[^A-Za-z_].*|_|REPLY|MAPFILE|COPROC|OPT\w+|OLDPWD|BASH\w*|PIPESTATUS|RANDOM|SRANDOM|SECONDS"
    r"|EPOCH\w+|LINENO|FUNCNAME|DIRSTACK",
    re.ASCII,
)
_FED = frozenset(("xargs", "parallel"))


def stands_alone(command: SimpleCommand, assigned: Collection[str]) -> bool:
    """Whether nothing around a command changes what it does.

    Args:
        assigned: the variables that the script sets.
    """
    if not command.self_contained or not _FED.isdisjoint((command.program, *command.via)):
        return False
    has_text = any(redirect.kind == "text" for redirect in command.redirects)
    if has_text and "<<" in command.source.replace("<<<", ""):
        return False
    if not has_text and runs_what_it_gets(command, program_name(command) or ""):
        return False
    names = {name for word in _open_words(command) for name in _EXPANDED.findall(word.source)}
    return not any(name in assigned or _SET_BY_THE_SHELL.fullmatch(name) for name in names)


def _open_words(command: SimpleCommand) -> Iterator[Word]:
    """The words with something in them that an expansion decides."""
    targets = (redirect.target for redirect in command.redirects)
    values = (assignment.value for assignment in command.assignments)
    for word in (*command.words, *values, *targets):
        if word is not None and not word.literal and word.glob is None:
            yield word
