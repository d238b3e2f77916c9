"""Offers AcmeCount."""

from __future__ import annotations

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="AcmeCount",
        factory="acme_tools.count.tool:AcmeCount",
        domain="read",
        requires=frozenset({"fs"}),
        settings={"acme": "acme_tools.count.settings:AcmeSettings"},
    )
