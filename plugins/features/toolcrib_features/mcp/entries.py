"""Reads one configured server, from TOML or from the JSON of common clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import define, field, frozen

from toolcrib_features.mcp.expand import UnsetVariable, expand, inserted
from toolcrib_features.mcp.model import ServerConfig, Transport
from toolcrib_features.mcp.values import (
    EXPANDED,
    Misfit,
    check,
    flag,
    milliseconds,
    named,
    oauth,
    seconds,
    text,
    texts,
    texts_by_name,
    transport,
    variable_name,
)

Place = tuple[str | int, ...]
Remark = tuple[Place, str]
"""Something to say about a place in an entry."""

_STARTED = ("command", "args", "env", "cwd")
_REACHED = ("url", "headers", "auth", "bearer_token_env")


@frozen(kw_only=True)
class Entry:
    """A server as it was read.

    Attributes:
        config: its `problem` puts all faults into words.
        faults: why it cannot be used, place by place.
        remarks: what makes no difference, but cannot be meant.
    """

    config: ServerConfig
    faults: tuple[Remark, ...] = ()
    remarks: tuple[Remark, ...] = ()


@frozen
class Key:
    """What a key sets, and how its value is read."""

    field: str
    read: Callable[[Any], Any]


KeySet = Mapping[str, Key]


@define(kw_only=True)
class Draft:
    """What an entry sets, before variables are put in; `keys` tells by which key."""

    values: dict[str, Any] = field(factory=dict, repr=False)
    keys: dict[str, str] = field(factory=dict)
    faults: list[Remark] = field(factory=list)
    remarks: list[Remark] = field(factory=list)

    def update(self, above: Draft) -> None:
        """Let another draft decide what it sets."""
        self.values.update(above.values)
        self.keys.update(above.keys)
        self.faults += above.faults
        self.remarks += above.remarks

    def server(
        self, name: str, environ: Mapping[str, str] | None = None, *, source: str = ""
    ) -> Entry:
        """The server; without variables its texts stay as they are written."""
        faults, remarks = list(self.faults), list(self.remarks)
        if not name.strip() or not name.isprintable():
            faults.insert(0, ((), f"{name!r} is no name for a server: use letters and digits"))
        kind, problem = self._transport()
        if problem:
            faults.insert(0, ((), problem))
        else:
            remarks += self._idle(kind)
        values = self._expanded(environ, faults)
        for idle in _REACHED if kind == "stdio" else _STARTED:
            values.pop(idle, None)
        values |= {"name": name, "transport": kind, "written": self._written(kind)}
        values["inserted"] = self._inserted(environ or {})
        told = "; ".join(f"{dotted(place)}: {said}" if place else said for place, said in faults)
        config = ServerConfig(**values, source=source, problem=told or None)
        return Entry(config=config, faults=tuple(faults), remarks=tuple(remarks))

    def _transport(self) -> tuple[Transport, str | None]:
        """How the server is talked to, and what is wrong with that."""
        broken = {str(place[0]) for place, _ in self.faults if place}
        started = "command" in self.values or "command" in broken
        reached = "url" in self.values or not broken.isdisjoint(URL_KEYS)
        chosen: Transport | None = self.values.get("transport")
        if chosen is None and started and reached:
            return "stdio", "it has a command and an address: keep one, or say which by transport"
        kind = chosen or ("stdio" if started or not reached else "http")
        if any(not place for place, _ in self.faults):
            return kind, None  # it is no table, which says enough
        if kind == "stdio" and not started:
            what = "a command" if chosen else "a command, or a url"
            return kind, f"it needs {what}"
        if kind != "stdio" and not reached:
            return kind, f"the transport {kind!r} needs a url"
        return kind, None

    def _idle(self, kind: Transport) -> list[Remark]:
        what = "is started by a command" if kind == "stdio" else "is reached at an address"
        idle = _REACHED if kind == "stdio" else _STARTED
        keys = [self.keys[one] for one in idle if one in self.keys]
        return [((key,), f"ignored, since the server {what}") for key in keys]

    def _written(self, kind: Transport) -> tuple[str, ...]:
        if kind == "stdio":
            return (self.values.get("command", ""), *self.values.get("args", ()))
        return (self.values.get("url", ""),)

    def _inserted(self, environ: Mapping[str, str]) -> frozenset[str]:
        found = (_texts(self.values[one]) for one in EXPANDED if one in self.values)
        return frozenset(
            value for each in found for one in each for value in inserted(one, environ)
        )

    def _expanded(self, environ: Mapping[str, str] | None, faults: list[Remark]) -> dict[str, Any]:
        """The values with variables, those that fit."""
        found: dict[str, Any] = {}
        for one, value in self.values.items():
            try:
                if environ is not None and one in EXPANDED:
                    value = _with_variables(value, environ)
                check(one, value, unexpanded=environ is None)
                found[one] = value
            except Misfit as misfit:
                faults.append(((self.keys[one], *misfit.at), str(misfit)))
        return found


def read_entry(table: object, keys: KeySet) -> Draft:
    """Read an entry; whatever it is, nothing is raised."""
    draft = Draft()
    if not isinstance(table, Mapping):
        said = f"expected a table with a command or a url, not {named(table)}"
        draft.faults.append(((), said))
        return draft
    for name, value in table.items():
        key = keys.get(name) if isinstance(name, str) else None
        if key is None:
            said = f"unknown key, ignored; {_suggestion(str(name), keys)}"
            draft.remarks.append(((str(name),), said))
        elif value is None:
            continue
        elif key.field in draft.keys:
            said = f"says the same as {draft.keys[key.field]!r}: keep one of them"
            draft.faults.append(((name,), said))
        else:
            draft.keys[key.field] = name
            try:
                draft.values[key.field] = key.read(value)
            except Misfit as misfit:
                draft.faults.append(((name, *misfit.at), str(misfit)))
    return draft


def dotted(place: Iterable[str | int]) -> str:
    """A place as messages write it: `args[0]`, `env.TOKEN`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return "".join(parts).removeprefix(".")


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return (value,)
    return value.values() if isinstance(value, Mapping) else value


