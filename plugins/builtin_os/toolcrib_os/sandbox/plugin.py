"""Offers the runtime `sandbox`."""

from __future__ import annotations

from toolcrib import RuntimeContribution, hookimpl


@hookimpl
def contribute_runtime() -> RuntimeContribution:
    return RuntimeContribution(
        id="sandbox",
        factory="toolcrib_os.sandbox.runtime:SandboxRuntime",
        capabilities=frozenset({"fs", "process"}),
        settings={"sandbox": "toolcrib_os.sandbox.settings:SandboxSettings"},
        description=(
            "This machine under bubblewrap: only the workspace is writable, secrets are hidden, "
            "no network, limited resources."
        ),
    )
