"""Finds the servers that are configured for a session, the strongest place of each name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from toolcrib import Notice, state_folder
from toolcrib_features.mcp.model import ServerConfig
from toolcrib_features.mcp.names import BROUGHT
from toolcrib_features.mcp.places import Places, brought
from toolcrib_features.mcp.settings import LONGEST_S, STARTUP_TIMEOUT_S, TOOL_TIMEOUT_S

if TYPE_CHECKING:
    from toolcrib import Layer, Session, Settings
    from toolcrib_features.mcp.entries import Draft

STARTUP_VARIABLE = "TOOLCRIB_MCP_STARTUP_TIMEOUT_MS"
TOOL_VARIABLE = "TOOLCRIB_MCP_TOOL_TIMEOUT_MS"
_VARIABLE = "environment variable "


@frozen(kw_only=True)
class Servers:
    """The configured servers, in the order of their names.

    Attributes:
        notices: files that cannot be used, what is ignored, and keys that nobody reads.
        files: those that decide beside `toolcrib.toml`, whether they exist or not.
    """

    configs: tuple[ServerConfig, ...] = ()
    notices: tuple[Notice, ...] = ()
    files: tuple[Path, ...] = ()

    @property
    def findings(self) -> tuple[Notice, ...]:
        """The notices, and the problems of the servers."""
        problems = (
            Notice.at(one.source, key=one.name, text=f"the server cannot be used: {one.problem}")
            for one in self.configs
            if one.problem
        )
        return (*self.notices, *problems)


def read_servers(session: Session) -> Servers:
    """The servers of a session; one that cannot be used says so in its `problem`.

    A bad entry or file costs only itself: nothing is raised.
    """
    place = session.workspace.root, session.environment
    return configured(session.settings, *place, brought(session))


def check(settings: Settings, workspace: str | Path, environ: Mapping[str, str]) -> list[Notice]:
    """Everything that is wrong with the servers of a workspace, and with what is said of them.

    For `toolcrib config check`; no server is started.
    """
    from toolcrib_features.mcp.memory import ServerMemory
    from toolcrib_features.mcp.mentions import Mentions

    found = configured(settings, workspace, environ)
    state = state_folder(environ)
    mentions = Mentions(found.configs, lambda config: ServerMemory(state, config).read())
    return [*found.findings, *mentions.notices(settings)]


def configured(
    settings: Settings,
    workspace: str | Path,
    environ: Mapping[str, str],
    brought: Mapping[str, Mapping[str, Any]] | None = None,
) -> Servers:
    """The servers of settings, and those that features bring; see `read_servers`."""
    reader = _Reader(Places.of(workspace, environ), environ)
    for feature, servers in (brought or {}).items():
        reader.bring(feature, servers)
    reader.read(settings)
    defaults = _timeouts(settings.section("mcp"), environ, reader.notices)
    configs = (_timed(one, *defaults) for one in reader.configs(environ))
    return Servers(
        configs=tuple(sorted(configs, key=lambda config: config.name)),
        notices=tuple(dict.fromkeys(reader.notices)),
        files=reader.places.files,
    )


@frozen(kw_only=True)
class _Found:
    """An entry, where its keys stand, and from which folder it is started."""

    draft: Draft
    locate: Callable[..., str]
    base: Path
    cwd: Path | None = None


class _Reader:
    """Goes through all places, the weakest first; a later entry replaces one of its name."""

    def __init__(self, places: Places, environ: Mapping[str, str]) -> None:
        self.places = places
        self.notices: list[Notice] = []
        self._environ = environ
        self._found: dict[str, _Found] = {}

    def bring(self, feature: str, servers: Mapping[str, Any]) -> None:
        """Take the servers that come with a feature; what is configured goes before them."""
        from toolcrib_features.mcp.entries import JSON_KEYS, read_entry

        for name, entry in servers.items():
            self._found[f"{BROUGHT}{feature}:{name}"] = _Found(
                draft=read_entry(entry, JSON_KEYS),
                locate=lambda *place: f"feature {feature!r}",
                base=self.places.root,
            )

    def read(self, settings: Settings) -> None:
        layers = settings.layers
        user = [layer for layer in layers if layer.scope == "user" and layer.text]
        workspace = [layer for layer in layers if layer.scope == "project"]
        above = [layer for layer in layers if layer.scope == "user" and not layer.text]
        self._file(self.places.user)
        self._tables(user)
        self._shared_files(trusted=settings.workspace_trusted)
        self._tables(workspace)
        self._tables(above)

    def configs(self, environ: Mapping[str, str] | None) -> Iterator[ServerConfig]:
        """The servers; without variables their texts stay as they are written."""
        for name, found in self._found.items():
            entry = found.draft.server(name, environ, source=found.locate())
            for place, text in entry.remarks:
                key = ".".join(map(str, (name, *place)))
                self.notices.append(Notice.at(found.locate(*place), key=key, text=text))
            yield self._placed(entry.config, found)

    def _placed(self, config: ServerConfig, found: _Found) -> ServerConfig:
        """With the folder that the server is started in."""
        if config.transport != "stdio":
            return config
        if config.cwd is None:
            return evolve(config, cwd=str(found.cwd)) if found.cwd else config
        home = self._environ.get("HOME") or os.path.expanduser("~")
        cwd = home + config.cwd[1:] if config.cwd.split("/")[0] == "~" else config.cwd
        return evolve(config, cwd=os.path.normpath(found.base / cwd))

    def _shared_files(self, *, trusted: bool) -> None:
        files = (self.places.repository, self.places.workspace)
        if not trusted:
            text = (
                "ignored, since the workspace is not trusted; `toolcrib trust` trusts it, "
                "TOOLCRIB_TRUST_WORKSPACE=1 for one run"
            )
            there = (file for file in files if os.path.lexists(file))
            self.notices += (Notice(file=str(file), text=text) for file in there)
            return
        root = self.places.repository.parent
        self._file(self.places.repository, base=root, cwd=root, owners=self._owners())
        self._file(self.places.workspace)

    def _owners(self) -> frozenset[int]:
        """Whoever may write what the repository shares: its top may be anybody's folder."""
        return frozenset({os.geteuid(), 0, os.stat(self.places.root).st_uid})

    def _file(
        self,
        path: Path,
        *,
        base: Path | None = None,
        cwd: Path | None = None,
        owners: frozenset[int] | None = None,
    ) -> None:
        if not os.path.lexists(path):
            return
        from toolcrib_features.mcp.entries import JSON_KEYS, read_entry
        from toolcrib_features.mcp.files import SERVERS, BadFile, read_servers_file

        try:
            file = read_servers_file(path, owners=owners)
        except BadFile as bad:
            self.notices.append(bad.notice)
            return
        if file is None:
            return
        for place in file.document.repeated:
            self.notices.append(file.notice("is there twice; the last one counts", *place))
        for name, table in file.servers.items():
            self._found[name] = _Found(
                draft=read_entry(table, JSON_KEYS),
                locate=partial(file.locate, SERVERS, name),
                base=base or self.places.root,
                cwd=cwd,
            )

    def _tables(self, layers: Iterable[Layer]) -> None:
        for layer in layers:
            table = layer.data.get("mcp")
            servers: Any = table.get("servers") if isinstance(table, Mapping) else None
            if servers is None:
                continue
            servers = _unspelt(servers)
            if not isinstance(servers, Mapping):
                text = "expected tables [mcp.servers.NAME]"
                self.notices.append(layer.notice(("mcp", "servers"), text))
                continue
            for name, entry in servers.items():
                self._table(layer, name, entry)

    def _table(self, layer: Layer, name: str, entry: object) -> None:
        from toolcrib_features.mcp.entries import TOML_KEYS, read_entry

        draft = read_entry(_unspelt(entry), TOML_KEYS)
        if layer.name.startswith(_VARIABLE):
            # A variable sets one key, of a name that it can only write in its own way.
            below = next((one for one in self._found if _folded(one) == _folded(name)), None)
            if below is not None:
                self._found[below].draft.update(draft)
                return
        self._found[name] = _Found(
            draft=draft,
            locate=lambda *place: layer.locate(("mcp", "servers", name, *place)),
            base=self.places.root,
        )


