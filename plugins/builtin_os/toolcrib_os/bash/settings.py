"""The `[bash]` table of the configuration."""

from __future__ import annotations

from attrs import Attribute, field, frozen

from toolcrib import settings

MAX_BACKGROUND_S = 86_400
"""The longest time limit in seconds that a call can ask for in the background: a day."""


def _positive(instance: object, attribute: Attribute[int], value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"bash.{attribute.name} must be a positive whole number, not {value!r}")


def _not_negative(instance: object, attribute: Attribute[int], value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(
            f"bash.{attribute.name} must be a whole number of seconds, 0 for no limit, "
            f"not {value!r}"
        )


@settings("bash")
@frozen(kw_only=True)
class BashSettings:
    """How long a command may take.

    `default_timeout_s` is the limit in seconds of a call that names none, `max_timeout_s` the
    largest that a call gets. A command that reaches its limit is moved to the background with
    `auto_background_on_timeout`, else it is killed. `background_timeout_s` is the limit of one
    that was moved, or was started there without a limit of its own; 0 for none.
    """

    default_timeout_s: int = field(default=60, validator=_positive)
    max_timeout_s: int = field(default=300, validator=_positive)
    auto_background_on_timeout: bool = True
    background_timeout_s: int = field(default=600, validator=_not_negative)

    @property
    def effective_default_s(self) -> int:
        """The default limit in seconds, which the maximum bounds too."""
        return min(self.default_timeout_s, self.max_timeout_s)
