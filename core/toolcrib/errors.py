"""The exceptions of toolcrib; each class says who has to act on it."""

from __future__ import annotations

from typing import Literal

PathProblem = Literal["PATH_INVALID", "PATH_SENSITIVE", "PATH_OUTSIDE_WORKSPACE"]


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


class RuleError(ToolcribError, ValueError):
    """A permission rule that cannot be understood; the user who wrote the rule acts on it."""


class ContractError(ToolcribError):
    """A tool that cannot be one; its author acts on it."""


class ServiceError(ToolcribError):
    """A service that is missing or needs itself; the author of the tool or plugin acts on it."""


class PluginError(ToolcribError):
    """A plugin that cannot be used; its author, or who installed it, acts on it."""
