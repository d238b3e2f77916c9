"""Offers the runtime `acme-crate`."""

from __future__ import annotations

from toolcrib import RuntimeContribution, hookimpl


@hookimpl
def contribute_runtime() -> RuntimeContribution:
    return RuntimeContribution(
        id="acme-crate",
        factory="acme_tools.crate.runtime:crate",
        capabilities=frozenset({"fs", "process"}),
        description="This machine, where file tools write into the folder `crate` alone.",
    )
