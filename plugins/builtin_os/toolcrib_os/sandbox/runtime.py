"""The runtime `sandbox`: how a command is started in it, and what file tools see of it."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence

from attrs import evolve

from toolcrib import Launch, LocalRuntime, RuntimeUnavailable, Session, Workspace
from toolcrib_os.sandbox.bwrap import command_line, find_bwrap, mounts, unavailable
from toolcrib_os.sandbox.cgroups import make_group, remove_group
from toolcrib_os.sandbox.hiding import (
    listening_sockets,
    safe_environment,
    steers_programs,
    toolcrib_folders,
)
from toolcrib_os.sandbox.protecting import (
    Placeholder,
    linked_places,
    missing_files,
    protected_names,
    protected_places,
    traps,
    wanted_placeholders,
)
from toolcrib_os.sandbox.seccomp import filter_program
from toolcrib_os.sandbox.secret_files import WorkspaceSecrets
from toolcrib_os.sandbox.settings import SandboxSettings
from toolcrib_os.sandbox.view import Kind, View, build_view, roots
from toolcrib_os.sandbox.watch import Command, Watch

_OF_THE_KERNEL = ("/proc", "/dev")
"""Commands have others than the processes outside, whose file tools would see theirs."""
_OWN_COUNT = (5, 14)
"""Since this kernel, processes are counted for each user namespace by itself."""


class SandboxRuntime:
    """This machine under bubblewrap.

    Raises RuntimeUnavailable at construction where that cannot work; there is no fall-back.
    """

    id = "sandbox"
    capabilities = frozenset({"fs", "process"})

    def __init__(
        self,
        workspace: Workspace,
        local: LocalRuntime,
        settings: SandboxSettings,
        session: Session,
    ) -> None:
        self._settings = settings
        self._session = weakref.proxy(session)
        self._outside = dict(local.environment)
        if "/" in roots(workspace):
            raise unavailable("the workspace is the whole file system: open it in a folder")
        self._workspace = workspace
        self._outputs = os.path.join(toolcrib_folders(self._outside)[0], "sessions", session.id)
        self._view = build_view(workspace, settings, self._outside, self._outputs)
        self._own = [os.path.realpath(path) for path in toolcrib_folders(self._outside)]
        for folder in self._own:
            if self._view.kind(os.path.dirname(folder)) == "write":
                os.makedirs(folder, 0o700, exist_ok=True)  # or a command would make its own
        self._program = find_bwrap(local.environment.get("PATH"), self._view.of("write"))
        self._linked = frozenset(
            path
            for root in self._view.of("write")
            for path in linked_places(root, settings.protected)
        )
        self._secrets: dict[str, WorkspaceSecrets] = {}
        self._placeholders: dict[str, Placeholder] = {}
        self._watch = Watch(settings, self._release)
        self._folder: str | None = None
        self._group: str | None = None
        self._launched = 0
        self._closed = False

    @property
    def status(self) -> str:
        return "disposed" if self._closed else "ready"

    @property
    def environment(self) -> Mapping[str, str]:
        kept = safe_environment(self._outside, self._settings.environment)
        return {"XDG_CACHE_HOME": "/tmp/.cache", **kept, "TMPDIR": "/tmp"}

    @property
    def shell(self) -> str:
        return LocalRuntime(environment=self._outside).shell

    def confine(self, workspace: Workspace) -> Workspace:
        view = self._view
        if set(roots(workspace)) != set(roots(self._workspace)):
            view = build_view(workspace, self._settings, self._outside, self._outputs)
        more = self._settings.protected
        missing = (path for root in view.of("write") for path in missing_files(root))
        return evolve(
            workspace,
            hidden=(*view.of("hide", "temporary"), *_OF_THE_KERNEL, *missing),
            shown=(workspace.root, *workspace.additional_dirs, *view.of("read", "write")),
            writable=view.of("write"),
            read_only=(
                *(path for root in view.of("write") for path in protected_names(root, more)),
                *view.read_only(),
            ),
        )

    def launch(self, argv: Sequence[str], *, cwd: str, environment: Mapping[str, str]) -> Launch:
        if self._closed:
            raise RuntimeUnavailable(
                "the sandbox is closed", code="runtime.unavailable", runtime=self.id
            )
        folder = self._prepared()
        with self._watch.lock:
            view = self._view_now()
            self._launched += 1
            status = os.path.join(folder, f"{self._launched}.json")
            self._watch.add(
                Command(
                    status,
                    view.of("write"),
                    [
                        path
                        for root in self._view.of("write")
                        for path in traps(root, self._settings.protected)
                    ],
                )
            )
        kept = safe_environment(environment, self._settings.environment)
        line = command_line(
            self._program,
            argv,
            mounted=mounts(view, self._settings, f"{folder}/empty", self._links()),
            cwd=os.path.realpath(cwd),
            environment={name: value for name, value in kept.items() if steers_programs(name)},
            network=self._network,
            files=(status, os.path.join(folder, "filter")),
            limits=self._limits(),
            groups=[self._group] if self._group else [],
            threads=self._bound if os.getuid() and _counts_by_namespace() else None,
        )
        outside = {name: value for name, value in kept.items() if not steers_programs(name)}
        return Launch(line, "/", outside)

    async def aclose(self) -> None:
        import asyncio

        self._closed = True
        await asyncio.to_thread(self._watch.stop)
        if self._folder is not None:
            self._remove()
            self._folder = None

    @property
    def _network(self) -> bool:
        wanted: bool | None = self._session.main.profile.network
        return self._settings.network if wanted is None else wanted

    @property
    def _bound(self) -> int:
        """Above the limit at which a command is ended, so that the watch sees it passed."""
        return self._settings.processes + 64

    def _prepared(self) -> str:
        """The folder of what bubblewrap reads and writes, made at the first use."""
        if self._folder is None:
            folder = tempfile.mkdtemp(prefix="toolcrib-sandbox-", dir=self._outside_folder())
            self._group = make_group(self._bound)
            self._remove = weakref.finalize(self, _clean_up, folder, self._group)
            os.mkdir(os.path.join(folder, "empty"))
            with open(os.path.join(folder, "filter"), "wb") as file:
                file.write(filter_program() or b"")
            self._folder = folder
        return self._folder

    def _outside_folder(self) -> str:
        """A folder that no command can write to, nor move away."""
        user = self._outside.get("XDG_RUNTIME_DIR", "")
        for folder in (user, tempfile.gettempdir(), "/tmp", "/var/tmp"):
            usable = folder and os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)
            if usable and self._view.kind(os.path.realpath(folder)) != "write":
                return folder
        raise unavailable(
            "the folder for temporary files lies in the workspace: set TMPDIR to another one"
        )

    def _view_now(self) -> View:
        """The view with what may have changed since the last command."""
        places: dict[str, Kind] = dict(self._view.places)
        for path in listening_sockets():
            real = os.path.realpath(path)
            if os.path.lexists(real) and not self._view.covered(real):
                places[real] = "hide"
        for root in self._view.of("write"):
            if os.path.isdir(root):
                self._hold(root)
                if self._settings.hide_workspace_secrets:
                    secrets = self._secrets.setdefault(root, WorkspaceSecrets(root))
                    places.update((path, "hide") for path in secrets.look())
                own = [os.path.relpath(path, root) for path in self._own if _below(path, root)]
                more = [*self._settings.protected, *own]
                for path, kind in protected_places(root, more, self._linked):
                    if path not in places or (kind == "read" and places[path] == "write"):
                        places[path] = kind
        for path, held in self._placeholders.items():
            if not os.path.isdir(held.path):
                places[path] = "hide"
        return View(places)

    def _hold(self, root: str) -> None:
        for path, folder in wanted_placeholders(root):
            held = self._placeholders.get(path)
            if held is None or not held.there:
                if held is not None:
                    self._placeholders.pop(path).release()
                new = Placeholder.hold(path, folder=folder)
                if new is not None:
                    self._placeholders[path] = new

    def _release(self) -> None:
        # Folders in folders go first.
        for path in sorted(self._placeholders, reverse=True):
            self._placeholders.pop(path).release()

    def _links(self) -> dict[str, str]:
        """The workspace as it is spelled, where the links on the way to it are hidden."""
        found: dict[str, str] = {}
        for spelled in (self._workspace.root, *self._workspace.additional_dirs):
            real = os.path.realpath(spelled)
            parent = os.path.realpath(os.path.dirname(spelled))
            if real != spelled and os.path.islink(spelled) and self._view.covered(parent):
                found[os.path.join(parent, os.path.basename(spelled))] = real
        return found

    def _limits(self) -> dict[str, int]:
        settings = self._settings
        wanted = {
            "c": (resource.RLIMIT_CORE, 0, 1),
            "t": (resource.RLIMIT_CPU, settings.cpu_s + 2, 1),  # the watch has a reason to give
            "f": (resource.RLIMIT_FSIZE, settings.file_size_mb << 20, 512),
            "d": (resource.RLIMIT_DATA, settings.memory_mb << 20, 1024),
            "n": (resource.RLIMIT_NOFILE, settings.open_files, 1),
        }
        return {
            letter: _within_hard_limit(which, amount) // unit
            for letter, (which, amount, unit) in wanted.items()
        }


def _below(path: str, root: str) -> bool:
    return path.startswith(f"{root}/")


def _within_hard_limit(which: int, amount: int) -> int:
    hard = resource.getrlimit(which)[1]
    return amount if hard == resource.RLIM_INFINITY else min(amount, hard)


def _counts_by_namespace() -> bool:
    numbers = platform.release().split("-")[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdecimal()) >= _OWN_COUNT


def _clean_up(folder: str, group: str | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if group:
        remove_group(group)
