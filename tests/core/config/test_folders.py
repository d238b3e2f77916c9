"""The user's folders are those of the platform, unless the environment names others."""

from __future__ import annotations

import sys
from pathlib import Path

import platformdirs
import pytest

from toolcrib.config.folders import config_folder, state_folder

XDG = {"XDG_CONFIG_HOME": "/x/config", "XDG_STATE_HOME": "/x/state"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="folders of freedesktop.org")
@pytest.mark.parametrize("environ", [{}, XDG, {"XDG_CONFIG_HOME": " ", "XDG_STATE_HOME": ""}])
def test_the_folders_are_those_of_platformdirs(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"HOME": str(tmp_path), **environ}
    for name in XDG:
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert config_folder(environ) == Path(platformdirs.user_config_dir("toolcrib"))
    assert state_folder(environ) == Path(platformdirs.user_state_dir("toolcrib"))


def test_the_state_can_be_put_elsewhere(tmp_path: Path) -> None:
    assert state_folder({"TOOLCRIB_STATE": str(tmp_path)}) == tmp_path
