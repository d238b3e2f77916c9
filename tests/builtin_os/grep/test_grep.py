"""Grep finds what files hold, and shows it in paths, lines and counts."""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from toolcrib.pipeline.flight import Completion
from toolcrib.testing import ToolHarness

Plant = Callable[..., None]


def text(done: Completion) -> str:
    assert isinstance(done.result.output, str)
    return done.result.output


async def grep(crib: ToolHarness, pattern: str, **arguments: object) -> list[str]:
    """The lines of the answer; none when nothing matches. `_C=1` stands for `-C`."""
    named = {
        name.replace("_", "-", 1) if name[0] == "_" else name: value
        for name, value in arguments.items()
    }
    done = await crib.call("Grep", {"pattern": pattern, **named})
    assert not done.result.is_error, text(done)
    lines = text(done).splitlines()
    return [] if lines[0].startswith("No matches for") else lines


async def content(crib: ToolHarness, pattern: str, **arguments: object) -> list[str]:
    return await grep(crib, pattern, output_mode="content", **arguments)


TEXT = "first Line\n\tfoo(bar)\nx = interface{}\nünïcode ÉCOLE\nfoo_bar foo-bar\nend 42 0x1F\n"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("foo", [2, 5]),
        (r"foo\(", [2]),
        (r"^end", [6]),
        (r"\{\}$", [3]),
        (r"\bfoo\b", [2, 5]),
        (r"(?i)line", [1]),
        (r"x(?i) = INTERFACE|zzz", [3]),
        (r"a|(?i:école)", [2, 3, 4, 5]),
        (r"\d+ 0x[[:xdigit:]]+", [6]),
        (r"\p{Lu}COLE", [4]),
        (r"\x{fc}n", [4]),
        (r"^\t", [2]),
        (r"\A\tfoo", [2]),
        (r"(?P<a>o)(?<b>o)_", [5]),
        (r"o{2}[_-]", [5]),
        (r"[^a-z\s]\d", [6]),
        (r"\<bar\>", [2, 5]),
        (r"e.?n?", [1, 3, 4, 6]),
    ],
)
async def test_expressions_mean_the_same_in_both_engines(
    crib: ToolHarness, plant: Plant, pattern: str, expected: list[int]
) -> None:
    plant({"t.txt": TEXT})
    lines = await content(crib, pattern)
    assert [int(line.split(":")[1]) for line in lines] == expected


@pytest.mark.parametrize(
    "pattern",
    ["[unclosed", "(a", "*a", "a)", "interface{", "(?=x)", r"(a)\1", r"\q", "a\\nb", "a\nb"],
)
async def test_a_wrong_expression_is_an_error_with_advice(
    crib: ToolHarness, plant: Plant, pattern: str
) -> None:
    plant({"t.txt": TEXT})
    done = await crib.call("Grep", pattern=pattern)
    assert done.outcome == "executed"
    assert done.result.is_error
    assert repr(pattern) in text(done)


async def test_options_change_what_matches(crib: ToolHarness, plant: Plant) -> None:
    plant({"t.txt": TEXT})
    assert await grep(crib, "LINE") == []
    assert await grep(crib, "LINE", _i=True) == ["t.txt"]
    assert await content(crib, "foo(bar)", fixed_strings=True) == ["t.txt:2:\tfoo(bar)"]
    assert await content(crib, "foo|in", word=True) == [
        "t.txt:2:\tfoo(bar)",
        "t.txt:5:foo_bar foo-bar",
    ]
    assert await content(crib, r"\d\w*", only_matching=True) == ["t.txt:6:42", "t.txt:6:0x1F"]
    assert await content(crib, "foo", _n=False) == ["t.txt:\tfoo(bar)", "t.txt:foo_bar foo-bar"]


