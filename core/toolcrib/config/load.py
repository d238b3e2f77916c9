"""Loads the settings of a session: user's file, workspace's file, environment, flags."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from toolcrib.config.folders import config_folder
from toolcrib.config.merge import merge_readings, restrict_readings
from toolcrib.config.permission import RuleScope
from toolcrib.config.reading import Reading, check, doubts
from toolcrib.config.settings import Settings
from toolcrib.config.sources import Layer, environment_layers, read_file
from toolcrib.config.trust import TrustStore
from toolcrib.errors import ConfigError, Notice

FILE_NAME = "toolcrib.toml"


def load_settings(
    *,
    workspace: str | Path,
    environ: Mapping[str, str] | None = None,
    config_file: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """Read every source; a later one wins over an earlier one.

    The sources are the user's `toolcrib.toml`, that of the workspace, the environment variables
    `TOOLCRIB_*`, and `overrides`. Rules, disabled tools, blocked plugins and additional folders
    add up. The workspace's file can only restrict, unless the user trusts the workspace or sets
    `TOOLCRIB_TRUST_WORKSPACE=1`; what it may not say is left out and becomes a notice.

    Args:
        environ: `os.environ` when not given.
        config_file: replaces the user's file, as `TOOLCRIB_CONFIG` does.
        overrides: what flags set, in the shape of the file.

    Raises:
        ConfigError: a source cannot be read or says something that cannot be meant; all the
            problems of all sources are in one error.
    """
    environ = os.environ if environ is None else environ
    sources = read_sources(
        workspace=workspace, environ=environ, config_file=config_file, overrides=overrides
    )
    if problems := (*sources.unusable, *sources.faults):
        raise ConfigError(*problems)
    return merge_sources(sources, workspace=workspace, environ=environ)


@frozen(kw_only=True)
class Sources:
    """Everything that was read, the weakest source first; `unusable` are whole files."""

    readings: tuple[Reading, ...]
    unusable: tuple[Notice, ...] = ()

    @property
    def faults(self) -> tuple[Notice, ...]:
        return tuple(fault for reading in self.readings for fault in reading.faults)


def read_sources(
    *,
    workspace: str | Path,
    environ: Mapping[str, str],
    config_file: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Sources:
    """Read every source and note what is wrong with it; see `load_settings`."""
    unusable: list[Notice] = []
    user_path, named = user_file(environ, config_file)
    user = _read(user_path, unusable, scope="user", required=named)
    project_file = Path(workspace) / FILE_NAME
    project = None if same_file(project_file, user_path) else _read(project_file, unusable)
    above = environment_layers(environ)
    if overrides:
        above.append(Layer(name="command line", data=overrides))
    readings = tuple(check(layer) for layer in (user, project, *above) if layer)
    return Sources(readings=readings, unusable=tuple(unusable))


def merge_sources(
    sources: Sources, *, workspace: str | Path, environ: Mapping[str, str]
) -> Settings:
    """The settings of everything that has no fault, the workspace's as far as it is trusted."""
    readings = [reading.sound() if reading.faults else reading for reading in sources.readings]
    trusted = is_trusted(workspace, environ)
    ignored: tuple[Notice, ...] = ()
    if not trusted:
        readings, ignored = restrict_readings(readings)
    settings = merge_readings(readings, Path(workspace), environ)
    notices = (*ignored, *doubts(readings))
    return evolve(settings, workspace_trusted=trusted, notices=notices)


def user_file(environ: Mapping[str, str], given: str | Path | None = None) -> tuple[Path, bool]:
    """The user's file, and whether it was named and so has to exist."""
    named = given or environ.get("TOOLCRIB_CONFIG")
    return (Path(named), True) if named else (config_folder(environ) / FILE_NAME, False)


def same_file(one: Path, other: Path) -> bool:
    """Whether both are the same existing file."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def is_trusted(workspace: str | Path, environ: Mapping[str, str]) -> bool:
    """Whether the user trusts the workspace, for ever or for this run."""
    if environ.get("TOOLCRIB_TRUST_WORKSPACE", "").lower() in ("1", "true"):
        return True
    return TrustStore.of_user(environ).is_trusted(workspace)


def _read(
    file: Path, problems: list[Notice], *, scope: RuleScope = "project", required: bool = False
) -> Layer | None:
    try:
        return read_file(file, scope=scope, required=required)
    except ConfigError as error:
        problems += error.problems
        return None
