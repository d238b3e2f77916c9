"""Watches what Read shows, and judges Write and Edit by it."""

from __future__ import annotations

from toolcrib import Feature, ToolCall, hookimpl


@hookimpl
def contribute_feature() -> Feature:
    return Feature(
        name="stale-guard",
        description="Write and Edit need a Read of the file as it is now.",
        surface="refusals that ask to read a file first",
        plugins=("feature-stale-guard",),
        settings={"stale_guard": "toolcrib_features.stale_guard.settings:StaleGuardSettings"},
    )


@hookimpl(tools={"Read", "Write", "Edit"}, always=True)
def before_execute(call: ToolCall) -> None:
    from toolcrib_features.stale_guard.guard import guard

    guard(call)
