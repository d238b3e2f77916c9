"""The functions that the conformance cases name, each imported when it is first called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def _function(dotted: str) -> Any:
    module, _, name = dotted.rpartition(".")
    return getattr(import_module(module), name)


def _same_shape(dotted: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return _function(dotted)(*args, **kwargs)

    return call


def _is_tool_active(policy: Mapping[str, Sequence[str]], name: str, source: str) -> Any:
    from toolcrib.policy import ToolPolicy, is_tool_active

    return is_tool_active(ToolPolicy(**policy), name, source)


def _conflict(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> Any:
    from toolcrib.accesses import conflict

    return conflict(_accesses(left), _accesses(right))


def _accesses(items: list[dict[str, Any]]) -> Any:
    from toolcrib.accesses import Accesses, FileAccess

    if any(item["kind"] == "all" for item in items):
        return Accesses.all()
    return Accesses(
        tuple(
            FileAccess(item["operation"], item["path"], item.get("recursive", False))
            for item in items
        )
    )


def _resolve_path_access(**args: Any) -> dict[str, Any]:
    from toolcrib.paths import resolve_path_access

    resolved = resolve_path_access(**args)
    return {"path": resolved.path, "outside_workspace": resolved.outside_workspace}


def _parse_arguments(raw: object) -> dict[str, Any]:
    from toolcrib.arguments import parse_arguments

    parsed = parse_arguments(raw)
    return {"data": parsed.data, "parse_failed": parsed.parse_failed}


BINDINGS: dict[str, Callable[..., Any]] = {
    dotted: _same_shape(dotted)
    for dotted in (
        "toolcrib.mcp.naming.qualify_tool_name",
        "toolcrib.paths.is_sensitive_file",
        "toolcrib.policy.find_inactive_tool_patterns",
        "toolcrib.rules.literal_rule",
        "toolcrib.rules.match_glob_rule",
        "toolcrib.rules.match_path_rule",
        "toolcrib.rules.parse_rule",
        "toolcrib.schema.close_object_nodes",
        "toolcrib.truncation.exceeds_budget",
        "toolcrib.truncation.render_preview",
        "toolcrib.validation.validate_args",
    )
} | {
    "toolcrib.accesses.conflict": _conflict,
    "toolcrib.contract.parse_arguments": _parse_arguments,
    "toolcrib.paths.resolve_path_access": _resolve_path_access,
    "toolcrib.policy.is_tool_active": _is_tool_active,
}
