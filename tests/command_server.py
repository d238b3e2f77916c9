"""Becomes `toolcrib` commands: forks a process for each, in which everything is imported already.

Started with the path of the program and of a socket to listen on; says `ready`, and ends when its
standard input is closed. Whoever connects sends three descriptors and a JSON object with the
`arguments`, `cwd` and `env` of a command, and gets its process id and its exit status.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from select import select

PACKAGES = ("toolcrib", "toolcrib_os", "toolcrib_task", "toolcrib_features")
status = 0


@atexit.register
def leave() -> None:
    """Ends before an interpreter tears down its modules: they lie in memory that is shared."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def import_everything() -> None:
    for name in PACKAGES:
        for module in walk_packages(import_module(name).__path__, f"{name}."):
            if not module.name.endswith(".__main__"):
                with suppress(ImportError):
                    import_module(module.name)
    gc.collect()
    gc.freeze()


def next_command(program: str, address: str) -> None:
    """Serve for as long as standard input is open; returns in the process of a command."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while select([listener, sys.stdin], [], [])[0] == [listener]:
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    listener.close()
                    return start(program, connection)
    sys.exit()


def start(program: str, connection: socket.socket) -> None:
    """Tell how a command ends; returns in the process of the command."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    first, descriptors, *_ = socket.recv_fds(connection, 1 << 16, 3)
    rest = iter(lambda: connection.recv(1 << 16), b"")
    command = json.loads(b"".join([first, *rest]))
    pid = os.fork()
    if pid == 0:
        connection.close()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        return become(program, **command)
    for descriptor in descriptors:
        os.close(descriptor)
    connection.sendall(b"%d\n" % pid)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    connection.sendall(b"%d\n" % status)
    os._exit(0)


def become(program: str, arguments: list[str], cwd: str, env: dict[str, str]) -> None:
    """Make of this process what it were if it had been started as a command."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    paths = env.get("PYTHONPATH", "")
    sys.path[:1] = [str(Path(program).parent), *filter(None, paths.split(os.pathsep))]
    sys.argv = [program, *arguments]


if __name__ == "__main__":
    import_everything()
    next_command(*sys.argv[1:])
    from toolcrib.cli.main import main

    status = 1
    try:
        main()
    except SystemExit as ended:
        status = int(ended.code or 0)
