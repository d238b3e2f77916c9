"""Edits of files of every kind: outside the replaced text not one byte changes."""

from __future__ import annotations

import asyncio
import codecs
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib import RunnableExecution, ToolContext, ToolResult, Workspace
from toolcrib_os.edit.input import EditInput
from toolcrib_os.edit.matching import Document, spliced
from toolcrib_os.edit.tool import EditTool

PIECES = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        " ",
        "\t",
        "\f",
        "é",
        "e\u0301",
        "世",
        "😀",
        "\u2028",
        "\x85",
        "x = 1",
        "$1",
    ]
)
ENDINGS = {
    "lf": ["\n"],
    "crlf": ["\r\n"],
    "mixed": ["\n", "\r\n", "\r"],
    "returns": ["\r"],
}


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A text with one style of line endings, or all of them, and maybe no final one."""
    endings = ENDINGS[draw(st.sampled_from(sorted(ENDINGS)))]
    lines = draw(st.lists(st.lists(PIECES, max_size=4), max_size=8))
    text = "".join("".join(line) + draw(st.sampled_from(endings)) for line in lines)
    return text + "".join(draw(st.lists(PIECES, max_size=3)))


@st.composite
def cases(draw: st.DrawFn) -> tuple[bytes, str, str, bool]:
    """File content, old text (mostly one that is there), new text, whether to replace all."""
    text = draw(texts())
    bom = draw(st.sampled_from([b"", codecs.BOM_UTF8]))
    view = text.replace("\r\n", "\n") if is_crlf(text) else text
    if view and draw(st.integers(0, 9)):
        start = draw(st.integers(0, len(view) - 1))
        old = view[start : start + draw(st.integers(1, 6))]
    else:
        old = draw(texts().filter(bool))
    if draw(st.booleans()):
        old = old.replace("\n", "\r\n")
    return bom + text.encode(), old, draw(texts()), draw(st.booleans())


def is_crlf(text: str) -> bool:
    pairs = text.count("\r\n")
    return pairs > 0 and text.count("\r") == text.count("\n") == pairs


def expected(data: bytes, old: str, new: str, every: bool) -> bytes | None:
    """What the file must hold afterwards, worked out on text; None if the edit must fail."""
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    text = data.removeprefix(bom).decode()
    crlf = is_crlf(text)
    if crlf:
        text, old, new = (each.replace("\r\n", "\n") for each in (text, old, new))
    if old == new or not (text.count(old) == 1 or (every and old in text)):
        return None
    pieces = text.split(old)
    if crlf:
        pieces, new = [piece.replace("\n", "\r\n") for piece in pieces], new.replace("\n", "\r\n")
    return bom + new.join(pieces).encode()


def edit(root: Path, **arguments: object) -> ToolResult:
    tool = EditTool(Workspace(root=str(root)))
    execution = tool.resolve_execution(EditInput(path="f.txt", **arguments))  # type: ignore[arg-type]
    assert isinstance(execution, RunnableExecution)

    async def run() -> ToolResult:
        return await execution.execute(ToolContext(None, "1", "Edit"))

    return asyncio.run(run())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("edit")


@settings(max_examples=200, deadline=None)
@given(case=cases())
def test_an_edit_changes_what_it_says_and_nothing_else(
    root: Path, case: tuple[bytes, str, str, bool]
) -> None:
    """A failed one leaves even inode and modification time."""
    data, old, new, every = case
    file = root / "f.txt"
    file.write_bytes(data)
    before = file.stat()
    result = edit(root, old_string=old, new_string=new, replace_all=every)
    wanted = expected(data, old, new, every)
    after = file.stat()
    assert result.is_error == (wanted is None), result.output
    assert file.read_bytes() == (data if wanted is None else wanted)
    if wanted is None:
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [path.name for path in root.iterdir()] == ["f.txt"]


@settings(max_examples=100, deadline=None)
@given(
    data=st.binary(min_size=1, max_size=60)
    | texts().map(lambda text: text.encode("utf-16"))
    | texts().map(lambda text: text.encode("gb18030"))
    | st.text(st.characters(max_codepoint=255), min_size=1).map(lambda t: t.encode("latin-1")),
    old=st.sampled_from(["a", "x = 1", "\n"]),
)
def test_bytes_that_are_not_utf_8_are_never_touched(root: Path, data: bytes, old: str) -> None:
    """UTF-16, GB 18030, Latin-1 or noise: refused, unless they happen to be UTF-8."""
    file = root / "f.txt"
    file.write_bytes(data)
    before = file.stat()
    result = edit(root, old_string=old, new_string="Z", replace_all=True)
    if result.is_error:
        assert file.read_bytes() == data
        assert file.stat().st_mtime_ns == before.st_mtime_ns
    else:
        assert file.read_bytes().decode() == data.decode().replace(old, "Z") or b"\r" in data


@given(
    data=st.text(st.sampled_from("ab\r\n é"), max_size=40),
    old=st.text(st.sampled_from("ab\r\n é"), min_size=1, max_size=4),
    new=st.text(st.sampled_from("abc\n"), max_size=4),
)
def test_splices_keep_the_rest(data: str, old: str, new: str) -> None:
    """Bytes before, between and after the places are those of the original."""
    document = Document.of(data.encode())
    found = document.find(old)
    size = len(document.raw(old))
    result = spliced(document.data, found, size, new.encode())
    assert result == document.data.replace(document.raw(old), new.encode(), len(found) or 0)