async def test_matches_may_span_lines_on_demand(crib: ToolHarness, plant: Plant) -> None:
    plant({"m.txt": "a\nbegin\r\n  return\nend\n\nz\n"})
    assert await content(crib, r"return\nend", multiline=True) == [
        "m.txt:3:  return",
        "m.txt:4:end",
    ]
    assert await content(crib, "begin.*end", multiline=True, _A=1) == [
        "m.txt:2:begin",
        "m.txt:3:  return",
        "m.txt:4:end",
        "m.txt-5-",
    ]


async def test_context_is_marked_and_groups_are_apart(crib: ToolHarness, plant: Plant) -> None:
    plant({"b.txt": "1\n2 hit\n3\n4\n5\n6 hit\n7", "a-b.txt": "hit\n", "a/c.txt": "x\nhit\r\n"})
    expected = [
        *("a-b.txt:1:hit", "--"),
        *("a/c.txt-1-x", "a/c.txt:2:hit", "--"),
        *("b.txt-1-1", "b.txt:2:2 hit", "b.txt-3-3", "--"),
        *("b.txt-5-5", "b.txt:6:6 hit", "b.txt-7-7"),
    ]
    assert await content(crib, "hit", _C=1) == expected
    assert await content(crib, "hit", _C=1, _A=0, _B=9) == expected
    assert await content(crib, "hit", _B=1, path="b.txt", offset=2, head_limit=2) == [
        "b.txt-5-5",
        "b.txt:6:6 hit",
    ]
    assert await grep(crib, "hit", _C=1, path="b.txt") == ["b.txt"]


async def test_pages_of_lines_join_to_the_whole_and_give_the_total(
    crib: ToolHarness, plant: Plant
) -> None:
    """A page neither begins nor ends with a separator, and separators are no entries."""
    plant({f"f{file}.txt": "x\nhit\ny\n" * 4 + "z\n" * 3 + "hit\n" for file in range(9)})
    whole = [line for line in await content(crib, "hit", _A=1, head_limit=0) if line != "--"]
    joined: list[str] = []
    offset = 0
    while offset < len(whole):
        done = await crib.call(
            "Grep",
            {
                "pattern": "hit",
                "-A": 1,
                "output_mode": "content",
                "head_limit": 7,
                "offset": offset,
            },
        )
        lines = text(done).splitlines()
        offset += 7
        assert done.result.truncated == (offset < len(whole))
        if done.result.truncated:
            assert str(len(whole)) in lines[0]
            assert f"offset: {offset}" in lines[0]
            lines = lines[1:]
        assert "--" not in (lines[0], lines[-1])
        joined += [line for line in lines if line != "--"]
    assert joined == whole


async def test_paths_come_newest_first(crib: ToolHarness, plant: Plant, workspace: Path) -> None:
    for number in range(300):
        plant({f"f{number:03}.txt": "marker"})
        os.utime(workspace / f"f{number:03}.txt", ns=(0, 10**18 + number))
    first = await grep(crib, "marker")
    assert "300" in first[0]
    assert "offset: 250" in first[0]
    names = first[1:] + await grep(crib, "marker", offset=250)
    assert names == [f"f{number:03}.txt" for number in reversed(range(300))]
    assert len(await grep(crib, "marker", head_limit=0)) == 300
    done = await crib.call("Grep", pattern="marker", offset=300)
    assert not done.result.is_error
    assert "300" in text(done)


async def test_counts_give_the_total_over_all_pages(crib: ToolHarness, plant: Plant) -> None:
    plant({f"f{number}.txt": "w w\nw\n" for number in range(10)} | {".env": "w"})
    lines = await grep(crib, "w", output_mode="count_matches", head_limit=3)
    assert lines[-3:] == ["f0.txt:3", "f1.txt:3", "f2.txt:3"]
    assert "30" in " ".join(lines[:-3]).split()
    assert "1 sensitive" in " ".join(lines[:-3])


