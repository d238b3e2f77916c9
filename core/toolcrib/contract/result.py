"""What a call gives back: text or content parts, and how the host should treat them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import field, frozen


@frozen
class TextPart:
    """A piece of text for the model."""

    text: str


@frozen
class MediaPart:
    """A picture, a video or a sound for the model; `data` holds the raw bytes."""

    kind: Literal["image", "video", "audio"]
    media_type: str
    data: bytes = field(repr=False)


ContentPart = TextPart | MediaPart


@frozen(kw_only=True)
class SpilledOutput:
    """Text that was too long for the model and went to a file while it was produced.

    `path` is the absolute path of the file, or None when it could not be saved (`problem` says
    why). `total_chars` counts what was produced, `retained_chars` what the file holds. `head`
    and `tail` are the first and last characters, for the preview.
    """

    path: str | None
    total_chars: int
    retained_chars: int
    head: str
    tail: str
    problem: str | None = None


@frozen(kw_only=True)
class Delivery:
    """A message that the host puts into the conversation right after the result."""

    message: str
    kind: Literal["steer"] = "steer"


@frozen
class ToolResult:
    """The answer of one call.

    `output` is what the model reads, `note` an extra remark for the model that interfaces for
    people leave out. `is_error` marks a failure, `stop_turn` asks the host to end the turn after
    this batch. `truncated` says that the model does not see everything. `spill_exempt` results
    pass the output budget as they are: for tools that page by themselves. `spilled` stands for
    text that is already in a file; `output` then holds only what follows it. `structured` is what
    the output says as data, for programs; it is dropped when the output is changed or cut.
    """

    output: str | tuple[ContentPart, ...]
    is_error: bool = False
    stop_turn: bool = False
    truncated: bool = False
    note: str | None = None
    delivery: Delivery | None = None
    spill_exempt: bool = False
    spilled: SpilledOutput | None = None
    structured: Mapping[str, Any] | None = field(default=None, repr=False, hash=False)

    @staticmethod
    def error(message: str, *, note: str | None = None) -> ToolResult:
        """A failed call with a message for the model."""
        return ToolResult(message, is_error=True, note=note)
