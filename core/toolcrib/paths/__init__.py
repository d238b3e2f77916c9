"""Where a path argument may lead: resolving, secrets and the limits of the workspace."""

from __future__ import annotations

from toolcrib.paths.repository import repository_root
from toolcrib.paths.resolve import Operation, ResolvedPath, resolve_path_access
from toolcrib.paths.sensitive import is_secret_store, is_sensitive_file
from toolcrib.paths.workspace import Workspace

__all__ = [
    "Operation",
    "ResolvedPath",
    "Workspace",
    "is_secret_store",
    "is_sensitive_file",
    "repository_root",
    "resolve_path_access",
]