async def test_globs_and_types_narrow_and_never_bring_back_ignored_files(
    crib: ToolHarness, plant: Plant
) -> None:
    names = "a.py b.js src/c.ts src/d/e.tsx src/f.md dist/g.py k/.h.py keep.log"
    plant(dict.fromkeys(names.split(), "hit") | {".gitignore": "dist\n*.log\n!keep.log\n"})

    async def found(**arguments: object) -> set[str]:
        return set(await grep(crib, "hit", **arguments))

    assert await found(glob="*.py") == {"a.py", "k/.h.py"}
    assert await found(glob="src/**/*.{ts,tsx}") == {"src/c.ts", "src/d/e.tsx"}
    assert await found(glob=["*.js", "/*.py"]) == {"a.py", "b.js"}
    assert await found(glob="src/") == {"src/c.ts", "src/d/e.tsx", "src/f.md"}
    assert await found(glob=["!src", "!*.log"]) == {"a.py", "b.js", "k/.h.py"}
    assert await found(glob=["*.{ts,tsx}", "!d/"]) == {"src/c.ts"}
    assert await found(type="py") == {"a.py", "k/.h.py"}
    assert await found(type="ts", glob="*.tsx") == {"src/d/e.tsx"}
    assert await found(glob="*.ts", path="src") == {"src/c.ts"}
    assert await found(glob="*.py", include_ignored=True) == {"a.py", "k/.h.py", "dist/g.py"}
    assert await found(glob="dist/*.py", include_ignored=True) == {"dist/g.py"}
    assert await found(glob="dist/*.py") == set()
    assert await found(glob="[[:alpha:]].[!p]*") == {"b.js", "src/c.ts", "src/d/e.tsx", "src/f.md"}
    assert await found(glob=["!**/[d]", "!*.{py,log}"]) == {"b.js", "src/c.ts", "src/f.md"}


async def test_an_unknown_type_names_near_ones(crib: ToolHarness) -> None:
    done = await crib.call("Grep", pattern="x", type="pyton")
    assert done.result.is_error
    assert "python" in text(done)
    assert "*.tsx" in text(await crib.call("Grep", pattern="x", type="tsx"))


async def test_sensitive_files_never_show(crib: ToolHarness, plant: Plant, workspace: Path) -> None:
    plant({".env": "KEY=hunter2\n", "sub/ID_RSA-old": "hunter2 KEY\n", "a.txt": "KEY\n"})
    (workspace / "link.txt").symlink_to(".env")
    for arguments in (
        {"output_mode": "content", "-C": 1},
        {"output_mode": "content", "-C": 1, "-n": False},
        {"output_mode": "content", "follow": True},
        {"output_mode": "content", "path": ".env"},
        {"output_mode": "content", "path": "link.txt"},
        {"output_mode": "content", "glob": ".env", "include_ignored": True},
        {"output_mode": "count_matches"},
        {},
    ):
        done = await crib.call("Grep", {"pattern": "KEY", **arguments})
        assert "hunter2" not in text(done)
        assert not [
            line
            for line in text(done).splitlines()
            if line.startswith((".env", "sub/ID_RSA-old", "link.txt"))
        ]


async def test_odd_names_are_shown_whole_on_one_line(
    crib: ToolHarness, plant: Plant, workspace: Path
) -> None:
    plant({"a:7:b.txt": "hit\n", "two\n\nlines.txt": "hit\n", "-x.txt": "hit\n", "12:3": "hit"})
    (workspace / os.fsdecode(b"u\xff.txt")).write_text("hit\n")
    names = ["-x.txt", "12:3", "a:7:b.txt", "two\\n\\nlines.txt", "u\\xff.txt"]
    assert await content(crib, "hit") == [f"{name}:1:hit" for name in names]
    assert sorted(await grep(crib, "hit")) == names
    assert (await grep(crib, "hit", output_mode="count_matches"))[1:] == [f"{n}:1" for n in names]
    assert await content(crib, "hit", path="-x.txt") == ["-x.txt:1:hit"]


async def test_a_line_ends_at_a_line_feed_and_nowhere_else(crib: ToolHarness, plant: Plant) -> None:
    plant({"ff.c": "a\n\x0cb\nc\u2028d\n\x85e\rf\nNEEDLE\n", "crlf.txt": "foo\r\nNEEDLE\r\n"})
    assert await content(crib, "NEEDLE$") == ["crlf.txt:2:NEEDLE", "ff.c:5:NEEDLE"]


