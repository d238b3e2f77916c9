"""Edit: what is replaced, what stays, and what is said when nothing can be."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from toolcrib.testing import ToolHarness


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("alpha beta\n", "beta", "gamma", "alpha gamma\n"),
        ("l1\nl2\nl3\n", "l2\nl3", "m2\nm3\nm4", "l1\nm2\nm3\nm4\n"),
        ("Hello world!", "world", "", "Hello !"),
        ("a\nb\nc\n", "b\n", "", "a\nc\n"),
        ("all of it", "all of it", "new", "new"),
        ("abc", "c", "cd\n", "abcd\n"),
        ("aaa", "aa", "X", "Xa"),
        ("a b c", "b", r"$& $1 \1 \g<0> %s {}", r"a $& $1 \1 \g<0> %s {} c"),
        ("f(a.b)*[c]+ f(axb)*[c]+", "f(a.b)*[c]+", "g", "g f(axb)*[c]+"),
        ("Hello 世界! café", "世界", "地球", "Hello 地球! café"),
        ("cafe\u0301 café", "café", "tea", "cafe\u0301 tea"),
        ("a\u2028b\x85c\fd\n", "b", "B", "a\u2028B\x85c\fd\n"),
        ("\tx = 1\n", "x = 1", "y = 2", "\ty = 2\n"),
        ("one\r\ntwo\r\nthree\r\n", "one\ntwo", "one\nTWO", "one\r\nTWO\r\nthree\r\n"),
        ("one\r\ntwo\r\nthree\r\n", "two\r\nthree", "2\r\n3", "one\r\n2\r\n3\r\n"),
        ("alpha\r\nbeta", "beta", "x\ny", "alpha\r\nx\r\ny"),
        ("a\r\nb\nc\rd", "b\nc\rd", "x\n", "a\r\nx\n"),
        ("\ufeffclass\n", "class", "klass", "\ufeffklass\n"),
        ("\ufeffclass\r\nx\r\n", "class\nx", "y", "\ufeffy\r\n"),
        ("nul\0 and old\n", "old", "new", "nul\0 and new\n"),
    ],
)
async def test_one_occurrence_is_replaced(
    crib: ToolHarness, workspace: Path, before: str, old: str, new: str, after: str
) -> None:
    """Literally, with the line endings of the file, and counted."""
    (workspace / "a.txt").write_bytes(before.encode())
    done = await crib.call("Edit", path="a.txt", old_string=old, new_string=new)
    assert not done.result.is_error, done.result.output
    assert "1 occurrence " in str(done.result.output)
    assert (workspace / "a.txt").read_bytes() == after.encode()


@pytest.mark.parametrize(
    ("before", "old", "new", "after", "count"),
    [
        ("aaaa", "aa", "X", "XX", 2),
        ("x;\r\ny;\r\nx;\r\ny;\r\n", "x;\ny;", "z;", "z;\r\nz;\r\n", 2),
        ("only once", "once", "1x", "only 1x", 1),
        ("a-a-a", "a", "aa", "aa-aa-aa", 3),
    ],
)
async def test_all_occurrences_are_replaced(
    crib: ToolHarness, workspace: Path, before: str, old: str, new: str, after: str, count: int
) -> None:
    """By the same matching as for one; what was put in is not searched again."""
    (workspace / "a.txt").write_bytes(before.encode())
    done = await crib.call("Edit", path="a.txt", old_string=old, new_string=new, replace_all=True)
    assert f"Replaced {count} occurrence" in str(done.result.output)
    assert (workspace / "a.txt").read_bytes() == after.encode()


async def test_an_ambiguous_text_is_refused_with_its_lines(
    crib: ToolHarness, workspace: Path
) -> None:
    """The model sees how often and where it occurs."""
    (workspace / "a.txt").write_text("x = 1\ny = 2\nx = 1\n")
    done = await crib.call("Edit", path="a.txt", old_string="x = 1\n", new_string="x = 3\n")
    assert done.result.is_error
    assert "2 times, on lines 1, 3" in str(done.result.output)
    assert "replace_all" in str(done.result.output)


@pytest.mark.parametrize(
    ("content", "old", "facts"),
    [
        ("Hello world!\n", "nothing like it", ["a.txt", "not found"]),
        ("\tindent\n", "    indent", ["white space", r"'\tindent'", "line 1"]),
        (
            "def f():\n    return 1\n\ndef f():\n\treturn 1\n",
            "def f():\n  return 1",
            ["lines 1, 4", r"line 5 is '\treturn 1'"],
        ),
        ("a \nb\n", "a\nb", ["white space", "line 1"]),
        ("a\u00a0b\n", "a b", ["white space", r"\xa0"]),
        ("x\nfoo\nbar\n", "     2\tfoo\n     3\tbar", ["line numbers", "line 2"]),
        ("x\nfoo\nbar\n", "foo\\nbar", ["escapes", "line 2"]),
        ("a\nb\n", "a\r\nb", ["line endings", "line feeds"]),
        ("a\r\nb\nc\n", "a\nb", ["line endings", "CRLF", "mixed"]),
        ("a\r\nb\r\n", "a\r", ["line endings"]),
        ("say \u201chi\u201d\n", 'say "hi"', ["look alike", r"\u201c"]),
        ("cafe\u0301 x\n", "café x", ["look alike", r"cafe\u0301"]),
        ("the new text\n", "the old text", ["already", "line 1"]),
    ],
)
async def test_a_text_that_is_not_found_is_explained(
    crib: ToolHarness, workspace: Path, content: str, old: str, facts: list[str]
) -> None:
    """Nothing fuzzy is applied, but the difference is named with its place."""
    file = workspace / "a.txt"
    file.write_bytes(content.encode())
    before = file.stat()
    done = await crib.call("Edit", path="a.txt", old_string=old, new_string="the new text")
    assert done.result.is_error
    for fact in ["not found", *facts]:
        assert fact in str(done.result.output)
    after = file.stat()
    assert file.read_bytes() == content.encode()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_the_nearest_text_is_shown_even_in_a_long_file(
    crib: ToolHarness, workspace: Path
) -> None:
    """With its line numbers, so that the next attempt can be right."""
    filler = "".join(f"value_{number} = {number}\n" for number in range(30_000))
    (workspace / "a.py").write_text(
        f"{filler}def compute_total(values, tax):\n    return sum(values) * tax\n{filler}"
    )
    done = await crib.call(
        "Edit",
        path="a.py",
        old_string="def compute_totals(values, tax):\n    return sum(values) + tax\n",
        new_string="pass",
    )
    assert "30001\tdef compute_total(values, tax):" in str(done.result.output)


async def test_the_result_shows_the_changed_lines_with_their_new_numbers(
    crib: ToolHarness, workspace: Path
) -> None:
    """In the form in which Read shows lines, at most twenty of them."""
    (workspace / "a.txt").write_bytes(b"".join(b"line %d\r\n" % n for n in range(1, 101)))
    done = await crib.call("Edit", path="a.txt", old_string="line 50\n", new_string="x\ny\n")
    head, *lines = str(done.result.output).split("\n")
    assert "lines 50-51" in head
    assert lines == ["48\tline 48", "49\tline 49", "50\tx", "51\ty", "52\tline 51", "53\tline 52"]
    done = await crib.call(
        "Edit", path="a.txt", old_string="line", new_string="LINE", replace_all=True
    )
    assert len(str(done.result.output).split("\n")) == 21


async def test_carriage_returns_brought_into_a_file_without_any_are_noted(
    crib: ToolHarness, workspace: Path
) -> None:
    """They are written, for they may be wanted."""
    (workspace / "a.txt").write_text("a\n")
    done = await crib.call("Edit", path="a.txt", old_string="a", new_string="b\r\nc")
    assert "carriage return" in str(done.result.output)
    assert (workspace / "a.txt").read_bytes() == b"b\r\nc\n"


@pytest.mark.parametrize(
    ("data", "facts"),
    [
        (b"name=caf\xe9\r\nv=1\r\n", ["iconv", "0xe9", "offset 8", "line 1"]),
        (b"\xc4\xe3\xba\xc3\nv=1\n", ["iconv"]),
        ("v=1\n".encode("utf-16"), ["UTF-16", "iconv"]),
        ("v=1\n".encode("utf-16-be"), ["UTF-16BE", "iconv"]),
        (b"v=1\n" * 1000 + b"\xff", ["offset 4000", "line 1001"]),
    ],
)
async def test_a_file_that_is_not_utf_8_is_refused_untouched(
    crib: ToolHarness, workspace: Path, data: bytes, facts: list[str]
) -> None:
    """The way out is named."""
    (workspace / "l.ini").write_bytes(data)
    done = await crib.call(
        "Edit", path="l.ini", old_string="v=1", new_string="v=2", replace_all=True
    )
    assert done.result.is_error
    for fact in facts:
        assert fact in str(done.result.output)
    assert (workspace / "l.ini").read_bytes() == data


async def test_texts_that_are_the_same_are_refused(crib: ToolHarness, workspace: Path) -> None:
    """Also when they differ in line endings that the file keeps anyway."""
    (workspace / "a.txt").write_bytes(b"a\r\nb\r\n")
    for old, new in (("a", "a"), ("a\n", "a\r\n")):
        done = await crib.call("Edit", path="a.txt", old_string=old, new_string=new)
        assert done.result.is_error
        assert "nothing to change" in str(done.result.output)


async def test_a_missing_file_and_a_directory_cannot_be_edited(
    crib: ToolHarness, workspace: Path
) -> None:
    """Edit never creates a file."""
    (workspace / "d").mkdir()
    missing = await crib.call("Edit", path="ghost.txt", old_string="a", new_string="b")
    assert "does not exist" in str(missing.result.output)
    assert not (workspace / "ghost.txt").exists()
    folder = await crib.call("Edit", path="d", old_string="a", new_string="b")
    assert "directory" in str(folder.result.output)
    assert missing.result.is_error
    assert folder.result.is_error


async def test_a_lone_surrogate_is_refused(crib: ToolHarness, workspace: Path) -> None:
    """In either text, with its offset."""
    (workspace / "a.txt").write_text("abc")
    for old, new in (("a\ud800", "b"), ("abc", "x\udfff")):
        done = await crib.call("Edit", path="a.txt", old_string=old, new_string=new)
        assert done.result.is_error
        assert "offset 1," in str(done.result.output)
    assert (workspace / "a.txt").read_text() == "abc"


async def test_mode_and_link_are_kept(crib: ToolHarness, workspace: Path) -> None:
    """The executable bit survives, and an edit goes through a link."""
    (workspace / "run.sh").write_text("#!/bin/sh\necho 1\n")
    (workspace / "run.sh").chmod(0o755)
    (workspace / "link").symlink_to("run.sh")
    await crib.call("Edit", path="link", old_string="1", new_string="2")
    assert (workspace / "link").is_symlink()
    assert (workspace / "run.sh").read_text() == "#!/bin/sh\necho 2\n"
    assert stat.S_IMODE((workspace / "run.sh").stat().st_mode) == 0o755


async def test_a_file_over_the_limit_is_refused(crib: ToolHarness, workspace: Path) -> None:
    """Without reading it."""
    with open(workspace / "big.txt", "wb") as file:
        file.truncate(65 * 1024 * 1024)
    done = await crib.call("Edit", path="big.txt", old_string="a", new_string="b")
    assert done.result.is_error
    assert str(65 * 1024 * 1024) in str(done.result.output)
    assert os.path.getsize(workspace / "big.txt") == 65 * 1024 * 1024


async def test_edits_of_one_batch_build_on_each_other(crib: ToolHarness, workspace: Path) -> None:
    """They run in the order of the response, whatever the spelling of the path."""
    (workspace / "f.txt").write_text("a\n")
    (workspace / "d").mkdir()
    (workspace / "l.txt").symlink_to("f.txt")
    done = await crib.batch(
        ("Edit", {"path": "f.txt", "old_string": "a", "new_string": "b"}),
        ("Edit", {"path": "d/../f.txt", "old_string": "b", "new_string": "c"}),
        ("Edit", {"path": "l.txt", "old_string": "c", "new_string": "d"}),
    )
    assert [completion.result.is_error for completion in done] == [False] * 3
    assert (workspace / "f.txt").read_text() == "d\n"


async def test_arguments_are_checked(crib: ToolHarness, workspace: Path) -> None:
    """An empty old text, a missing new one and the string `true` are refused by the schema."""
    (workspace / "a.txt").write_text("a a")
    base = {"path": "a.txt", "old_string": "a", "new_string": "b"}
    for change, name in (
        ({"old_string": ""}, "old_string"),
        ({"replace_all": "true"}, "replace_all"),
        ({"new_string": None}, "new_string"),
    ):
        done = await crib.call("Edit", {**base, **change})
        assert done.outcome == "preflight-rejected"
        assert name in str(done.result.output)
    assert (workspace / "a.txt").read_text() == "a a"
