"""How strict the guard is."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen
from attrs.validators import in_

from toolcrib import settings

_MODES = ("error", "warn", "off")


@settings("stale_guard")
@frozen(kw_only=True)
class StaleGuardSettings:
    """`mode`: `error` refuses the call, `warn` adds a note to its result, `off` does nothing."""

    mode: Literal["error", "warn", "off"] = field(default="error", validator=in_(_MODES))
