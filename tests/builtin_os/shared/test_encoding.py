"""Encodings by the first bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_os.shared.encoding import Encoding, classify, legacy_candidates


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"", Encoding("utf-8")),
        (b"plain", Encoding("utf-8")),
        (b"\xef\xbb\xbfx", Encoding("utf-8", b"\xef\xbb\xbf")),
        (b"\xff\xfeh\0", Encoding("utf-16le", b"\xff\xfe")),
        (b"\xfe\xff\0h", Encoding("utf-16be", b"\xfe\xff")),
        ("漢字".encode("utf-16"), Encoding("utf-16le", b"\xff\xfe")),
        ("héllo".encode("utf-16-le"), Encoding("utf-16le")),
        ("héllo".encode("utf-16-be"), Encoding("utf-16be")),
        (b"one\0zero", "binary"),
        (b"\0\0both", "binary"),
        (b"\x01\x02\x03abc", "binary"),
        (b"tab\tand\r\nline ends", Encoding("utf-8")),
        (b"\xc4\xe3\xba\xc3\n", "other"),
        (b"\x01\x02\xff\x03", "binary"),
        (b"x" * 511 + "é".encode(), Encoding("utf-8")),
        (b"x" * 600 + b"\0", Encoding("utf-8")),
    ],
)
def test_classification(head: bytes, expected: object) -> None:
    assert classify(head) == expected


@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from(
        [
            Encoding("utf-8"),
            Encoding("utf-8", b"\xef\xbb\xbf"),
            Encoding("utf-16le", b"\xff\xfe"),
            Encoding("utf-16be", b"\xfe\xff"),
        ]
    ),
)
def test_files_are_decoded_and_encoded_without_a_change(text: str, encoding: Encoding) -> None:
    assert encoding.decode(encoding.encode(text)) == text


def test_lone_surrogates_never_raise() -> None:
    assert Encoding("utf-8").encode("a\udc80") == "a\ufffd".encode()


def test_older_encodings_are_guessed_by_what_makes_sense() -> None:
    assert "gb18030" in legacy_candidates("你好".encode("gb18030"))
    assert "cp1251" in legacy_candidates("Ёлка ü".encode("cp1251", "ignore") + b"\xb8 \xff")
