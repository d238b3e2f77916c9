"""The search engine for where there is no ripgrep: a program that takes the same requests.

It runs in a process of its own, as ripgrep does: an expression that backtracks without end can
be stopped there. It prints what ripgrep would print.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO

from attrs import asdict, define

from toolcrib_os.shared.search.request import MAX_LINE_BYTES, SearchRequest
from toolcrib_os.shared.search.rust_regex import NO_LINE_FEED, RegexError, translate
from toolcrib_os.shared.search.walk import walk

MAX_FILE_BYTES = 1 << 28
"""A file has to fit into memory; larger ones are passed over with a warning."""
_BLOCK_BYTES = 1 << 16
"""The piece in which ripgrep looks for null bytes, which mark a binary file."""


def python_command(
    request: SearchRequest, environment: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment that run this module on a request."""
    # No folder of the workspace may come first: modules would be imported from it.
    places = [os.path.abspath(place) for place in sys.path if place]
    argv = [sys.executable, "-P", "-X", "utf8", "-m", __name__, json.dumps(asdict(request))]
    return argv, {**environment, "PYTHONPATH": os.pathsep.join(places)}


def main() -> int:
    """Search as the request in the first argument says; 0 found something, 1 nothing, 2 failed."""
    values = json.loads(sys.argv[1])
    for name in ("only", "leave_out", "types"):
        values[name] = tuple(values[name])
    search = _Search(SearchRequest(**values), sys.stdout.buffer)
    try:
        found = search.run()
    except (RegexError, re.error, OverflowError, RecursionError) as error:
        sys.stderr.write(f"regex parse error:\nerror: {error}\n")
        return 2
    sys.stdout.buffer.flush()
    if search.troubled:
        return 2
    return 0 if found else 1


@define
class _Search:
    request: SearchRequest
    out: BinaryIO
    troubled: bool = False

    def run(self) -> bool:
        request = self.request
        names = [request.file] if request.file is not None else walk(request, self._warn)
        if request.mode == "list":
            return self._list(names)
        regex = _compile(request)
        finder = _Whole(regex) if request.multiline else _Lines(regex, not _whole_only(request))
        found = False
        for name in names:
            text = self._text(name)
            if text is not None and self._search(name, text, finder):
                found = True
        return found

    def _warn(self, path: str, error: OSError) -> None:
        self.troubled = True
        sys.stderr.write(f"rg: {path}: {error.strerror} (os error {error.errno})\n")

    def _list(self, names: Iterable[str]) -> bool:
        found = False
        for name in names:
            found = True
            self.out.write(os.fsencode(name) + b"\0")
        return found

    def _text(self, name: str) -> str | None:
        """The text to search, or None for a file that counts as binary or cannot be read."""
        try:
            with open(os.path.join(self.request.cwd, name), "rb") as stream:
                if os.fstat(stream.fileno()).st_size > MAX_FILE_BYTES:
                    raise OSError(errno.EFBIG, "File too large for the search without ripgrep")
                data = stream.read()
        except OSError as error:
            self._warn(f"./{name}", error)
            return None
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return data.decode("utf-16", "replace").replace("\r\n", "\n")
        null = data.find(b"\0")
        if null >= 0:
            if self.request.file is not None:
                data = data.replace(b"\0", b"\n")
            else:
                data = data[: self._before_null(data, null)]
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
        return text.replace("\r\n", "\n")

    def _before_null(self, data: bytes, null: int) -> int:
        """How much of a binary file is searched: the whole lines of the blocks before."""
        if self.request.mode == "count":
            return 0
        return data.rfind(b"\n", 0, null // _BLOCK_BYTES * _BLOCK_BYTES) + 1

    def _search(self, name: str, text: str, finder: _Lines | _Whole) -> bool:
        if not finder.may_match(text):
            return False
        path = b"./" + os.fsencode(name) + b"\0"
        if self.request.mode == "files":
            if next(finder.matches(text), None) is None:
                return False
            self.out.write(path)
        elif self.request.mode == "count":
            count = sum(1 for _ in finder.matches(text))
            if not count:
                return False
            self.out.write(b"%s%d\n" % (path, count))
        else:
            body = _content(text, finder, self.request)
            if not body:
                return False
            self.out.write(path + body + b"\n")
        return True


Match = tuple[int, int, str]
"""The first and the last line of a match, counted from 0, and its text."""


@define
class _Lines:
    """Finds matches within lines."""

    regex: re.Pattern[str]
    quick: bool

    def may_match(self, text: str) -> bool:
        # Whatever matches in a line on its own matches in the text too, `\A` and `\z` apart.
        return not self.quick or self.regex.search(text) is not None

    def matches(self, text: str) -> Iterator[Match]:
        for number, line in enumerate(split_lines(text)):
            for found in self.regex.finditer(line):
                yield number, number, found[0]


@define
class _Whole:
    """Finds matches that may span lines."""

    regex: re.Pattern[str]

    def may_match(self, text: str) -> bool:
        return True

    def matches(self, text: str) -> Iterator[Match]:
        line = position = 0
        for found in self.regex.finditer(text):
            if found.start() == len(text) and text.endswith("\n"):
                return  # behind the last line there is none
            line += text.count("\n", position, found.start())
            position = found.start()
            last = max(found.end() - 1, found.start())
            yield line, line + text.count("\n", position, last), found[0]


def split_lines(text: str) -> list[str]:
    """The lines of a text, without their ends."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _content(text: str, finder: _Lines | _Whole, request: SearchRequest) -> bytes:
    if request.only_matching:
        parts = [(first, part) for first, _, part in finder.matches(text) if part]
        return b"".join(
            _line(first + index, ":", line)
            for first, part in parts
            for index, line in enumerate(split_lines(part))
        )
    matching = {line for first, last, _ in finder.matches(text) for line in range(first, last + 1)}
    lines = split_lines(text)
    shown = {
        near
        for line in matching
        for near in range(max(0, line - request.before), min(len(lines), line + request.after + 1))
    }
    out: list[bytes] = []
    previous: int | None = None
    for number in sorted(shown):
        if previous is not None and number > previous + 1 and (request.before or request.after):
            out.append(b"--\r\n")
        out.append(_line(number, ":" if number in matching else "-", lines[number]))
        previous = number
    return b"".join(out)


def _line(number: int, mark: str, text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    if len(data) > MAX_LINE_BYTES:
        data = data[:MAX_LINE_BYTES] + b" [... omitted end of long line]"
    return b"%d%s%s\n" % (number + 1, mark.encode(), data)


def _compile(request: SearchRequest) -> re.Pattern[str]:
    pattern = request.pattern
    if not request.multiline and "\n" in pattern:
        raise RegexError(NO_LINE_FEED)
    if request.fixed_strings:
        source = re.escape(pattern)
    else:
        source = translate(pattern, multiline=request.multiline)
    if request.word:
        source = rf"(?<!\w)(?:{source})(?!\w)"
    flags = re.MULTILINE
    if request.ignore_case:
        flags |= re.IGNORECASE
    if request.multiline:
        flags |= re.DOTALL
    return re.compile(source, flags)


def _whole_only(request: SearchRequest) -> bool:
    return not request.fixed_strings and re.search(r"\\[Az]", request.pattern) is not None


if __name__ == "__main__":
    sys.exit(main())
