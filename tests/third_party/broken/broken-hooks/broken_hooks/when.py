"""Raises when it is asked whether its tool fits."""

from toolcrib import ActivationContext, ToolContribution, hookimpl


def never_knows(context: ActivationContext) -> bool:
    raise RuntimeError("when of broken-when")


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="BrokenWhen", factory="broken_hooks.targets:before", when=never_knows
    )
