"""What encoding a file is in, judged by its first bytes."""

from __future__ import annotations

import codecs
import re
from typing import Literal

from attrs import frozen

from toolcrib_os.shared.text import without_surrogates

SAMPLE_BYTES = 512

Charset = Literal["utf-8", "utf-16le", "utf-16be"]
Unreadable = Literal["binary", "other"]

_BOMS: tuple[tuple[bytes, Charset], ...] = (
    (codecs.BOM_UTF16_BE, "utf-16be"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
    (codecs.BOM_UTF8, "utf-8"),
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_MAX_CONTROL_SHARE = 0.3
_LEGACY = ("gb18030", "shift_jis", "euc_jp", "euc_kr", "big5", "cp1251", "cp1252")


@frozen
class Encoding:
    """A Unicode encoding and the byte order mark that a file in it starts with, if any."""

    charset: Charset
    bom: bytes = b""

    @property
    def label(self) -> str:
        """The name for people, such as `UTF-16LE with BOM`."""
        return self.charset.upper() + (" with BOM" if self.bom else "")

    def decode(self, data: bytes) -> str:
        """Whole file contents as text without BOM; raises UnicodeDecodeError."""
        return data.removeprefix(self.bom).decode(self.charset)

    def encode(self, text: str) -> bytes:
        """Text as whole file contents, with the BOM the file had; never raises."""
        return self.bom + without_surrogates(text).encode(self.charset)


UTF_8 = Encoding("utf-8")


def classify(head: bytes) -> Encoding | Unreadable:
    """Judge a file by its head.

    Args:
        head: the first bytes of the file; only the first 512 count.

    Returns:
        The encoding; `binary` if this is no text at all; `other` if it may be text in an encoding
        that is not a Unicode one. An encoding is a promise about the head only: decode strictly.
    """
    sample = head[:SAMPLE_BYTES]
    for bom, charset in _BOMS:
        if sample.startswith(bom):
            return Encoding(charset, bom)
    if b"\0" in sample:
        return _by_zeros(sample)
    try:
        text, _ = codecs.utf_8_decode(sample, "strict", False)
    except UnicodeDecodeError:
        return "binary" if _mostly_controls(sample.decode("cp437")) else "other"
    return "binary" if _mostly_controls(text) else UTF_8


def legacy_candidates(data: bytes) -> list[str]:
    """Up to three older encodings in which these bytes make sense, likely ones first."""
    fitting = []
    for charset in _LEGACY:
        try:
            text = codecs.getincrementaldecoder(charset)().decode(data, False)
        except UnicodeDecodeError:
            continue
        if _CONTROLS.search(text) is None:
            fitting.append(charset)
    return fitting[:3]


def _by_zeros(sample: bytes) -> Encoding | Unreadable:
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd >= 2 and even == 0:
        return Encoding("utf-16le")
    if even >= 2 and odd == 0:
        return Encoding("utf-16be")
    return "binary"


def _mostly_controls(text: str) -> bool:
    return len(_CONTROLS.findall(text)) > _MAX_CONTROL_SHARE * len(text)