def _with_variables(value: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _expand(value, environ, ())
    if isinstance(value, tuple):
        return tuple(_expand(one, environ, (index,)) for index, one in enumerate(value))
    return {name: _expand(one, environ, (name,)) for name, one in value.items()}


def _expand(value: str, environ: Mapping[str, str], place: Place) -> str:
    try:
        return expand(value, environ)
    except UnsetVariable as unset:
        raise Misfit(str(unset), at=place) from None


def _suggestion(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    by_letters = {one.lower().replace("_", ""): one for one in known}
    near = get_close_matches(name.lower().replace("_", "").replace("-", ""), by_letters, n=1)
    return f"did you mean {by_letters[near[0]]!r}?" if near else f"known are {', '.join(known)}"


_SAME = {
    "command": Key("command", text),
    "args": Key("args", texts),
    "env": Key("env", texts_by_name),
    "cwd": Key("cwd", text),
    "transport": Key("transport", transport),
    "url": Key("url", text),
    "headers": Key("headers", texts_by_name),
    "auth": Key("auth", oauth),
    "enabled": Key("enabled", flag),
    "deferred": Key("deferred", flag),
    "trusted": Key("trusted", flag),
    "pinned": Key("pinned", flag),
    "parallel": Key("parallel", flag),
    "roots": Key("roots", flag),
}
TOML_KEYS: KeySet = {
    **_SAME,
    "bearer_token_env": Key("bearer_token_env", variable_name),
    "startup_timeout_s": Key("startup_timeout_s", seconds),
    "tool_timeout_s": Key("tool_timeout_s", seconds),
    "enabled_tools": Key("enabled_tools", texts),
    "disabled_tools": Key("disabled_tools", texts),
}
JSON_KEYS: KeySet = {
    **_SAME,
    "type": Key("transport", transport),
    "serverUrl": Key("url", text),
    "httpUrl": Key("url", text),
    "disabled": Key("enabled", lambda value: not flag(value)),
    "bearerTokenEnvVar": Key("bearer_token_env", variable_name),
    "startupTimeoutMs": Key("startup_timeout_s", milliseconds),
    "toolTimeoutMs": Key("tool_timeout_s", milliseconds),
    "enabledTools": Key("enabled_tools", texts),
    "disabledTools": Key("disabled_tools", texts),
}
URL_KEYS = frozenset(name for name, key in JSON_KEYS.items() if key.field == "url")
