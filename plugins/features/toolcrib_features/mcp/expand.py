"""Puts environment variables into the text of a server's configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_REFERENCE = re.compile(
    r"\$(?P<escaped>\$\{)|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}"
)


class UnsetVariable(Exception):
    """A variable that is not set and has no default."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the environment variable {name!r} is not set: set it, or write a default with "
            f"${{{name}:-...}}"
        )
        self.name = name


def expand(text: str, environ: Mapping[str, str]) -> str:
    """The text with the values of `${VAR}`, and of `${VAR:-default}`.

    A default stands in for a variable that is not set or empty. What a value contains is not
    expanded again. `$${` stands for `${` itself; any other `$` is only a dollar sign.

    Raises:
        UnsetVariable: one without a default is not set.
    """
    if "$" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        if match["escaped"]:
            return match["escaped"]
        name, default = match["name"], match["default"]
        found = environ.get(name)
        if default is not None:
            return found or default
        if found is None:
            raise UnsetVariable(name)
        return found

    return _REFERENCE.sub(value, text)


def inserted(text: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The values of variables that `expand` puts into the text."""
    names = (match["name"] for match in _REFERENCE.finditer(text))
    return (environ[name] for name in names if name and environ.get(name))


def references(text: str) -> tuple[str, ...]:
    """The names of the variables that the text needs: those without a default."""
    matches = _REFERENCE.finditer(text)
    return tuple(m["name"] for m in matches if m["name"] and m["default"] is None)
