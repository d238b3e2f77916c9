"""Offers AcmeShout, which is off until the feature `acme-extras` is turned on."""

from __future__ import annotations

from toolcrib import Feature, ToolContribution, hookimpl


@hookimpl
def contribute_feature() -> Feature:
    return Feature(
        name="acme-extras",
        description="The louder tools of acme.",
        default=False,
        surface="the tool AcmeShout",
    )


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="AcmeShout", factory="acme_tools.shout.tool:shout", feature="acme-extras"
    )
