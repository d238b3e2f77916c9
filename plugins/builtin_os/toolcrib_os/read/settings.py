"""The `[read]` table of the configuration."""

from __future__ import annotations

from attrs import Attribute, field, frozen

from toolcrib import settings


def _positive(instance: object, attribute: Attribute[int], value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"read.{attribute.name} must be a positive whole number, not {value!r}")


@settings("read")
@frozen(kw_only=True)
class ReadSettings:
    """How much text one Read returns.

    `default_max_chars` is the budget in characters of a call that names none, `max_chars` the
    largest that a call may ask for.
    """

    default_max_chars: int = field(default=100_000, validator=_positive)
    max_chars: int = field(default=500_000, validator=_positive)

    @property
    def effective_default(self) -> int:
        """The default budget, which the maximum bounds too."""
        return min(self.default_max_chars, self.max_chars)
