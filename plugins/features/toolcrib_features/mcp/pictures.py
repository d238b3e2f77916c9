"""Pictures as models take them: told by their first bytes, and not larger than they look at."""

from __future__ import annotations

import struct
from importlib import import_module
from io import BytesIO
from typing import Any

from attrs import field, frozen

LONGEST_EDGE = 2_000
"""Pixels; what is longer is scaled down where that can be done."""
MAX_EDGE = 8_000
"""Pixels; a request with a longer one is refused as a whole by model providers."""
MAX_PIXELS = 50_000_000
"""What is unpacked at all; it takes up to 4 bytes for each of them."""

SUFFIXES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
}
"""The pictures that models take."""


@frozen(kw_only=True)
class Picture:
    """A picture with its true type and size in pixels; None where the size is not to be found."""

    data: bytes = field(repr=False)
    media_type: str
    size: tuple[int, int] | None

    @property
    def longest(self) -> int:
        return max(self.size) if self.size else 0

    @property
    def dimensions(self) -> str:
        return "{}x{} pixels".format(*self.size) if self.size else "unknown size"


def picture(data: bytes) -> Picture | None:
    """What these bytes are, if they are a picture that models take."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return Picture(data=data, media_type="image/png", size=_unpacked(">16xII", data))
    if data.startswith(b"\xff\xd8\xff"):
        return Picture(data=data, media_type="image/jpeg", size=_jpeg_size(data))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return Picture(data=data, media_type="image/gif", size=_unpacked("<6xHH", data))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return Picture(data=data, media_type="image/webp", size=_webp_size(data))
    return None


def scaled_down(original: Picture) -> Picture | None:
    """The picture within the longest edge; None without Pillow, or when it cannot read it."""
    try:
        image, operations = import_module("PIL.Image"), import_module("PIL.ImageOps")
    except ImportError:
        return None
    if original.size is None or original.size[0] * original.size[1] > MAX_PIXELS:
        return None
    try:
        with image.open(BytesIO(original.data), formats=["PNG", "JPEG", "GIF", "WEBP"]) as opened:
            return _encoded(operations.exif_transpose(opened), original.media_type)
    except Exception:
        # A broken picture makes Pillow raise nearly anything; the original is there to be kept.
        return None


def _encoded(image: Any, media_type: str) -> Picture:
    image.thumbnail((LONGEST_EDGE, LONGEST_EDGE))
    kind = "JPEG" if media_type == "image/jpeg" else "PNG"
    written = BytesIO()
    image.save(written, format=kind)
    return Picture(data=written.getvalue(), media_type=f"image/{kind.lower()}", size=image.size)


def _unpacked(layout: str, data: bytes) -> tuple[int, int] | None:
    try:
        width, height = struct.unpack_from(layout, data)
    except struct.error:
        return None
    return width, height


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """The size is in the frame header, behind any number of other segments."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        if marker == 0xFF:  # a fill byte
            at += 1
        elif marker in (0x01, *range(0xD0, 0xD8)):  # those without a length
            at += 2
        else:
            at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    kind, head = data[12:16], data[20:30]
    if len(head) < 10:
        return None
    if kind == b"VP8X":
        return (
            1 + int.from_bytes(head[4:7], "little"),
            1 + int.from_bytes(head[7:10], "little"),
        )
    if kind == b"VP8L":
        bits = int.from_bytes(head[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", head, 6)
        return width & 0x3FFF, height & 0x3FFF
    return None
