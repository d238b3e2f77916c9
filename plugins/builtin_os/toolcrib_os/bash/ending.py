"""How a command ended, in the words of the result."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from typing import Literal

from attrs import frozen

from toolcrib import Remains
from toolcrib_os.bash.limits import TimeLimit

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
    """How a command ended.

    Attributes:
        returncode: its exit code, negative for a signal.
        seconds: how long it ran.
        remains: what was still there of it; None when it is still being ended.
        problem: why not all of its output could be read.
    """

    how: How
    returncode: int | None
    seconds: float
    limit: TimeLimit
    remains: Remains | None
    problem: OSError | None = None

    @property
    def succeeded(self) -> bool:
        return self.how == "exited" and self.returncode == 0 and self.problem is None


def exit_code(returncode: int | None) -> int | None:
    """An exit code as a shell counts it: 128 and the number for a signal."""
    return 128 - returncode if returncode is not None and returncode < 0 else returncode


def signal_name(returncode: int) -> str | None:
    """The signal that an exit code, negative or as a shell counts it, stands for."""
    try:
        return signal.Signals(-returncode if returncode < 0 else returncode - 128).name
    except ValueError:
        return None


def listed(processes: Mapping[int, str]) -> str:
    """The names of the first of some processes, with their ids."""
    shown = [f"{name} ({pid})" for pid, name in sorted(processes.items())[:_LISTED]]
    more = len(processes) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def describe_ending(ending: Ending, output: str, *, silent: bool) -> str:
    """The last line of the result; empty when a successful command wrote something."""
    if ending.how == "timed out":
        return _timed_out(ending)
    if ending.how == "interrupted":
        return f"Command was interrupted after {duration(ending.seconds)} and killed."
    if ending.succeeded:
        return "Command succeeded without output." if silent else ""
    if ending.problem is not None and ending.returncode == 0:
        return f"Command failed: its output could not be read: {ending.problem}."
    hint = (
        " It asked for a terminal, and there is none here: pass what it would ask for by options, "
        "variables or files."
        if any(sign in output for sign in _WANTS_TERMINAL)
        else ""
    )
    return _failed(ending) + hint


def note_on(ending: Ending, *, nul_replaced: bool) -> str:
    """What else there is to know: code and time, and what was changed or left behind."""
    code = f"exit code {exit_code(ending.returncode)}" if ending.how == "exited" else ending.how
    parts = [f"{code}, {duration(ending.seconds)}"]
    if ending.limit.note:
        parts.append(ending.limit.note)
    parts += _remains(ending)
    if nul_replaced:
        parts.append("the output is binary in part; each NUL byte is shown as ␀")
    return "; ".join(parts)


def _remains(ending: Ending) -> Iterator[str]:
    if ending.remains is None:
        yield "it takes long to end, which goes on"
        return
    stopped, survivors = ending.remains.stopped, ending.remains.survivors
    if ending.how == "exited" and stopped:
        yield (
            f"{_counted(len(stopped))} that the command left in the background "
            f"{'was' if len(stopped) == 1 else 'were'} stopped: {listed(stopped)}"
        )
    if survivors:
        yield f"{_counted(len(survivors))} could not be killed: {listed(survivors)}"


def _timed_out(ending: Ending) -> str:
    limit = ending.limit
    advice = (
        f" If it needs longer, give a timeout of up to {limit.max_s} s."
        if limit.seconds < limit.max_s
        else " That is the longest a command may take."
    )
    return f"Command timed out after {limit.seconds} s and was killed.{advice}"


def _failed(ending: Ending) -> str:
    code = exit_code(ending.returncode)
    name = None if ending.returncode is None else signal_name(ending.returncode)
    if name is None or ending.returncode is None:
        return f"Command failed with exit code {code}."
    cause = _CAUSES.get(signal.Signals[name])
    why = f" ({cause})" if cause else ""
    if ending.returncode < 0:
        return f"Command was killed by {name}{why}: exit code {code}."
    return f"Command failed with exit code {code}, as after {name}{why}."


def duration(seconds: float) -> str:
    """A time in words."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _counted(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"