async def test_other_encodings_are_searched(crib: ToolHarness, plant: Plant) -> None:
    plant(
        {
            "16.txt": "ä needle\r\nx\r\n".encode("utf-16"),
            "bom.txt": "needle\n".encode("utf-8-sig"),
            "latin.txt": "é needle".encode("latin-1"),
        }
    )
    assert await content(crib, "needle$") == [
        "16.txt:1:ä needle",
        "bom.txt:1:needle",
        "latin.txt:1:\ufffd needle",
    ]
    assert await grep(crib, "^needle", output_mode="count_matches", glob="bom*") == [
        "1 match in 1 file.",
        "bom.txt:1",
    ]


async def test_binary_files_are_passed_over_unless_named(crib: ToolHarness, plant: Plant) -> None:
    plant({"a.bin": b"hit\n\0\nhit\n", "late.bin": b"hit line\n" * 20_000 + b"\0", "b.txt": "hit"})
    assert await grep(crib, "hit", glob="[ab].*") == ["b.txt"]
    assert await content(crib, "hit", path="a.bin") == ["a.bin: binary file matches"]
    assert await grep(crib, "hit", output_mode="count_matches", glob="late.bin") == []
    lines = await content(crib, "hit", glob="late.bin", head_limit=1)
    assert lines[-1] == "late.bin:1:hit line"


async def test_a_long_line_is_shown_whole_and_an_endless_one_cut(
    crib: ToolHarness, plant: Plant
) -> None:
    plant({"long.txt": "S" + "x" * 1500 + "needle" + "y" * 1500 + "F\n"})
    (line,) = await content(crib, "needle")
    assert len(line) == len("long.txt:1:") + 3008
    plant({"long.txt": "needle" + "y" * 5_000_000})
    done = await crib.call("Grep", pattern="needle", output_mode="content")
    assert len(text(done)) < 50_000


async def test_what_cannot_be_read_costs_a_warning_and_no_hit(
    crib: ToolHarness, plant: Plant, workspace: Path
) -> None:
    plant({"ok.txt": "hit\n"})
    (workspace / "bad").symlink_to("nowhere")
    (workspace / "circle").symlink_to("circle")
    assert await grep(crib, "hit") == ["ok.txt"]
    lines = await grep(crib, "hit", follow=True)
    assert lines[-1] == "ok.txt"
    assert sorted(line.split(":")[1] for line in lines[:-1]) == [" bad", " circle"]


async def test_following_links_ends_and_finds_what_they_lead_to(
    crib: ToolHarness, plant: Plant, workspace: Path
) -> None:
    plant({"store/a/f.txt": "hit\n"})
    (workspace / "pkg").mkdir()
    (workspace / "pkg" / "a").symlink_to("../store/a")
    (workspace / "loop").symlink_to(".")
    assert await grep(crib, "hit") == ["store/a/f.txt"]
    assert set(await grep(crib, "hit", follow=True)) == {"store/a/f.txt", "pkg/a/f.txt"}


async def test_a_path_outside_the_workspace_is_absolute(
    crib: ToolHarness, plant: Plant, tmp_path: Path
) -> None:
    plant({"o.txt": "far\n"}, tmp_path / "out")
    assert await content(crib, "far", path=str(tmp_path / "out")) == [f"{tmp_path}/out/o.txt:1:far"]
    assert (await crib.call("Grep", pattern="x", path="missing")).result.is_error


@pytest.fixture
def barred(workspace: Path) -> Iterator[None]:
    """A folder that may not be read; root has to give up its rights for that."""
    (workspace / "no").mkdir()
    (workspace / "no" / "a.txt").write_text("hit\n")
    (workspace / "no").chmod(0)
    was_root = os.geteuid() == 0
    if was_root:
        for folder in (workspace, *workspace.parents):
            if folder.owner() == "root" and folder != Path("/"):
                folder.chmod(folder.stat().st_mode | 0o055)
    try:
        yield
    finally:
        (workspace / "no").chmod(0o755)


