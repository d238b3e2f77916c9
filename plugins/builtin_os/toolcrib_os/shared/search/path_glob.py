"""Patterns for relative paths, in the manner of ignore files, matched in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from attrs import frozen

MAX_ALTERNATIVES = 1_000
"""How many patterns the braces of one pattern may stand for."""
MAX_CHARS = 4_096
MAX_BRACES = 100

_RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})")
_CLASS_NAMES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\s",
    "xdigit": "0-9A-Fa-f",
}


class GlobError(ValueError):
    """A pattern that cannot be used; the text says why and what to write instead."""


@frozen
class PathGlob:
    """A compiled pattern.

    Without a slash it is about the last name of a path, at any depth; with one, about the whole
    path. `*` and `?` stay within a name, and `**` as a name stands for any number of names.
    Hidden names are ordinary names. `alternatives` say the same without braces, and begin with a
    slash when they are about the whole path.
    """

    pattern: str
    alternatives: tuple[str, ...]
    _regex: re.Pattern[str]

    def matches(self, path: str) -> bool:
        """Whether the pattern covers a relative path, which has no trailing slash."""
        return self._regex.fullmatch(path) is not None

    def select(self, paths: Sequence[str]) -> list[str]:
        """The paths that the pattern covers, in their order."""
        fullmatch = self._regex.fullmatch
        return [path for path in paths if fullmatch(path)]


@lru_cache(maxsize=256)
def compile_glob(pattern: str) -> PathGlob:
    """Compile a pattern such as `*.py`, `src/**/test_*.ts`, `/README.md` or `[!a]{1..3}.{c,h}`.

    Raises:
        GlobError: the pattern is too long, leads upwards, stands for too many alternatives, or
            holds what no name can hold.
    """
    try:
        pattern.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise GlobError(
            f"the pattern holds {pattern[error.start]!a}, half of a surrogate pair, which no name "
            "can hold"
        ) from None
    if len(pattern) > MAX_CHARS:
        raise GlobError(f"the pattern has {len(pattern)} characters, more than {MAX_CHARS}")
    if pattern.count("{") > MAX_BRACES:
        raise GlobError(f"the pattern has more than {MAX_BRACES} opening braces")
    alternatives = [_names(alternative) for alternative in expand_braces(pattern)]
    regex = "|".join(dict.fromkeys(map(_path_regex, alternatives)))
    plain = tuple(map("/".join, alternatives))
    return PathGlob(pattern, plain, re.compile(regex, re.DOTALL))


def expand_braces(pattern: str) -> list[str]:
    """The patterns that braces stand for; escapes stay, and unbalanced braces are literal.

    Raises:
        GlobError: there are more than `MAX_ALTERNATIVES`.
    """
    opened = _find_group(pattern)
    if opened is None:
        return [pattern]
    start, end, commas = opened
    tails = expand_braces(pattern[end + 1 :])
    bounds = [start, *commas, end]
    bodies: list[str] = []
    for left, right in pairwise(bounds):
        bodies += _range(pattern[left + 1 : right]) or expand_braces(pattern[left + 1 : right])
    if len(bodies) * len(tails) > MAX_ALTERNATIVES:
        raise GlobError(
            f"the braces of {pattern!r} stand for more than {MAX_ALTERNATIVES} patterns: "
            "use `*`, or search in several calls"
        )
    return [f"{pattern[:start]}{body}{tail}" for body in bodies for tail in tails]


def _range(body: str) -> list[str]:
    found = _RANGE.fullmatch(body)
    if found is None:
        return []
    first, last = int(found[1]), int(found[2])
    if abs(last - first) >= MAX_ALTERNATIVES:
        raise GlobError(f"the range {{{body}}} has more than {MAX_ALTERNATIVES} numbers: use `*`")
    width = len(found[1]) if found[1].startswith("0") else 0
    step = 1 if last >= first else -1
    return [str(number).zfill(width) for number in range(first, last + step, step)]


def _find_group(pattern: str) -> tuple[int, int, list[int]] | None:
    """Where the first balanced group opens and closes, and its own commas."""
    opened: list[tuple[int, list[int]]] = []
    found: dict[int, tuple[int, int, list[int]]] = {}
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            position += 1
        elif character == "[" and (end := class_end(pattern, position)) is not None:
            position = end - 1
        elif character == "{":
            opened.append((position, []))
        elif character == "," and opened:
            opened[-1][1].append(position)
        elif character == "}" and opened:
            start, commas = opened.pop()
            found[start] = (start, position, commas)
        position += 1
    return found[min(found)] if found else None


def class_end(pattern: str, start: int) -> int | None:
    """The position behind the character class that opens at `start`, or None if it is none."""
    position = start + 1
    if pattern[position : position + 1] in ("!", "^"):
        position += 1
    first = True
    while position < len(pattern):
        character = pattern[position]
        if character == "/":
            return None
        if character == "]" and not first:
            return position + 1
        if character == "\\":
            position += 1
        elif pattern.startswith("[:", position):
            closing = pattern.find(":]", position)
            position = closing + 1 if closing > 0 else position
        first = False
        position += 1
    return None


def _names(pattern: str) -> list[str]:
    """The names of a pattern without braces; an empty one in front anchors it at the root."""
    parts = list(_split(pattern))
    names = [name for name in parts if name not in ("", ".")]
    if not names:
        raise GlobError(f"the pattern {pattern!r} names the folder itself: use `**` or `/*`")
    if ".." in names:
        raise GlobError(
            f"the pattern {pattern!r} leads upwards: give the folder to search as `path` instead"
        )
    return names if len(parts) == 1 else ["", *names]


def _split(pattern: str) -> Iterator[str]:
    start = position = 0
    while position < len(pattern):
        if pattern[position] == "\\":
            position += 1
        elif pattern[position] == "[":
            position = (class_end(pattern, position) or position + 1) - 1
        elif pattern[position] == "/":
            yield pattern[start:position]
            start = position + 1
        position += 1
    yield pattern[start:]


def _path_regex(names: list[str]) -> str:
    """The names of a pattern as a regular expression for the whole path.

    Every run between two wildcards is matched at its first possible place and never again
    (atomic groups), which is complete for wildcards and keeps the effort linear.
    """
    names = names[1:] if names[0] == "" else ["**", *names]
    groups: list[list[str]] = [[]]
    for name in names:
        if name != "**":
            groups[-1].append(_name_regex(name))
        elif groups[-1] or len(groups) == 1:
            groups.append([])
    if len(groups) == 1:
        return "/".join(groups[0])
    first, *middle, last = groups
    parts = [f"{name}/" for name in first]
    parts += [rf"(?>(?:[^/]+/)*?{'/'.join(group)}/)" for group in middle]
    parts.append("(?:.*/)?" + "/".join(last) if last else ".+")
    return "".join(parts)


def _name_regex(name: str) -> str:
    runs = [""]
    position = 0
    while position < len(name):
        character = name[position]
        position += 1
        if character == "*":
            if runs[-1] or len(runs) == 1:
                runs.append("")
        elif character == "?":
            runs[-1] += "[^/]"
        elif character == "[" and (end := class_end(name, position - 1)) is not None:
            runs[-1] += _class_regex(name[position : end - 1])
            position = end
        elif character == "\\" and position < len(name):
            runs[-1] += re.escape(name[position])
            position += 1
        else:
            runs[-1] += re.escape(character)
    if len(runs) == 1:
        return runs[0]
    first, *middle, last = runs
    return first + "".join(f"(?>[^/]*?{run})" for run in middle) + f"[^/]*{last}"


def _class_regex(body: str) -> str:
    negated = body[:1] in ("!", "^")
    items = re.findall(
        r"\[:\w+:\]|(?:\\.|[^\\])-(?:\\.|[^\\])|\\.|.", body[1:] if negated else body, re.DOTALL
    )
    inside = "".join(map(_class_item, items))
    return f"(?!/)[{'^' if negated else ''}{inside}]"


def _class_item(item: str) -> str:
    if item.startswith("[:") and len(item) > 4:
        if item[2:-2] not in _CLASS_NAMES:
            raise GlobError(f"{item!r} is no character class; known: {', '.join(_CLASS_NAMES)}")
        return _CLASS_NAMES[item[2:-2]]
    ends = re.findall(r"\\.|[^\\]", item, re.DOTALL) or [item]
    plain = [re.escape(end[-1]) for end in ends]
    if len(plain) == 3:
        if ends[0][-1] > ends[2][-1]:
            raise GlobError(f"the range {item!r} in a character class runs backwards")
        return f"{plain[0]}-{plain[2]}"
    return "".join(plain)
