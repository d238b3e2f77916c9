"""Raises when it is asked for its profiles."""

from toolcrib import Profile, hookimpl


@hookimpl
def contribute_profile() -> Profile:
    raise RuntimeError("contribute_profile of broken-profile")
