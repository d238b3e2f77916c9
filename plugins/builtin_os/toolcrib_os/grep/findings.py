"""The three forms in which Grep answers: paths, counts, lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from attrs import evolve

from toolcrib import OutputSink, ToolResult
from toolcrib_os.grep.blocks import Blocks, Line
from toolcrib_os.grep.input import GrepInput
from toolcrib_os.shared.search.pages import ALL_ENTRIES, Smallest, capacity_for
from toolcrib_os.shared.search.records import BlockReader, CountReader, NameReader
from toolcrib_os.shared.search.root import SearchRoot, modified
from toolcrib_os.shared.search.texts import past_the_end, plural

Allows = Callable[[str], bool]


class Findings(Protocol):
    """Takes what a search prints, and renders the wanted page of it."""

    def feed(self, data: bytes) -> None:
        """Take the next piece of the output."""

    @property
    def total(self) -> int:
        """How many entries there are on all pages."""

    def render(self, sink: OutputSink, notices: list[str], *, incomplete: bool) -> ToolResult:
        """The answer, with `notices` first, so that no cut can drop them."""


class Names:
    """Paths, most recently modified first."""

    def __init__(self, args: GrepInput, root: SearchRoot, allows: Allows) -> None:
        self._page = Page(args, "file")
        self._root = root
        self._allows = allows
        self._best = Smallest[tuple[int, str]](self._page.capacity)
        self._prefix = root.folder.rstrip("/") + "/"
        self.feed = NameReader(self._take).feed
        self._binary = args.output_mode == "content"

    @property
    def total(self) -> int:
        return self._best.total

    def _take(self, names: list[str]) -> None:
        allows, prefix = self._allows, self._prefix
        self._best.add([(-modified(prefix + name), name) for name in names if allows(name)])

    def render(self, sink: OutputSink, notices: list[str], *, incomplete: bool) -> ToolResult:
        entries = self._best.page(self._page.offset, self._page.limit)
        end = ": binary file matches" if self._binary else ""
        lines = [self._root.shown(name) + end for _, name in entries]
        return self._page.render(sink, notices, lines, self.total, incomplete=incomplete)


class Counts:
    """Paths and how often each file matches, in the order of the paths."""

    def __init__(self, args: GrepInput, root: SearchRoot, allows: Allows) -> None:
        self._page = Page(args, "file")
        self._root = root
        self._allows = allows
        self._best = Smallest[tuple[str, int]](self._page.capacity)
        self._matches = 0
        self.feed = CountReader(self._take).feed

    @property
    def total(self) -> int:
        return self._best.total

    def _take(self, counts: list[tuple[str, int]]) -> None:
        allows = self._allows
        allowed = [count for count in counts if allows(count[0])]
        self._matches += sum(count for _, count in allowed)
        self._best.add(allowed)

    def render(self, sink: OutputSink, notices: list[str], *, incomplete: bool) -> ToolResult:
        entries = self._best.page(self._page.offset, self._page.limit)
        lines = [f"{self._root.shown(name)}:{count}" for name, count in entries]
        total = f"{plural(self._matches, 'match')} in {plural(self.total, 'file')}."
        return self._page.render(sink, [total, *notices], lines, self.total, incomplete=incomplete)


class Lines:
    """Lines, in the order of paths and numbers."""

    def __init__(self, args: GrepInput, root: SearchRoot, allows: Allows) -> None:
        self._page = Page(args, "line")
        self._root = root
        self._numbers = args.line_numbers
        self._grouped = any(args.lines_around)
        capacity = self._page.capacity * (2 if self._grouped else 1)
        self._blocks = Blocks(capacity, allows, self._grouped)
        self.feed = BlockReader(self._blocks.take).feed

    @property
    def total(self) -> int:
        return self._blocks.total

    def render(self, sink: OutputSink, notices: list[str], *, incomplete: bool) -> ToolResult:
        found = list(self._blocks.page(self._page.offset, self._page.limit))
        for name in self._blocks.binary[:3]:
            notices.append(f"{self._root.shown(name)} turns binary: its later lines are left out.")
        return self._page.render(
            sink,
            notices,
            list(self._lines(found)),
            self.total,
            shown=len(found),
            incomplete=incomplete,
        )

    def _lines(self, found: Sequence[Line]) -> Iterator[str]:
        name = shown = None
        for line in found:
            if line.name != name:
                separated = self._grouped and name is not None
                name, shown = line.name, self._root.shown(line.name)
            else:
                separated = line.gap
            if separated:
                yield "--"
            if self._numbers:
                mark = ":" if line.is_match else "-"
                yield f"{shown}{mark}{line.number}{mark}{line.text}"
            else:
                yield f"{shown}:{line.text}"


class Page:
    """Which entries are wanted, and what to say about the others."""

    def __init__(self, args: GrepInput, noun: str) -> None:
        self.offset = args.offset
        self.limit = args.head_limit or ALL_ENTRIES
        self.capacity = capacity_for(self.offset, self.limit)
        self._noun = noun

    def render(
        self,
        sink: OutputSink,
        notices: Sequence[str],
        lines: Sequence[str],
        total: int,
        *,
        incomplete: bool,
        shown: int | None = None,
    ) -> ToolResult:
        """The notices, then the lines of the page, which show `shown` entries."""
        if self.offset >= total:
            return ToolResult(past_the_end(self.offset, total, self._noun))
        end = self.offset + (len(lines) if shown is None else shown)
        for notice in [*self._position(end, total), *notices]:
            sink.write(f"{notice}\n")
        for index, line in enumerate(lines):
            sink.write(f"\n{line}" if index else line)
        return evolve(sink.result(), truncated=end < total or incomplete)

    def _position(self, end: int, total: int) -> list[str]:
        if end == self.offset:
            return [
                f"There are {plural(total, self._noun)} in all, too many to show those from "
                f"{self.offset + 1} on: narrow the search."
            ]
        if end < total:
            return [
                f"{self._noun.capitalize()}s {self.offset + 1} to {end} of {total}. "
                f"The next page begins at offset: {end}."
            ]
        return []
