"""A user with a home, a state folder and a workspace of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import frozen

from toolcrib.config.load import load_settings
from toolcrib.config.permission import PermissionRule
from toolcrib.config.trust import TrustStore


@frozen
class Home:
    """The files of one user, and one workspace."""

    root: Path

    @property
    def workspace(self) -> Path:
        return self.root / "ws"

    @property
    def project_file(self) -> Path:
        return self.workspace / "toolcrib.toml"

    @property
    def user_file(self) -> Path:
        return self.root / "config" / "toolcrib" / "toolcrib.toml"

    @property
    def database(self) -> Path:
        return self.root / "state" / "approvals.db"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.root),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "TOOLCRIB_STATE": str(self.root / "state"),
        }

    @property
    def trust_store(self) -> TrustStore:
        return TrustStore.of_user(self.environ)

    def write_user(self, text: str) -> Path:
        self.user_file.parent.mkdir(parents=True, exist_ok=True)
        self.user_file.write_bytes(text.encode())
        return self.user_file

    def write_project(self, text: str, *, trusted: bool = True) -> Path:
        self.project_file.write_bytes(text.encode())
        if trusted:
            self.trust_store.trust(self.workspace)
        return self.project_file

    def rules(self) -> tuple[PermissionRule, ...]:
        """The rules that a session in the workspace would have."""
        return load_settings(workspace=self.workspace, environ=self.environ).permission.rules


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "ws").mkdir(mode=0o755)
    return Home(tmp_path)
