"""How a command ended, in the words of the result."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Literal

from attrs import frozen

from toolcrib import Remains

_CAUSES = {
    signal.SIGKILL: "often because memory ran out",
    signal.SIGSEGV: "a crash by an invalid memory access",
    signal.SIGBUS: "a crash by an invalid memory access",
    signal.SIGABRT: "it gave up by itself, as after a failed assertion",
    signal.SIGFPE: "an arithmetic error such as a division by zero",
    signal.SIGILL: "an instruction that this processor does not know",
    signal.SIGPIPE: "whoever read its output had stopped reading",
    signal.SIGXCPU: "it used up its processor time",
    signal.SIGXFSZ: "it wrote a file larger than is allowed",
}
_WANTS_TERMINAL = (
    "/dev/tty",
    "terminal is required",
    "terminal prompts disabled",
    "not a tty",
    "not a terminal",
)
_LISTED = 5


How = Literal["exited", "timed out", "interrupted"]


@frozen(kw_only=True)
class Ending:
    """How a command ended; times are in seconds, `returncode` is negative for a signal."""

    how: How
    returncode: int | None
    seconds: float
    wanted_s: int
    max_s: int
    remains: Remains

    @property
    def limit_s(self) -> int:
        return min(self.wanted_s, self.max_s)

    @property
    def succeeded(self) -> bool:
        return self.how == "exited" and self.returncode == 0

    @property
    def exit_code(self) -> int | None:
        """The exit code as a shell counts it: 128 and the number for a signal."""
        code = self.returncode
        return 128 - code if code is not None and code < 0 else code


def describe_ending(ending: Ending, output: str, *, silent: bool) -> str:
    """The last line of the result; empty when a successful command wrote something."""
    if ending.how == "timed out":
        return _timed_out(ending)
    if ending.how == "interrupted":
        return f"Command was interrupted after {_duration(ending.seconds)} and killed."
    if ending.succeeded:
        return "Command succeeded without output." if silent else ""
    hint = (
        " It asked for a terminal, and there is none here: pass what it would ask for by options, "
        "variables or files."
        if any(sign in output for sign in _WANTS_TERMINAL)
        else ""
    )
    return _failed(ending) + hint


def note_on(ending: Ending, *, nul_replaced: bool) -> str:
    """What else there is to know: code and time, and what was changed or left behind."""
    code = f"exit code {ending.exit_code}" if ending.how == "exited" else ending.how
    parts = [f"{code}, {_duration(ending.seconds)}"]
    if ending.wanted_s > ending.max_s:
        parts.append(
            f"timeout is in seconds: {ending.wanted_s} was cut to the maximum of {ending.max_s}"
        )
    stopped, survivors = ending.remains.stopped, ending.remains.survivors
    if ending.how == "exited" and stopped:
        parts.append(
            f"{_counted(len(stopped))} that the command left in the background "
            f"{'was' if len(stopped) == 1 else 'were'} stopped: {_listed(stopped)}"
        )
    if survivors:
        parts.append(f"{_counted(len(survivors))} could not be killed: {_listed(survivors)}")
    if nul_replaced:
        parts.append("the output is binary in part; each NUL byte is shown as ␀")
    return "; ".join(parts)


def _timed_out(ending: Ending) -> str:
    advice = (
        f" If it needs longer, give a timeout of up to {ending.max_s} s."
        if ending.limit_s < ending.max_s
        else " That is the longest a command may take."
    )
    return f"Command timed out after {ending.limit_s} s and was killed.{advice}"


def _failed(ending: Ending) -> str:
    name = _signal_name(ending.returncode)
    if name is None:
        return f"Command failed with exit code {ending.exit_code}."
    number, cause = name
    why = f" ({cause})" if cause else ""
    if ending.returncode is not None and ending.returncode < 0:
        return f"Command was killed by {number}{why}: exit code {ending.exit_code}."
    return f"Command failed with exit code {ending.exit_code}, as after {number}{why}."


def _signal_name(returncode: int | None) -> tuple[str, str] | None:
    if returncode is None:
        return None
    try:
        number = signal.Signals(-returncode if returncode < 0 else returncode - 128)
    except ValueError:
        return None
    return number.name, _CAUSES.get(number, "")


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _counted(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def _listed(processes: Mapping[int, str]) -> str:
    shown = [f"{name} ({pid})" for pid, name in sorted(processes.items())[:_LISTED]]
    more = len(processes) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
