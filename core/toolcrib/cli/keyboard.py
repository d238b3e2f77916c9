"""Lines typed by the person who sees what is written to standard error."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator

if sys.platform != "win32":
    import termios

_ERROR = 2  # the descriptor of standard error
_INPUT = 0


class EndOfInput(Exception):
    """Nobody types any more; that is no answer."""


def find_terminal(*, input_is_taken: bool) -> str | None:
    """The path of the terminal to ask at, or None when there is nobody to ask.

    Standard error has to show the question on a terminal. Answers are typed there if standard
    input is that terminal too, or, when `input_is_taken` by what a program gives, if it is the
    terminal that controls this process. Other input (/dev/null, `yes |`) says not to ask.
    """
    if sys.platform == "win32":
        return None
    try:
        if not os.isatty(_ERROR):
            return None
        if os.isatty(_INPUT):
            same = os.fstat(_INPUT).st_rdev == os.fstat(_ERROR).st_rdev
            # Opened as /dev/tty it is another device.
            usable = same or (os.tcgetpgrp(_INPUT) > 0 and os.tcgetpgrp(_ERROR) > 0)
        else:
            usable = input_is_taken and os.tcgetpgrp(_ERROR) > 0
    except OSError:
        return None
    return _openable() if usable else None


def _openable() -> str | None:
    # By its own name first: some event loops cannot wait for /dev/tty.
    with contextlib.suppress(OSError):
        path = os.ttyname(_ERROR)
        os.close(_opened(path))
        return path
    with contextlib.suppress(OSError):
        if os.tcgetpgrp(_ERROR) > 0:
            os.close(_opened("/dev/tty"))
            return "/dev/tty"
    return None


def _opened(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)


def in_background() -> bool:
    """Whether reading from the terminal would stop this process, since another one has it."""
    try:
        return os.tcgetpgrp(_ERROR) != os.getpgrp()
    except OSError:  # it controls nobody, or not us
        return False


class Keyboard:
    """What is typed at a terminal, line by line; waiting for it lets other tasks run."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._typed = b""

    async def line(self) -> str:
        """The next line, without its end.

        Raises:
            EndOfInput: Ctrl-D, or the terminal is gone. The beginning of a line is no line.
        """
        while b"\n" not in self._typed:
            await self._something()
            try:
                read = os.read(self._descriptor, 4096)
            except BlockingIOError:
                continue
            except OSError as error:
                raise EndOfInput from error
            if not read:
                raise EndOfInput
            self._typed += read
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace")

    def forget(self) -> None:
        """Drop what was typed so far: it was typed before there was anything to answer."""
        self._typed = b""
        with contextlib.suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    async def _something(self) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(self._descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._descriptor)


@contextlib.contextmanager
def keyboard(path: str) -> Iterator[Keyboard]:
    """The keyboard of a terminal, which hands over lines and echoes them while it is used."""
    descriptor = _opened(path)
    try:
        before = termios.tcgetattr(descriptor)
        during = termios.tcgetattr(descriptor)
        during[0] |= termios.ICRNL
        during[3] |= termios.ICANON | termios.ECHO | termios.ISIG
        if during != before:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, during)
        try:
            yield Keyboard(descriptor)
        finally:
            if during != before:
                with contextlib.suppress(termios.error):
                    termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
    finally:
        os.close(descriptor)
