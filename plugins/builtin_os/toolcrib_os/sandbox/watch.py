"""Watches what commands in the sandbox use, and ends those that use more than they may."""

from __future__ import annotations

import json
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from attrs import define, field

from toolcrib_os.sandbox.settings import SandboxSettings
from toolcrib_os.shared.opening import place_of

INTERVAL_S = 0.02
_STARTING_S = 60.0
_MB = 1 << 20
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_ENOUGH_FREE = 64 * _MB
"""A disk that was full before is no fault of a command that writes less than this."""


@define(eq=False)
class Command:
    """A command that was or is about to be started.

    Attributes:
        status: the file in which bubblewrap writes which process it started.
        folders: where it may write to disks.
        traps: paths that must not appear while it runs.
    """

    status: str
    folders: Sequence[str]
    traps: Sequence[str]
    began: float = field(factory=time.monotonic, init=False)
    free: dict[str, int] = field(init=False)
    process: int = field(default=-1, init=False)
    pid: int = field(default=0, init=False)
    proc: int = field(default=-1, init=False)
    killed: bool = field(default=False, init=False)
    _gone: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.free = {folder: _free_bytes(folder) for folder in self.folders}

    def find(self) -> bool:
        """Look for the first process of the sandbox, and tell whether its /proc is in reach."""
        if self.process < 0:
            try:
                with open(self.status, encoding="ascii") as file:
                    self.pid = json.load(file)["child-pid"]
                self.process = os.pidfd_open(self.pid)
            except ProcessLookupError:
                self._gone = True  # it was quicker than the first look
                return False
            except (OSError, ValueError, KeyError):
                return False
        if self.proc < 0:
            with suppress(OSError):
                found = os.open(f"/proc/{self.pid}/root/proc", os.O_RDONLY | os.O_DIRECTORY)
                if os.fstat(found).st_dev == os.stat("/proc").st_dev:
                    os.close(found)  # it is still setting up its file system
                else:
                    self.proc = found
        return self.proc >= 0

    @property
    def ended(self) -> bool:
        if self.process < 0:
            return self._gone or time.monotonic() - self.began > _STARTING_S
        poll = select.poll()
        poll.register(self.process, select.POLLIN)
        return bool(poll.poll(0))

    def kill(self, reason: str = "") -> None:
        """End every process in the sandbox; the reason goes to the command's standard error."""
        if self.process < 0 or self.killed:
            return
        self.killed = True
        stderr = _stderr_of_parent(self.pid) if reason else -1
        with suppress(OSError):
            signal.pidfd_send_signal(self.process, signal.SIGKILL)
        if stderr >= 0:
            _write(stderr, f"\n[sandbox] The command was ended: {reason}.\n".encode())
            os.close(stderr)

    def spring_traps(self) -> str:
        """Put aside what it made that must not appear; tells what, in words."""
        for path in self.traps:
            if os.path.lexists(path):
                aside = f"{path}-from-sandbox-{os.urandom(4).hex()}"
                made = f"it made {path!r}, which programs outside would trust"
                try:
                    with place_of(path) as place:  # which follows no link to somewhere else
                        place.move_to(place.beside(os.path.basename(aside)))
                except OSError as error:
                    return f"{made}; remove it ({error.strerror})"
                return f"{made}; it is {aside!r} now"
        return ""

    def forget(self) -> None:
        for descriptor in (self.process, self.proc):
            if descriptor >= 0:
                os.close(descriptor)
        self.process = self.proc = -1
        with suppress(OSError):
            os.unlink(self.status)


class Watch:
    """Looks at all commands many times a second, in a thread that is there while any runs.

    `lock` may be held around several calls; `idle` is called with it when no command is left.
    """

    def __init__(self, settings: SandboxSettings, idle: Callable[[], None]) -> None:
        self.lock = threading.RLock()
        self._settings = settings
        self._idle = idle
        self._commands: list[Command] = []
        self._thread: threading.Thread | None = None

    def add(self, command: Command) -> None:
        """Look after a command that is going to be started now."""
        with self.lock:
            self._commands.append(command)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="toolcrib-sandbox", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """End what runs; returns when it has."""
        with self.lock:
            for command in self._commands:
                command.find()
                command.kill()
                if command.process < 0:
                    command.began = -_STARTING_S  # it was never started
            thread = self._thread
        if thread is not None:
            thread.join(10)

    def _run(self) -> None:
        while True:
            with self.lock:
                for command in list(self._commands):
                    if command.ended:
                        command.spring_traps()  # it may have been quicker than the last look
                        command.forget()
                        self._commands.remove(command)
                    elif not command.killed and command.find():
                        reason = excess(command, self._settings)
                        if reason:
                            command.kill(reason)
                if not self._commands:
                    self._thread = None
                    self._idle()
                    return
                processes = [c.process for c in self._commands if c.process >= 0]
                starting = len(processes) < len(self._commands)
            poll = select.poll()
            for process in processes:
                poll.register(process, select.POLLIN)
            poll.poll((0.002 if starting else INTERVAL_S) * 1000)


def excess(command: Command, settings: SandboxSettings) -> str:
    """Which limit a command has passed, in words; empty if none."""
    if sprung := command.spring_traps():
        return sprung
    threads = rss = ticks = written = 0
    for pid in _pids(command.proc):
        stat = _read(command.proc, f"{pid}/stat").rpartition(b") ")[2].split()
        if len(stat) > 21:
            ticks += sum(map(int, stat[11:15]))  # its own, and of its children that have ended
            threads += int(stat[17])
            rss += int(stat[21]) * _PAGE
        written += _written(_read(command.proc, f"{pid}/io"))
    if threads > settings.processes:
        return f"it had more than {settings.processes} processes and threads (processes)"
    if rss > settings.memory_mb * _MB:
        return f"it used more than {settings.memory_mb} MB of memory (memory_mb)"
    if ticks > settings.cpu_s * _TICKS:
        return f"it used more than {settings.cpu_s} s of processor time (cpu_s)"
    if written > settings.disk_mb * _MB:
        return f"it wrote more than {settings.disk_mb} MB to disk (disk_mb)"
    for folder, before in command.free.items():
        free = _free_bytes(folder)
        if free < settings.free_disk_mb * _MB and free < before - _ENOUGH_FREE:
            return f"less than {settings.free_disk_mb} MB are free in {folder!r} (free_disk_mb)"
    return ""


def _pids(proc: int) -> Iterator[str]:
    try:
        return (name for name in os.listdir(proc) if name.isdecimal())
    except OSError:
        return iter(())


def _read(folder: int, name: str) -> bytes:
    """A small file; empty when it cannot be read, since processes come and go."""
    try:
        descriptor = os.open(name, os.O_RDONLY, dir_fd=folder)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _written(io: bytes) -> int:
    count = io.partition(b"\nwrite_bytes: ")[2].partition(b"\n")[0]
    return int(count) if count.isdigit() else 0


def _free_bytes(folder: str) -> int:
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize


def _stderr_of_parent(pid: int) -> int:
    """The standard error of the bubblewrap outside, whatever the command did with its own."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            parent = int(file.read().rpartition(b") ")[2].split()[1])
        return os.open(f"/proc/{parent}/fd/2", os.O_WRONLY | os.O_NONBLOCK | os.O_APPEND)
    except (OSError, ValueError, IndexError):
        return -1


def _write(descriptor: int, data: bytes) -> None:
    for _ in range(50):  # the pipe may be full of what the command wrote
        try:
            os.write(descriptor, data)
            return
        except BlockingIOError:
            time.sleep(INTERVAL_S)
        except OSError:
            return
