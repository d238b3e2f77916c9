"""Starts a `toolcrib` command in a process that has imported everything, and stands for it.

Takes the address of the command server of the tests and the arguments of the command. Passes on its
own streams, variables and signals, and ends as the command does.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
socket.send_fds(server, [b" "], [0, 1, 2])
for descriptor in range(3):
    os.close(descriptor)
command = {"arguments": sys.argv[2:], "cwd": os.getcwd(), "env": dict(os.environ)}
server.sendall(json.dumps(command).encode())
server.shutdown(socket.SHUT_WR)
told = server.makefile("r")
pid = int(told.readline())
for number in PASSED_ON:
    signal.signal(number, lambda number, _: os.kill(pid, number))
signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
status = int(told.readline())
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
