"""Runs tools through resolve and execute in a temporary workspace."""

from __future__ import annotations

import importlib
import inspect
import typing
from pathlib import Path
from typing import Any

from attrs import frozen

from toolcrib.contract.context import ToolContext
from toolcrib.contract.result import ToolResult
from toolcrib.contract.settings import section_of


@frozen
class Completion:
    id: str
    name: str
    outcome: str
    result: ToolResult


class ToolHarness:
    """INTERIM: replaced by one over the real session with the same interface."""

    def __init__(self, root: Path, *, home: Path | None = None, config: dict[str, Any] | None = None) -> None:
        self.root = root
        self.home = home
        self.config = config or {}
        self._tools: dict[str, Any] = {}

    def tool(self, name: str) -> Any:
        from toolcrib.paths import Workspace
        from toolcrib.runtime import LocalRuntime, Runtime

        if name not in self._tools:
            module = importlib.import_module(f"toolcrib_os.{name.lower()}.tool")
            cls = getattr(module, f"{name}Tool")
            values: dict[str, Any] = {}
            for key, hint in typing.get_type_hints(cls.__init__).items():
                if hint is Workspace:
                    values[key] = Workspace(root=str(self.root), home_dir=str(self.home) if self.home else None)
                elif hint is Runtime:
                    values[key] = LocalRuntime()
                elif section := section_of(hint):
                    values[key] = hint(**self.config.get(section, {}))
            self._tools[name] = cls(**values)
        return self._tools[name]

    async def call(self, name: str, arguments: dict[str, Any] | None = None, /, **more: Any) -> Completion:
        from toolcrib.errors import PathSecurityError
        from toolcrib.schema import structurer
        from toolcrib.validation import validate_args

        tool = self.tool(name)
        data = {**(arguments or {}), **more}
        if problem := validate_args(dict(tool.parameters), data):
            return Completion("1", name, "preflight-rejected", ToolResult.error(f'Invalid args for tool "{name}": {problem}'))
        try:
            execution = tool.resolve_execution(structurer(tool.Input)(data))
            if inspect.isawaitable(execution):
                execution = await execution
        except PathSecurityError as error:
            return Completion("1", name, "resolution-failed", ToolResult.error(str(error)))
        if isinstance(execution, ToolResult):
            return Completion("1", name, "synthetic", execution)
        result = await execution.execute(ToolContext(None, "1", name))
        return Completion("1", name, "executed", result)
