"""A user and a workspace with configuration files of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from toolcrib.config.load import load_settings
from toolcrib.config.settings import Settings
from toolcrib.config.trust import TrustStore


@frozen
class Home:
    """The folders of one user, and one workspace."""

    root: Path

    @property
    def workspace(self) -> Path:
        return self.root / "ws"

    @property
    def user_file(self) -> Path:
        return self.root / "config" / "toolcrib" / "toolcrib.toml"

    @property
    def project_file(self) -> Path:
        return self.workspace / "toolcrib.toml"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.root),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "TOOLCRIB_STATE": str(self.root / "state"),
        }

    def trust(self) -> None:
        TrustStore.of_user(self.environ).trust(self.workspace)

    def load(
        self,
        user: str | None = None,
        project: str | None = None,
        *,
        env: Mapping[str, str] | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> Settings:
        """Write the files and load the settings."""
        for file, text in ((self.user_file, user), (self.project_file, project)):
            if text is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
        return load_settings(
            workspace=self.workspace,
            environ={**self.environ, **(env or {})},
            overrides=overrides,
        )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "ws").mkdir()
    return Home(tmp_path)
