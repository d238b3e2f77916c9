"""Every key of a TOML document has the line on which it stands."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.config.lines import KeyPath, index_lines, index_spans, nearest_line


def paths(value: object, path: KeyPath = ()) -> Iterator[KeyPath]:
    """All key paths of a parsed document."""
    if path:
        yield path
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield from paths(item, (*path, key))


def leaves(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
        return
    items: Any = value.items() if isinstance(value, dict) else enumerate(value)  # type: ignore[arg-type]
    for key, item in items:
        yield from leaves(item, (*path, key))


DOCUMENT = '''\
# [not.a.header]
top = "x" # = "y"
dotted.key."with \\"quote\\"" = 1

[tools]
disabled = [
  "Bash", # ]
  'Write',
  [1,
   {in = 2, line = [3]}],
]
text = """
[tools.fake]
key = 1
"""
literal = \'\'\'
x = """\'\'\'\'

[[permission.rules]]
pattern = "a"
[[permission.rules]]
pattern = "b"
[permission.rules.more]
deep = 2
[[permission.rules.list]]
z = 1979-05-27 07:32:00
[permission]
default_mode = "auto"
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 2),
        (("dotted",), 3),
        (("dotted", "key", 'with "quote"'), 3),
        (("tools",), 5),
        (("tools", "disabled"), 6),
        (("tools", "disabled", 0), 7),
        (("tools", "disabled", 1), 8),
        (("tools", "disabled", 2), 9),
        (("tools", "disabled", 2, 0), 9),
        (("tools", "disabled", 2, 1), 10),
        (("tools", "disabled", 2, 1, "line", 0), 10),
        (("tools", "text"), 12),
        (("tools", "literal"), 16),
        (("permission", "rules"), 19),
        (("permission", "rules", 0), 19),
        (("permission", "rules", 0, "pattern"), 20),
        (("permission", "rules", 1), 21),
        (("permission", "rules", 1, "pattern"), 22),
        (("permission", "rules", 1, "more", "deep"), 24),
        (("permission", "rules", 1, "list", 0, "z"), 26),
        (("permission",), 27),
        (("permission", "default_mode"), 28),
    ],
)
def test_a_key_is_found_on_its_line(path: KeyPath, line: int) -> None:
    assert index_lines(DOCUMENT)[path] == line


def test_the_index_has_exactly_the_paths_of_the_document() -> None:
    assert set(index_lines(DOCUMENT)) == set(paths(tomllib.loads(DOCUMENT)))


def test_a_key_that_is_not_there_is_placed_at_its_table() -> None:
    lines = index_lines(DOCUMENT)
    assert nearest_line(lines, ("tools", "enabled")) == 5
    assert nearest_line(lines, ("permission", "rules", 1, "decision")) == 21
    assert nearest_line(lines, ("nowhere",)) is None


def test_windows_line_ends_count_once() -> None:
    assert index_lines('[a]\r\nb = "x"\r\n\r\nc = """\r\n"""\r\nd = 1\r\n')[("a", "d")] == 6


KEYS = ["a", "b-c", "1", '"x.y"', "'[q]'", '"\\"#"', '"é"', '"="', "''"]


class Writer:
    """Writes a random document, in which every value is a text that occurs nowhere else."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.text = ""
        self.count = 0

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def keys(self, most: int) -> list[str]:
        keys: list[str] = self.draw(
            st.lists(st.sampled_from(KEYS), unique=True, min_size=1, max_size=most)
        )
        return keys

    def token(self) -> str:
        self.count += 1
        return f"t{self.count}t"

    def value(self, depth: int) -> str:
        kind = self.pick("text", "array", "table") if depth else "text"
        if kind == "array":
            gaps = ["", "\n", " # ] } [x]\n", "\n\n  "]
            items = [
                self.pick(*gaps) + self.value(depth - 1) + self.pick(*gaps)
                for _ in range(self.draw(st.integers(0, 3)))
            ]
            return "[" + ",".join(items) + (self.pick("", ",") if items else "") + "]"
        if kind == "table":
            pairs = [f"{key} = {self.flat(depth - 1)}" for key in self.keys(3)]
            return "{ " + ", ".join(pairs) + " }"
        return self.string()

    def flat(self, depth: int) -> str:
        """A value for an inline table, on one line."""
        if depth and self.pick(True, False):
            return "[" + ", ".join(self.flat(depth - 1) for _ in range(2)) + "]"
        return f'"{self.token()}"'

    def string(self) -> str:
        token = self.token()
        return str(
            self.pick(
                f'"{token}"',
                f"'{token}'",
                f'"{token} \\" # [x]"',
                f'"""{token}\n[a]\n"" = 1 \\\\"""',
                f'"""{token}\n"quoted""""',
                f"'''{token}\n[[b]]\n''x''''",
            )
        )

    def table(self, header: str, depth: int) -> None:
        keys = self.keys(4)
        nested = [key for key in keys if depth and self.pick(True, False)]
        for key in keys:
            if key in nested:
                continue
            if self.pick(True, False, False):
                for part in self.keys(2):
                    self.text += f"{key} . {part}={self.value(1)}\n"
            else:
                self.text += f"  {key} = {self.value(2)}{self.pick('', ' # c = 1')}\n"
            self.text += self.pick("", "\n", "# [c]\n")
        for key in nested:
            name = f"{header}.{key}" if header else key
            if self.pick(True, False):
                for _ in range(self.draw(st.integers(1, 3))):
                    self.text += f"[[ {name} ]] # x\n"
                    self.table(name, depth - 1)
            else:
                self.text += f"[{name}]\n"
                self.table(name, depth - 1)


@st.composite
def documents(draw: Any) -> str:
    writer = Writer(draw)
    writer.table("", 2)
    return writer.text


@settings(max_examples=150, deadline=None)
@given(documents())
def test_any_document_is_indexed_completely_and_correctly(text: str) -> None:
    lines, document = index_lines(text), tomllib.loads(text)
    assert set(lines) == set(paths(document))
    for path, value in leaves(document):
        token = value.split("t")[1]
        assert lines[path] == text[: text.index(f"t{token}t")].count("\n") + 1


@settings(max_examples=150, deadline=None)
@given(documents())
def test_every_value_is_found_where_it_stands(text: str) -> None:
    """What is cut out there is the value, and a pair or header begins and ends with its line."""
    spans, document = index_spans(text), tomllib.loads(text)
    for path, value in ((path, value_at(document, path)) for path in paths(document)):
        if path in spans.values:
            begin, end = spans.values[path]
            assert tomllib.loads(f"value = {text[begin:end]}")["value"] == value
    for path, (begin, end) in spans.pairs.items():
        assert end == spans.values[path][1]
        assert tomllib.loads(text[begin:end])
    for begin, end in spans.headers.values():
        assert not text[text.rfind("\n", 0, begin) + 1 : begin].strip()
        assert text[begin] == "[" and text[end - 1] == "]"


def value_at(document: Any, path: KeyPath) -> Any:
    for key in path:
        document = document[key]
    return document
