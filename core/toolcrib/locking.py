"""Waits until no other process holds a file."""

from __future__ import annotations

import fcntl
import time


def lock(descriptor: int, seconds: float) -> bool:
    """Lock an open file or folder until it is closed; False when others keep it that long.

    Raises:
        OSError: the file system knows no locks.
    """
    give_up = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > give_up:
                return False
        time.sleep(0.01)
