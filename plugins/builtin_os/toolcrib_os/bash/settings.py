"""The `[bash]` table of the configuration."""

from __future__ import annotations

from attrs import Attribute, field, frozen

from toolcrib import settings


def _positive(instance: object, attribute: Attribute[int], value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"bash.{attribute.name} must be a positive whole number, not {value!r}")


@settings("bash")
@frozen(kw_only=True)
class BashSettings:
    """How long a command may take.

    `default_timeout_s` is the limit in seconds of a call that names none, `max_timeout_s` the
    largest that a call gets.
    """

    default_timeout_s: int = field(default=60, validator=_positive)
    max_timeout_s: int = field(default=300, validator=_positive)

    @property
    def effective_default_s(self) -> int:
        """The default limit in seconds, which the maximum bounds too."""
        return min(self.default_timeout_s, self.max_timeout_s)