def may_run_ripgrep(*, uid: int) -> bool:
    rg = shutil.which("rg") or os.path.join(sysconfig.get_path("scripts"), "rg")
    try:
        return subprocess.run([rg, "--version"], user=uid, capture_output=True).returncode == 0
    except PermissionError:
        return False


@pytest.mark.parametrize("mode", ["files_with_matches", "content", "count_matches"])
async def test_an_unreadable_folder_costs_a_warning_and_no_hit(
    crib: ToolHarness, plant: Plant, barred: None, mode: str
) -> None:
    plant({"ok.txt": "hit\n"})
    assert await grep(crib, "hit")  # loads what an ordinary user may not read in root's home
    if os.geteuid() == 0:
        if crib.session.section("search").get("engine") == "python":
            pytest.skip("an ordinary user may not run root's Python")
        if not may_run_ripgrep(uid=65534):
            pytest.skip("an ordinary user may not run this environment's ripgrep")
        os.seteuid(65534)
        try:
            lines = await grep(crib, "hit", output_mode=mode)
        finally:
            os.seteuid(0)
    else:
        lines = await grep(crib, "hit", output_mode=mode)
    assert lines[-1].startswith("ok.txt")
    assert len([line for line in lines if line.startswith("Warning:") and "no" in line]) == 1


async def test_a_cancelled_search_leaves_no_process(crib: ToolHarness, workspace: Path) -> None:
    (workspace / "big.txt").write_text("a" * 40 + "\n" + "x" * 60_000_000)
    call = asyncio.ensure_future(crib.call("Grep", pattern="(a|aa)+$b|(x+x+)+y"))
    await asyncio.sleep(0.3)
    crib.session.cancel()
    done = await call
    assert done.outcome in ("aborted", "executed")
    async with asyncio.timeout(10):
        while [c for c in psutil.Process().children() if c.status() != psutil.STATUS_ZOMBIE]:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("tool", ["Grep", "Glob"])
async def test_a_root_that_leads_out_of_the_workspace_is_refused_in_words(
    crib: ToolHarness, workspace: Path, tmp_path: Path, tool: str
) -> None:
    (tmp_path / "outside").mkdir()
    (workspace / "link").symlink_to(tmp_path / "outside")
    done = await crib.call(tool, {"pattern": "x", "path": "link"})
    assert done.result.is_error
    assert text(done).startswith("path 'link' ")
    assert str(tmp_path / "outside") in text(done)


@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count_matches"])
@pytest.mark.parametrize("path", ["/proc/self/mem", "/proc/kmsg"])
async def test_a_file_that_cannot_be_read_is_refused_in_words(
    crib: ToolHarness, path: str, mode: str
) -> None:
    if not os.path.exists(path):
        pytest.skip("there is no such file here")
    if path == "/proc/kmsg":
        with open(path, "rb", buffering=0) as kernel_log:
            if select.select([kernel_log], [], [], 0)[0]:
                pytest.skip("the kernel has something to say just now")
    done = await crib.call("Grep", {"pattern": "x", "path": path, "output_mode": mode})
    assert done.result.is_error
    assert text(done).startswith("cannot search ")


async def test_half_a_surrogate_pair_matches_nothing(crib: ToolHarness, plant: Plant) -> None:
    plant({"a.txt": "ab\n"})
    assert await content(crib, "a\ud800") == []
    for tool, more in (("Grep", {"glob": "\ud800*"}), ("Glob", {})):
        done = await crib.call(tool, {"pattern": "\ud800", **more})
        assert done.result.is_error and "surrogate" in text(done)


async def test_a_pattern_that_no_program_can_be_given_is_refused_in_words(
    crib: ToolHarness, plant: Plant
) -> None:
    plant({"a.txt": "ab\n"})
    done = await crib.call("Grep", {"pattern": "x" * 200_000})
    assert done.result.is_error and "longer than" in text(done)
