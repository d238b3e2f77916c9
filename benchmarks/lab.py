"""What benchmarks share: sizes, a temporary folder, and big test data that is made once."""

from __future__ import annotations

import os
import random
from functools import cached_property
from pathlib import Path

from attrs import define, frozen

import toolcrib

LINE_BYTES = 106


@frozen(kw_only=True)
class Sizes:
    """How much of everything."""

    rounds: int
    calls: int
    batch: int
    cold_starts: int
    distributions: int
    contributions: int
    tree_files: int
    file_lines: int
    output_mb: int
    flood_mb: int
    processes: int
    soak_calls: int

    @property
    def file_mb(self) -> int:
        """The size of the big file."""
        return self.file_lines * LINE_BYTES // 1_000_000


FULL = Sizes(
    rounds=9,
    calls=2_000,
    batch=10_000,
    cold_starts=15,
    distributions=300,
    contributions=1_000,
    tree_files=50_000,
    file_lines=10_000_000,
    output_mb=200,
    flood_mb=1_000,
    processes=50,
    soak_calls=100_000,
)
QUICK = Sizes(
    rounds=3,
    calls=200,
    batch=1_000,
    cold_starts=3,
    distributions=60,
    contributions=200,
    tree_files=2_000,
    file_lines=700_000,
    output_mb=10,
    flood_mb=20,
    processes=10,
    soak_calls=5_000,
)


@define(slots=False)
class Lab:
    """One run of the benchmarks. What is below `folder` is removed at its end."""

    sizes: Sizes
    folder: Path

    @cached_property
    def environment(self) -> dict[str, str]:
        """The environment of sessions and commands: no configuration or state of the user's."""
        configuration = self.folder / "toolcrib.toml"
        configuration.touch()
        return {
            **os.environ,
            "TOOLCRIB_CONFIG": str(configuration),
            "TOOLCRIB_STATE": str(self.folder / "state"),
        }

    @cached_property
    def workspace(self) -> Path:
        """An empty workspace."""
        folder = self.folder / "workspace"
        folder.mkdir()
        return folder

    @cached_property
    def crib(self) -> toolcrib.Crib:
        """The builtin plugins, loaded once for all sessions that need no others."""
        return toolcrib.Crib.load(autoload=False, environ=self.environment)

    @cached_property
    def tree(self) -> Path:
        """A source tree like others: folders of text files, 4 KB on average, all times different.

        Every file holds `import`; `rare_needle` is in five, `sometimes` in every twelfth.
        """
        root = self.folder / "tree"
        dice = random.Random(7)
        words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz_", k=7)) for _ in range(3_000)]
        pool = "\n".join(" ".join(dice.choices(words, k=9)) for _ in range(4_000))
        count = self.sizes.tree_files
        needles = {count * share // 6 for share in range(1, 6)}
        for number in range(count):
            folder = root / f"pkg{number // 500:03}" / f"mod{number // 50 % 10}"
            if number % 50 == 0:
                folder.mkdir(parents=True)
            start = dice.randrange(len(pool) - 9_000)
            text = (
                f"import {words[number % 3_000]}\n{pool[start : start + dice.randrange(7_500)]}\n"
            )
            text += "def sometimes(): ...\n" if number % 12 == 0 else ""
            text += "rare_needle\n" if number in needles else ""
            name = f"test_{number}.py" if number % 15 == 0 else f"file_{number}.{_suffix(number)}"
            path = folder / name
            path.write_text(text, encoding="ascii")
            os.utime(path, (1_700_000_000 + number * 7_919 % 1_000_003,) * 2)
        return root

    @cached_property
    def big_file(self) -> Path:
        """Numbered lines of 106 bytes each; with ten million of them 1.06 GB."""
        path = self.folder / "big.txt"
        filler = "x" * (LINE_BYTES - 10)
        with path.open("w", encoding="ascii") as file:
            for start in range(1, self.sizes.file_lines + 1, 10_000):
                numbers = range(start, min(start + 10_000, self.sizes.file_lines + 1))
                file.write("".join(f"{number:08} {filler}\n" for number in numbers))
        return path


def _suffix(number: int) -> str:
    return "py" if number % 4 else "md"
