"""Where tools act: a runtime offers capabilities, an environment, and a way to start programs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from attrs import field, frozen

if TYPE_CHECKING:
    from toolcrib.paths import Workspace

LOCAL = "local"
"""The name of the runtime that is this machine itself."""
Capability = Literal["fs", "process"]
Status = Literal["connecting", "ready", "degraded", "disconnected", "draining", "disposed"]


@frozen
class Launch:
    """What to start on this machine so that a program runs in a runtime.

    `cwd` is a folder of this machine, `environment` replaces that of this process.
    """

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] = field(repr=False)


@runtime_checkable
class Runtime(Protocol):
    """A place where tools act.

    `id` names it. `capabilities` are `fs` for its files and `process` for its programs; one that
    is `degraded` names those that are left. `shell` is an absolute path there.
    """

    @property
    def id(self) -> str: ...
    @property
    def capabilities(self) -> frozenset[str]: ...
    @property
    def environment(self) -> Mapping[str, str]: ...
    @property
    def shell(self) -> str: ...
    @property
    def status(self) -> Status: ...

    def launch(self, argv: Sequence[str], *, cwd: str, environment: Mapping[str, str]) -> Launch:
        """How to start a program there, in a folder of the workspace.

        Raises RuntimeUnavailable when no program can be started.
        """
        ...

    def confine(self, workspace: Workspace) -> Workspace:
        """The workspace as tools see it there: with what is hidden, and what is only read."""
        ...

    async def aclose(self) -> None:
        """End whatever still runs there. Called once, by the session that used it."""
        ...


@runtime_checkable
class StatusSource(Protocol):
    """A runtime whose status or capabilities change by themselves."""

    def on_status(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have `listener` called after each change, in the thread of the session's event loop.

        Returns the function that ends it.
        """
        ...


@frozen(kw_only=True)
class LocalRuntime:
    """This machine: its files and its processes. `shell` is the absolute path of a bash or sh."""

    id: str = LOCAL
    capabilities: frozenset[str] = frozenset({"fs", "process"})
    environment: Mapping[str, str] = field(factory=lambda: os.environ, repr=False)
    status: Status = "ready"

    @property
    def shell(self) -> str:
        for candidate in ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"):
            if os.access(candidate, os.X_OK):
                return candidate
        return shutil.which("bash") or "/bin/sh"

    def launch(self, argv: Sequence[str], *, cwd: str, environment: Mapping[str, str]) -> Launch:
        return Launch(tuple(argv), cwd, environment)

    def confine(self, workspace: Workspace) -> Workspace:
        return workspace

    async def aclose(self) -> None:
        """This machine goes on."""
