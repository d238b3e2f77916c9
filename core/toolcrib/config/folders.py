"""Where the user's configuration and state lie."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

APP = "toolcrib"


def config_folder(environ: Mapping[str, str]) -> Path:
    """The folder of the user's `toolcrib.toml`."""
    if _follows_xdg():
        return _xdg(environ, "XDG_CONFIG_HOME", ".config")
    import platformdirs

    return Path(platformdirs.user_config_dir(APP, appauthor=False))


def state_folder(environ: Mapping[str, str]) -> Path:
    """The folder of what toolcrib remembers; `TOOLCRIB_STATE` names another one."""
    if chosen := environ.get("TOOLCRIB_STATE"):
        return Path(chosen).absolute()
    if _follows_xdg():
        return _xdg(environ, "XDG_STATE_HOME", ".local/state")
    import platformdirs

    return Path(platformdirs.user_state_dir(APP, appauthor=False))


def home_folder(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or os.path.expanduser("~"))


def _follows_xdg() -> bool:
    # The same folders as platformdirs', whose import takes longer than reading two files.
    return sys.platform.startswith(("linux", "freebsd", "openbsd"))


def _xdg(environ: Mapping[str, str], variable: str, below_home: str) -> Path:
    chosen = environ.get(variable, "").strip()
    return (Path(chosen) if chosen else home_folder(environ) / below_home) / APP
