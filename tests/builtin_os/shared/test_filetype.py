"""Pictures and videos told from text."""

from __future__ import annotations

import pytest

from toolcrib_os.shared.filetype import media_type, sniff, text_type

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
BMP = b"BM" + (70).to_bytes(4, "little") + bytes(4) + b"\x36\0\0\0" + b"\x28\0\0\0" + bytes(50)


@pytest.mark.parametrize(
    ("head", "media"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a....", "image/gif"),
        (BMP, "image/bmp"),
        (b"II*\0", "image/tiff"),
        (b"\0\0\1\0\1\0", "image/x-icon"),
        (b"RIFF\1\2\3\4WEBPVP8 ", "image/webp"),
        (b"RIFF\1\2\3\4AVI LIST", "video/x-msvideo"),
        (b"FLV\1\5\0\0\0\x09", "video/x-flv"),
        (b"\x1a\x45\xdf\xa3....webm", "video/webm"),
        (b"\x1a\x45\xdf\xa3....matroska", "video/x-matroska"),
        (b"\0\0\0\x20ftypavif", "image/avif"),
        (b"\0\0\0\x20ftypmif1", "image/heif"),
        (b"\0\0\0\x20ftypisom", "video/mp4"),
        (b"\0\0\0\x20ftypqt  ", "video/quicktime"),
        (b"\0\0\0\x20ftypM4V ", "video/x-m4v"),
    ],
)
def test_magic_bytes(head: bytes, media: str) -> None:
    found = sniff(head)
    assert found is not None and found.media_type == media


@pytest.mark.parametrize("head", [b"", b"BM is short for benchmark", b"FLV files", b"RIFF raff"])
def test_text_that_starts_like_a_magic_is_no_picture(head: bytes) -> None:
    assert sniff(head) is None


@pytest.mark.parametrize(
    ("path", "head", "kind"),
    [
        ("a.py", b"text", "text"),
        ("a.svg", b"<svg/>", "text"),
        ("a.ts", b"const a = 1", "text"),
        (".gitignore", b"*.log", "text"),
        (".png", b"text", "text"),
        ("a.key", b"plain text", "text"),
        ("a.png", PNG, "image"),
        ("a.JPG", PNG, "image"),
        ("a", PNG, "image"),
        ("a.mp4", PNG, "unknown"),
        ("a.png", b"text", "unknown"),
        ("a.dat", b"nul\0", "unknown"),
        ("a.mkv", b"anything", "video"),
    ],
)
def test_kind_for_reading_text(path: str, head: bytes, kind: str) -> None:
    assert text_type(path, head).kind == kind


@pytest.mark.parametrize(
    ("path", "head", "kind"),
    [("a.txt", PNG, "image"), ("a.png", b"<svg/>", "unknown"), ("a.mp4", b"", "video")],
)
def test_kind_for_reading_media(path: str, head: bytes, kind: str) -> None:
    assert media_type(path, head).kind == kind
