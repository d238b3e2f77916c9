"""The files that configure servers, and whether there are any: all that most sessions ask."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from toolcrib import config_folder, repository_root

if TYPE_CHECKING:
    from toolcrib import Session

FILE_NAME = "mcp.json"


@frozen(kw_only=True)
class Places:
    """Where servers may be configured, beside `toolcrib.toml`.

    Attributes:
        user: the file of the user.
        repository: the file that a repository shares with all clients.
        workspace: the file of the workspace for toolcrib alone.
        root: the folder of the workspace.
    """

    user: Path
    repository: Path
    workspace: Path
    root: Path

    @classmethod
    def of(cls, workspace: str | Path, environ: Mapping[str, str]) -> Places:
        root = Path(workspace)
        return cls(
            user=config_folder(environ) / FILE_NAME,
            repository=repository_root(root) / f".{FILE_NAME}",
            workspace=root / ".toolcrib" / FILE_NAME,
            root=root,
        )

    @property
    def files(self) -> tuple[Path, ...]:
        return self.user, self.repository, self.workspace


def may_have_servers(session: Session, files: Iterable[Path]) -> bool:
    """Whether it is worth reading them: something is configured somewhere, as in these files."""
    if session.section("mcp").get("servers") or brought(session):
        return True
    return any(map(os.path.lexists, files))


def brought(session: Session) -> dict[str, Mapping[str, Any]]:
    """The entries of servers that come with features that are on, by feature."""
    states = session.main.features
    return {
        feature.name: feature.mcp_servers
        for feature in session.crib.features()
        if feature.mcp_servers and states[feature.name].enabled
    }
