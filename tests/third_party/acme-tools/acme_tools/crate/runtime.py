"""The runtime `acme-crate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from attrs import evolve, frozen

from toolcrib import Launch, LocalRuntime, Runtime, Workspace


@frozen
class Crate:
    """This machine, where file tools write into one folder alone."""

    local: LocalRuntime

    @property
    def id(self) -> str:
        return "acme-crate"

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"fs", "process"})

    @property
    def status(self) -> Literal["ready"]:
        return "ready"

    @property
    def environment(self) -> Mapping[str, str]:
        return self.local.environment

    @property
    def shell(self) -> str:
        return self.local.shell

    def launch(self, argv: Sequence[str], *, cwd: str, environment: Mapping[str, str]) -> Launch:
        return Launch(tuple(argv), cwd, {**environment, "ACME": "crate"})

    def confine(self, workspace: Workspace) -> Workspace:
        return evolve(workspace, writable=(f"{workspace.root}/crate",))

    async def aclose(self) -> None:
        """There is nothing to end."""


def crate(local: LocalRuntime) -> Runtime:
    return Crate(local)
