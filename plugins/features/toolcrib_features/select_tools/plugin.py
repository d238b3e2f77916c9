"""Offers select_tools, for models that take in tools in the course of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib import Feature, ToolContribution, hookimpl

if TYPE_CHECKING:
    from toolcrib import ActivationContext

FEATURE = "tool-select"
NEEDED = frozenset({"dynamically_loaded_tools", "tool_use"})


@hookimpl
def contribute_feature() -> Feature:
    return Feature(
        name=FEATURE,
        description="Deferred tools are announced by name, and loaded when the model selects them.",
        default=False,
        surface="the tool select_tools instead of those that are deferred",
        plugins=("feature-select-tools",),
    )


def takes_in_tools(context: ActivationContext) -> bool:
    """the model cannot take in tools: the host has to say that it has the capabilities \
dynamically_loaded_tools and tool_use (open_session, use_model)"""
    return context.model_capabilities >= NEEDED


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="select_tools",
        factory="toolcrib_features.select_tools.tool:SelectTools",
        domain="select",
        source="builtin",
        feature=FEATURE,
        when=takes_in_tools,
        always_listed=True,
    )
