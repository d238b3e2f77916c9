"""What a script reaches through links that it makes itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from attrs import evolve

from toolcrib.shell.model import PathEffect, SimpleCommand

_MOST = 1_000
"""Paths that are followed at a time."""
_MOST_LINKS = 4
"""Links on the way to a path."""


def makes_links(command: SimpleCommand) -> bool:
    """Whether a command gives files or folders second names."""
    if command.program == "cp":
        options = [w.text for w in command.words[1:] if w.text.startswith("-")]
        return any(
            option.startswith(("--l", "--s"))
            or (option[1] != "-" and not {*"ls"}.isdisjoint(option))
            for option in options
            if len(option) > 1
        )
    return command.program in ("ln", "link")


def through_links(
    effects: Sequence[PathEffect], links: Sequence[Sequence[PathEffect]]
) -> tuple[PathEffect, ...]:
    """The effects that those on a path below a new link have where the link leads.

    Args:
        links: of each command that makes links, what it reads and writes.
    """
    names = {
        (name.path, target.path)
        for made in links
        for name in made
        for target in made
        if name.operation == "write" and target.operation == "read"
        # What lies in a folder is no place where a link of that folder's name leads.
        if name.path is not None and not f"{target.path}/".startswith(f"{name.path}/")
    }
    making = {effect for made in links for effect in made}
    found: dict[PathEffect, None] = {}
    reached = [effect for effect in effects if effect not in making]
    for _ in range(_MOST_LINKS):
        steps = (_reached(effect, *pair) for effect in reached for pair in names)
        reached = list(islice((s for s in steps if s is not None and s not in found), _MOST))
        found.update(dict.fromkeys(reached))
    return tuple(found)


def _reached(effect: PathEffect, name: str, target: str | None) -> PathEffect | None:
    path = effect.path
    if path is None or not (path == name or path.startswith(f"{name}/")):
        return None
    if target is None:
        return evolve(effect, path=None, glob=False, through=None)
    rest = path[len(name) :]
    reached = f"{target.rstrip('/')}{rest}" or "/"
    return evolve(effect, path=reached, through=None)
