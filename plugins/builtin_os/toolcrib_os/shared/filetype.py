"""Pictures and videos, told from text by their first bytes and their names."""

from __future__ import annotations

import posixpath
from typing import Literal

from attrs import frozen

Kind = Literal["text", "image", "video", "unknown"]

HEAD_BYTES = 512


@frozen
class FileType:
    """What a file is; `media_type` is its MIME type."""

    kind: Kind
    media_type: str


TEXT = FileType("text", "text/plain")
UNKNOWN = FileType("unknown", "application/octet-stream")

_IMAGE_SUFFIXES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "bmp": "image/bmp",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "webp": "image/webp",
    "ico": "image/x-icon",
    "heic": "image/heic",
    "heif": "image/heif",
    "avif": "image/avif",
    "svgz": "image/svg+xml",
}
_VIDEO_SUFFIXES = {
    "mp4": "video/mp4",
    "mpg": "video/mpeg",
    "mpeg": "video/mpeg",
    "mkv": "video/x-matroska",
    "avi": "video/x-msvideo",
    "mov": "video/quicktime",
    "ogv": "video/ogg",
    "wmv": "video/x-ms-wmv",
    "webm": "video/webm",
    "m4v": "video/x-m4v",
    "flv": "video/x-flv",
    "3gp": "video/3gpp",
    "3g2": "video/3gpp2",
}
_PREFIXES = (
    (b"\x89PNG\r\n\x1a\n", FileType("image", "image/png")),
    (b"\xff\xd8\xff", FileType("image", "image/jpeg")),
    (b"GIF87a", FileType("image", "image/gif")),
    (b"GIF89a", FileType("image", "image/gif")),
    (b"II*\0", FileType("image", "image/tiff")),
    (b"MM\0*", FileType("image", "image/tiff")),
    (b"\0\0\1\0", FileType("image", "image/x-icon")),
    (bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c"), FileType("video", "video/x-ms-wmv")),
)
_BRANDS = {
    **dict.fromkeys(("avif", "avis"), FileType("image", "image/avif")),
    **dict.fromkeys(("heic", "heix", "hevc"), FileType("image", "image/heic")),
    **dict.fromkeys(("heif", "mif1", "msf1"), FileType("image", "image/heif")),
    **dict.fromkeys(
        ("isom", "iso2", "iso5", "mp41", "mp42", "avc1", "mp4v"), FileType("video", "video/mp4")
    ),
    "m4v": FileType("video", "video/x-m4v"),
    "qt": FileType("video", "video/quicktime"),
    **dict.fromkeys(("3gp4", "3gp5", "3gp6", "3gp7"), FileType("video", "video/3gpp")),
    "3g2": FileType("video", "video/3gpp2"),
}
_BMP_HEADER_SIZES = (12, 16, 40, 52, 56, 64, 108, 124)


def sniff(head: bytes) -> FileType | None:
    """The picture or video that starts with these bytes (512 are enough), or None."""
    for magic, found in _PREFIXES:
        if head.startswith(magic):
            return found
    if head[:4] == b"RIFF":
        if head[8:12] == b"WEBP":
            return FileType("image", "image/webp")
        return FileType("video", "video/x-msvideo") if head[8:12] == b"AVI " else None
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12].decode("latin-1").lower().strip(" \0"))
    if head[:4] == b"\x1a\x45\xdf\xa3":
        return _matroska(head)
    return _weak_magic(head)


def text_type(path: str, head: bytes) -> FileType:
    """What Read takes a file for: a name and contents that contradict each other are `unknown`."""
    hint, found = hint_of(path), sniff(head)
    if found is not None:
        if hint is None:
            return found
        return hint if hint.kind == found.kind else UNKNOWN
    if (hint is not None and hint.kind == "image") or b"\0" in head[:HEAD_BYTES]:
        return UNKNOWN
    return hint or TEXT


def media_type(path: str, head: bytes) -> FileType:
    """What ReadMediaFile takes a file for: the contents decide."""
    return sniff(head) or text_type(path, head)


def hint_of(path: str) -> FileType | None:
    """The type that the suffix of a name stands for; None when it says nothing."""
    suffix = posixpath.splitext(path)[1][1:].lower()
    if suffix == "svg":
        return FileType("text", "image/svg+xml")
    if suffix in _IMAGE_SUFFIXES:
        return FileType("image", _IMAGE_SUFFIXES[suffix])
    if suffix in _VIDEO_SUFFIXES:
        return FileType("video", _VIDEO_SUFFIXES[suffix])
    return None


def _matroska(head: bytes) -> FileType | None:
    if b"webm" in head[:HEAD_BYTES]:
        return FileType("video", "video/webm")
    return FileType("video", "video/x-matroska") if b"matroska" in head[:HEAD_BYTES] else None


def _weak_magic(head: bytes) -> FileType | None:
    """Magics that plain text may start with count only with a plausible header behind them."""
    header_size = int.from_bytes(head[14:18], "little")
    if head[:2] == b"BM" and head[6:10] == b"\0\0\0\0" and header_size in _BMP_HEADER_SIZES:
        return FileType("image", "image/bmp")
    if head[:4] == b"FLV\1" and len(head) > 4 and not head[4] & ~0x05:
        return FileType("video", "video/x-flv")
    return None
