"""The exceptions of toolcrib; each class says who has to act on it."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

PathProblem = Literal[
    "PATH_INVALID", "PATH_SENSITIVE", "PATH_OUTSIDE_WORKSPACE", "PATH_HIDDEN", "PATH_READ_ONLY"
]
RuntimeProblem = Literal[
    "runtime.not_found",
    "runtime.unavailable",
    "runtime.capability_unavailable",
    "runtime.conflict",
]


class ToolcribError(Exception):
    """Base of every exception that toolcrib raises on purpose."""


class PathSecurityError(ToolcribError):
    """A path that a tool must not touch; the model acts on it, by giving another path.

    Attributes:
        code: which rule the path breaks.
        path: the path as it was given.
    """

    def __init__(self, message: str, *, code: PathProblem, path: str) -> None:
        super().__init__(message)
        self.code = code
        self.path = path


class RuntimeUnavailable(ToolcribError):
    """A runtime that cannot be used, or not for this; whoever chose it acts on it.

    Attributes:
        code: what is the matter: there is none of the name, its status does not allow its use, it
            lacks a capability, or another runtime has its name.
        runtime: its name.
    """

    def __init__(self, message: str, *, code: RuntimeProblem, runtime: str) -> None:
        super().__init__(message)
        self.code = code
        self.runtime = runtime


class RuleError(ToolcribError, ValueError):
    """A permission rule that cannot be understood; the user who wrote the rule acts on it."""


class ContractError(ToolcribError):
    """A tool that cannot be one; its author acts on it."""


class ServiceError(ToolcribError):
    """A service that is missing or needs itself; the author of the tool or plugin acts on it."""


class StateError(ToolcribError):
    """A file of toolcrib's own state that cannot be used; the user who owns it acts on it."""


class PluginError(ToolcribError):
    """A plugin that cannot be used; its author, or who installed it, acts on it."""


@frozen(kw_only=True)
class Notice:
    """Something to say about one place of the configuration.

    Attributes:
        file: a path, or where else the value comes from (`environment variable NAME`).
        line: counted from 1; None where there are no lines.
        key: dotted, as in `permission.rules[0].pattern`; empty when the whole file is meant.
        text: what is wrong, and what to do instead.
    """

    file: str
    line: int | None = None
    column: int | None = None
    key: str = ""
    text: str

    @classmethod
    def at(cls, place: str, *, key: str, text: str) -> Notice:
        """A notice about a place written as `file:line`, or about any other source."""
        file, _, line = place.rpartition(":")
        if file and line.isdecimal():
            return cls(file=file, line=int(line), key=key, text=text)
        return cls(file=place, key=key, text=text)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        return ": ".join(part for part in (place, self.key, self.text) if part)


class ConfigError(ToolcribError):
    """The configuration cannot be used; the user who wrote it acts on it.

    Attributes:
        problems: everything that was found, in the order of the sources.
        file, line, key: those of the first problem.
    """

    def __init__(self, *problems: Notice) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems
        self.file = problems[0].file
        self.line = problems[0].line
        self.key = problems[0].key
