"""A profile that leaves two tools."""

from __future__ import annotations

from toolcrib import Profile, hookimpl


@hookimpl
def contribute_profile() -> Profile:
    return Profile(
        name="acme-review",
        description="Look at files, count things, change nothing.",
        tools=("AcmeCount", "Read"),
        mode="yolo",
    )