def _unspelt(value: Any) -> Any:
    """What the text of a variable `TOOLCRIB_MCP__...` spells, any other value as it is."""
    parsed_as = getattr(value, "parsed_as", None)
    return value if parsed_as is None else parsed_as(object)


def _folded(name: str) -> str:
    return re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")


def _timeouts(
    section: Mapping[str, Any], environ: Mapping[str, str], notices: list[Notice]
) -> tuple[float, float]:
    """The seconds of servers that have none of their own: to start, and for a call."""
    found: list[float] = []
    for key, variable, default in (
        ("startup_timeout_s", STARTUP_VARIABLE, STARTUP_TIMEOUT_S),
        ("tool_timeout_s", TOOL_VARIABLE, TOOL_TIMEOUT_S),
    ):
        value = _unspelt(section.get(key, default))
        fits = isinstance(value, int | float) and 0 < value <= LONGEST_S
        chosen = float(value) if fits else default
        if text := environ.get(variable):
            if text.isdecimal() and text.isascii() and len(text) <= 10 and int(text) > 0:
                chosen = min(int(text) / 1000, LONGEST_S)
            else:
                said = f"ignored: expected whole milliseconds above 0, not {text[:40]!r}"
                notices.append(Notice(file=f"environment variable {variable}", text=said))
        found.append(chosen)
    return found[0], found[1]


def _timed(config: ServerConfig, startup_s: float, tool_s: float) -> ServerConfig:
    own_startup, own_tool = config.startup_timeout_s, config.tool_timeout_s
    return evolve(
        config,
        startup_timeout_s=startup_s if own_startup is None else own_startup,
        tool_timeout_s=tool_s if own_tool is None else own_tool,
    )
