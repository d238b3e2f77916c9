"""Checks the values of a server's configuration, and says of each misfit what to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from toolcrib_features.mcp.model import Transport
from toolcrib_features.mcp.settings import LONGEST_S

EXPANDED = frozenset({"command", "args", "env", "cwd", "url", "headers"})
"""The fields whose texts may contain variables."""

_TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "sse": "sse",
}
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_MS = round(LONGEST_S * 1000)
_SHOWN = 60


class Misfit(Exception):
    """A value that cannot be used; `at` is where in it."""

    def __init__(self, text: str, *, at: tuple[str | int, ...] = ()) -> None:
        super().__init__(text)
        self.at = at


def named(value: object) -> str:
    """A value as messages write it; those that may hold secrets only by their kind."""
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise Misfit(f"expected text, not {named(value)}")
    return str(value)


def texts(value: Any) -> tuple[str, ...]:
    value = _unspelt(value)
    if not isinstance(value, list | tuple):
        raise Misfit(f"expected a list of texts, not {named(value)}")
    for index, one in enumerate(value):
        if not isinstance(one, str):
            raise Misfit(f"expected text, not {named(one)}: put it in quotes", at=(index,))
    return tuple(map(str, value))


def texts_by_name(value: Any) -> dict[str, str]:
    """Environment variables or headers; their values are never shown, they may be secrets."""
    value = _unspelt(value)
    if not isinstance(value, Mapping):
        raise Misfit(f"expected a table of texts, not {_kind(value)}")
    for name, one in value.items():
        if not isinstance(one, str):
            said = f"expected text, not {_kind(one)}: put it in quotes"
            raise Misfit(said, at=(str(name),))
    return {str(name): str(one) for name, one in value.items()}


def flag(value: Any) -> bool:
    value = _unspelt(value, bool)
    if not isinstance(value, bool):
        raise Misfit(f"expected true or false, not {named(value)}")
    return value


def seconds(value: Any) -> float:
    value = _unspelt(value)
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits or not 0 < value <= LONGEST_S:
        said = f"expected seconds, above 0 and at most {LONGEST_S:.0f}, not {named(value)}"
        raise Misfit(said)
    return float(value)


def milliseconds(value: Any) -> float:
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits or not 1 <= value <= _LONGEST_MS or value != int(value):
        said = f"expected whole milliseconds, from 1 to {_LONGEST_MS}, not {named(value)}"
        raise Misfit(said)
    return int(value) / 1000


def transport(value: Any) -> Transport:
    folded = re.sub("[-_ ]", "", value.lower()) if isinstance(value, str) else ""
    if folded not in _TRANSPORTS:
        raise Misfit(f"expected 'stdio', 'http' or 'sse', not {named(value)}")
    return _TRANSPORTS[folded]


def oauth(value: Any) -> Literal["oauth"]:
    if value != "oauth":
        raise Misfit(f"expected 'oauth' or nothing, not {named(value)}")
    return "oauth"


def variable_name(value: Any) -> str:
    if not isinstance(value, str) or not _VARIABLE.fullmatch(value):
        # What is no name is often the token itself.
        raise Misfit("expected the name of the environment variable that holds the token")
    return str(value)


def check(field: str, value: Any, *, unexpanded: bool) -> None:
    """Check a value once its variables are in it; raises Misfit.

    Args:
        unexpanded: they are not, so that what contains one is not looked at.
    """
    if field in ("command", "cwd", "url"):
        _check_text(value)
        if not value.strip():
            raise Misfit("must not be empty")
        if field == "url" and not (unexpanded and "${" in value):
            _check_url(value)
    elif field in ("args", "enabled_tools", "disabled_tools"):
        for index, one in enumerate(value or ()):
            _check_text(one, index)
    elif field in ("env", "headers"):
        for name, one in value.items():
            _check_text(one, name)
            _check_name(field, name, one)


def _check_text(value: str, *place: str | int) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Misfit("contains half a character (a lone surrogate)", at=place) from None
    if "\0" in value:
        raise Misfit("contains a NUL character", at=place)


def _check_name(field: str, name: str, value: str) -> None:
    if field == "env":
        if not name or "=" in name or "\0" in name or not name.isprintable():
            raise Misfit(f"{named(name)} cannot be the name of an environment variable")
    elif not _HEADER.fullmatch(name):
        raise Misfit(f"{named(name)} cannot be the name of a header")
    elif "\r" in value or "\n" in value or value != value.strip():
        raise Misfit("a header has one line without blanks around it", at=(name,))


def _check_url(value: str) -> None:
    from urllib.parse import urlsplit

    if any(c.isspace() or not c.isprintable() for c in value):
        raise Misfit("an address has no blanks and no control characters")
    try:
        parts = urlsplit(value)
        _ = parts.port
        host = parts.hostname
    except ValueError:  # whose text may have a password in it
        raise Misfit("its host or port cannot be read; an address is https://host/mcp") from None
    if parts.scheme not in ("http", "https") or not host:
        from toolcrib import redacted

        said = f"expected an address such as https://host/mcp, not {named(redacted(value))}"
        raise Misfit(said)


def _unspelt(value: Any, kind: object = object) -> Any:
    """What the text of a variable `TOOLCRIB_MCP__...` spells, any other value as it is."""
    parsed_as = getattr(value, "parsed_as", None)
    return value if parsed_as is None else parsed_as(kind)


def _kind(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "text"}
    if isinstance(value, Mapping | list | tuple):
        return named(value)
    return names.get(type(value), f"a {type(value).__name__}")
