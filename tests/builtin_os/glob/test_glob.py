"""Glob lists the files that a pattern covers, and says what it leaves out."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.pipeline.flight import Completion
from toolcrib.testing import ToolHarness

Plant = Callable[..., None]


def text(done: Completion) -> str:
    assert isinstance(done.result.output, str)
    return done.result.output


async def listed(crib: ToolHarness, arguments: dict[str, object]) -> list[str]:
    done = await crib.call("Glob", arguments)
    assert not done.result.is_error, text(done)
    return [] if "No files match" in text(done) else text(done).splitlines()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.ts", {"a.ts", "src/c.ts", "src/deep/d.ts"}),
        ("/*.ts", {"a.ts"}),
        ("./*.ts", {"a.ts"}),
        ("src/*.ts", {"src/c.ts"}),
        ("src/**/*.ts", {"src/c.ts", "src/deep/d.ts"}),
        ("**/deep/*", {"src/deep/d.ts"}),
        ("*.{tsx,{md,yml}}", {"src/e.tsx", ".github/ci.yml", "docs/g.md"}),
        ("[!ac].ts", {"src/deep/d.ts"}),
        (r"\{a,b\}.js", {"{a,b}.js"}),
        (r"\[x\].txt", {"[x].txt"}),
        ("-x*.txt", {"-x1.txt"}),
        ("n{1..3}.c", {"n1.c", "n3.c"}),
        ("src/**", {"src/c.ts", "src/e.tsx", "src/deep/d.ts"}),
    ],
)
async def test_a_pattern_covers_these_files_and_no_others(
    crib: ToolHarness, plant: Plant, pattern: str, expected: set[str]
) -> None:
    names = (
        "a.ts b.js src/c.ts src/e.tsx src/deep/d.ts docs/g.md .github/ci.yml {a,b}.js [x].txt "
        "x.txt -x1.txt n1.c n3.c n4.c .git/c.ts"
    )
    plant(dict.fromkeys(names.split(), "x"))
    assert set(await listed(crib, {"pattern": pattern})) == expected


async def test_an_absolute_pattern_below_the_root_is_understood(
    crib: ToolHarness, plant: Plant, workspace: Path
) -> None:
    plant({"src/a.py": "", "b.py": ""})
    assert await listed(crib, {"pattern": f"{workspace}/src/*.py"}) == ["src/a.py"]


@pytest.mark.parametrize("pattern", ["!*.py", "../*.py", "/", "a\0b", "{1..99999}", "[z-a]"])
async def test_a_pattern_that_cannot_be_used_is_refused(crib: ToolHarness, pattern: str) -> None:
    assert (await crib.call("Glob", pattern=pattern)).result.is_error


async def test_ignore_files_hold_with_and_without_a_repository(
    crib: ToolHarness, plant: Plant, workspace: Path
) -> None:
    """The widest pattern lists neither ignored files nor the folders of version control."""
    plant(
        {
            ".gitignore": "build/\n*.log\n!keep.log\n# remark\n/top.txt\n",
            ".ignore": "dist\n",
            "sub/.rgignore": "!loud.log\n",
            "build/x.py": "",
            "node_modules/a.py": "",
            "dist/b.js": "",
            "x.log": "",
            "keep.log": "",
            "top.txt": "",
            "sub/top.txt": "",
            "sub/loud.log": "",
            ".hg/store": "",
        }
    )
    expected = {
        *(".gitignore", ".ignore", "sub/.rgignore", "node_modules/a.py"),
        *("keep.log", "sub/top.txt", "sub/loud.log"),
    }
    assert set(await listed(crib, {"pattern": "**"})) == expected
    (workspace / ".git").mkdir()
    assert set(await listed(crib, {"pattern": "**"})) == expected
    everything = await listed(crib, {"pattern": "**", "include_ignored": True})
    below = await listed(crib, {"pattern": "/build/**/*.py", "include_ignored": True})
    assert below == ["build/x.py"]
    assert set(everything) == expected | {"build/x.py", "dist/b.js", "x.log", "top.txt"}


async def test_ignore_files_of_the_workspace_hold_in_a_search_below_it(
    crib: ToolHarness, plant: Plant
) -> None:
    plant({".gitignore": "*.log\n/sub/gone.txt\n", "sub/a.log": "", "sub/gone.txt": ""})
    plant({"sub/b.txt": ""})
    assert await listed(crib, {"pattern": "*", "path": "sub"}) == ["sub/b.txt"]


async def test_ignore_files_above_the_workspace_do_not_hold(
    crib: ToolHarness, plant: Plant, tmp_path: Path
) -> None:
    """A `.gitignore` of the home folder must not hide a project that lies in it."""
    plant({".gitignore": "*\n"}, tmp_path)
    plant({"a.txt": ""})
    assert await listed(crib, {"pattern": "*.txt"}) == ["a.txt"]


async def test_a_repository_in_a_repository_has_its_own_ignore_files(
    crib: ToolHarness, plant: Plant
) -> None:
    plant({".git/HEAD": "", ".gitignore": "*.log\n", "in/.git/HEAD": "", "in/a.log": ""})
    plant({"b.log": ""})
    assert await listed(crib, {"pattern": "*.log"}) == ["in/a.log"]


async def test_an_ignored_folder_can_be_searched_by_name(crib: ToolHarness, plant: Plant) -> None:
    plant({".gitignore": "build/\n", "build/x.py": "", "build/sub/y.py": ""})
    assert set(await listed(crib, {"pattern": "*.py", "path": "build"})) == {
        "build/x.py",
        "build/sub/y.py",
    }


async def test_sensitive_files_are_never_listed(crib: ToolHarness, plant: Plant) -> None:
    names = [".env", ".env.local", "id_rsa", "sub/.aws/credentials", "credentials.bak"]
    plant(dict.fromkeys([*names, ".env.example", "id_rsa.pub"], "x"))
    done = await crib.call("Glob", pattern="**", include_ignored=True)
    lines = text(done).splitlines()
    assert set(lines) & {*names, ".env.example", "id_rsa.pub"} == {".env.example", "id_rsa.pub"}
    assert "5" in lines[0]
    only = await crib.call("Glob", pattern=".env")
    assert not only.result.is_error
    assert ".env" not in text(only).splitlines()


async def test_the_newest_come_first_and_pages_fit_together(
    crib: ToolHarness, plant: Plant, workspace: Path
) -> None:
    for number in range(250):
        plant({f"f{number:03}.txt": ""})
        os.utime(workspace / f"f{number:03}.txt", ns=(0, 10**18 + number))
    done = await crib.call("Glob", pattern="*.txt")
    first = text(done).splitlines()
    assert done.result.truncated
    assert "250" in first[0]
    assert "offset: 100" in first[0]
    second = text(await crib.call("Glob", pattern="*.txt", offset=100)).splitlines()
    third = await crib.call("Glob", pattern="*.txt", offset=200, limit=1000)
    assert not third.result.truncated
    names = first[1:] + second[1:] + text(third).splitlines()
    assert names == [f"f{number:03}.txt" for number in reversed(range(250))]
    past = await crib.call("Glob", pattern="*.txt", offset=250)
    assert not past.result.is_error
    assert "250" in text(past)


async def test_exactly_as_many_as_the_limit_is_complete(crib: ToolHarness, plant: Plant) -> None:
    plant({f"f{number}.txt": "" for number in range(100)})
    done = await crib.call("Glob", pattern="*.txt")
    assert not done.result.truncated
    assert len(text(done).splitlines()) == 100


async def test_odd_names_stay_one_line_each(
    crib: ToolHarness, plant: Plant, workspace: Path
) -> None:
    plant({"a:7:b.txt": "", "two\nlines.txt": "", "--help.txt": ""})
    (workspace / os.fsdecode(b"u\xff.txt")).write_text("")
    assert set(await listed(crib, {"pattern": "*.txt"})) == {
        *("a:7:b.txt", "two\\nlines.txt", "--help.txt", "u\\xff.txt")
    }


async def test_folders_are_listed_on_demand(crib: ToolHarness, plant: Plant) -> None:
    plant({"src/a/b.py": "", "src.txt": ""})
    assert await listed(crib, {"pattern": "src*"}) == ["src.txt"]
    assert set(await listed(crib, {"pattern": "src*", "include_dirs": True})) == {
        "src/",
        "src.txt",
    }
    assert await listed(crib, {"pattern": "**/a/", "include_dirs": True}) == ["src/a/"]


async def test_links_are_followed_only_on_demand(
    crib: ToolHarness, plant: Plant, workspace: Path, tmp_path: Path
) -> None:
    plant({"store/a.txt": "", ".env": "", "out.txt": ""}, workspace)
    plant({"far.txt": ""}, tmp_path / "far")
    (workspace / "pkg").symlink_to("store")
    (workspace / "loop").symlink_to(".")
    (workspace / "harmless.txt").symlink_to(".env")
    (workspace / "away").symlink_to(tmp_path / "far")
    assert set(await listed(crib, {"pattern": "*.txt"})) == {"store/a.txt", "out.txt"}
    found = await listed(crib, {"pattern": "*.txt", "follow": True})
    assert {"store/a.txt", "pkg/a.txt", "out.txt"} <= set(found)
    assert not {"harmless.txt", "away/far.txt"} & set(found)


async def test_paths_outside_the_workspace_are_absolute(
    crib: ToolHarness, plant: Plant, tmp_path: Path
) -> None:
    plant({"o.txt": ""}, tmp_path / "out")
    assert await listed(crib, {"pattern": "*.txt", "path": str(tmp_path / "out")}) == [
        str(tmp_path / "out" / "o.txt")
    ]


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ({"pattern": "src"}, "src/**"),
        ({"pattern": "nowhere/*.py"}, "nowhere"),
        ({"pattern": "*.log"}, "include_ignored"),
        ({"pattern": "/usr/*.nothing"}, "/usr"),
    ],
)
async def test_nothing_found_comes_with_a_reason(
    crib: ToolHarness, plant: Plant, arguments: dict[str, object], fact: str
) -> None:
    plant({"src/a.py": "", ".gitignore": "*.log", "x.log": ""})
    done = await crib.call("Glob", arguments)
    assert not done.result.is_error
    assert fact in "\n".join(text(done).splitlines()[1:])


async def test_a_file_named_in_full_is_found_although_it_is_ignored(
    crib: ToolHarness, plant: Plant
) -> None:
    plant({".gitignore": "*.log", "logs/x.log": ""})
    assert await listed(crib, {"pattern": "logs/x.log"}) == ["logs/x.log"]


@pytest.mark.parametrize("path", ["missing", "a.txt"])
async def test_the_root_has_to_be_a_folder(crib: ToolHarness, plant: Plant, path: str) -> None:
    plant({"a.txt": ""})
    done = await crib.call("Glob", pattern="*", path=path)
    assert done.result.is_error
    assert path in text(done)
