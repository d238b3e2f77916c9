"""The parts of a parsed glob, each of which moves a set of positions through the subject.

A set of positions is an int: bit `i` stands for the place before character `i`. Every part takes
all places at which a match may have arrived and gives all those where it may go on, so nothing is
tried twice, and the time is bounded by the lengths of pattern and subject, whatever they hold.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

from attrs import field, frozen


class Node(Protocol):
    """One part of a glob."""

    @property
    def weight(self) -> int:
        """How many elementary steps the part takes."""

    def advance(self, scan: Scan, starts: int) -> int:
        """Give the places reached from the places `starts`."""


Nodes = tuple[Node, ...]

_POSIX = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": " \t".__contains__,
    "digit": str.isdigit,
    "lower": str.islower,
    "punct": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".__contains__,
    "space": str.isspace,
    "upper": str.isupper,
    "word": lambda char: char.isalnum() or char == "_",
    "xdigit": "0123456789abcdefABCDEF".__contains__,
}
POSIX_CLASSES = frozenset(_POSIX)

# Up to as many times a character is looked for one by one, which is cheaper than a translation.
_FEW = 16


@frozen
class CharClass:
    """The characters of `[...]`."""

    ranges: tuple[tuple[str, str], ...]
    posix: tuple[str, ...] = ()
    negated: bool = False

    def __contains__(self, char: str) -> bool:
        listed = any(low <= char <= high for low, high in self.ranges)
        return (listed or any(_POSIX[name](char) for name in self.posix)) != self.negated


class Scan:
    """One subject, and where in it the characters of a pattern are."""

    def __init__(self, subject: str, *, segmented: bool) -> None:
        self.subject = subject
        self.everywhere = (1 << len(subject)) - 1
        self._segmented = segmented
        self._where: dict[str | CharClass, int] = {}

    @cached_property
    def chars(self) -> int:
        """The places whose next character a wildcard may stand for."""
        return self.everywhere & ~self.where("/") if self._segmented else self.everywhere

    def where(self, chars: str | CharClass) -> int:
        """Give the places whose next character is one of `chars`."""
        known = self._where.get(chars)
        if known is None:
            known = self._where[chars] = self._find(chars)
        return known

    def _find(self, chars: str | CharClass) -> int:
        subject = self.subject
        if isinstance(chars, CharClass) or subject.count(chars) > _FEW:
            return int(subject[::-1].translate(_Marks(chars)) or "0", 2)
        places = 0
        at = subject.find(chars)
        while at >= 0:
            places |= 1 << at
            at = subject.find(chars, at + 1)
        return places

    def through(self, nodes: Nodes, starts: int) -> int:
        """Give the places reached behind all of `nodes`, one after the other."""
        for node in nodes:
            if not starts:
                break
            starts = node.advance(self, starts)
        return starts

    def through_any(self, alternatives: tuple[Nodes, ...], starts: int) -> int:
        """Give the places reached behind one of the alternatives."""
        reached = 0
        for nodes in alternatives:
            reached |= self.through(nodes, starts)
        return reached


class _Marks(dict[int, str]):
    """A translation of characters to 1 or 0, worked out when a character is first met."""

    def __init__(self, chars: str | CharClass) -> None:
        self.chars = chars

    def __missing__(self, code: int) -> str:
        self[code] = mark = "1" if chr(code) in self.chars else "0"
        return mark


def _run(starts: int, chars: int) -> int:
    """Give the places reached by any number of steps over the places `chars`.

    The carry of the addition runs through each block of ones that a start lies in.
    """
    return (((starts & chars) + chars) ^ chars) | starts


@frozen
class Text:
    """Characters that stand for themselves."""

    text: str

    @property
    def weight(self) -> int:
        return len(self.text)

    def advance(self, scan: Scan, starts: int) -> int:
        if not starts & (starts - 1):
            at = starts.bit_length() - 1
            return starts << len(self.text) if scan.subject.startswith(self.text, at) else 0
        for char in self.text:
            starts = (starts & scan.where(char)) << 1
            if not starts:
                break
        return starts


@frozen
class One:
    """`?` or `[...]`: one character."""

    chars: CharClass | None = None
    weight: int = field(default=1, init=False)

    def advance(self, scan: Scan, starts: int) -> int:
        return (starts & self.places(scan)) << 1

    def places(self, scan: Scan) -> int:
        return scan.chars if self.chars is None else scan.chars & scan.where(self.chars)


@frozen
class Run:
    """`*`: any number of characters."""

    weight: int = field(default=1, init=False)

    def advance(self, scan: Scan, starts: int) -> int:
        return _run(starts, scan.chars)


@frozen
class Everything:
    """`**` alone: any number of characters, separators included."""

    weight: int = field(default=1, init=False)

    def advance(self, scan: Scan, starts: int) -> int:
        return _run(starts, scan.everywhere)


@frozen
class Folders:
    """`**/`: any number of whole segments, each with its separator."""

    weight: int = field(default=1, init=False)

    def advance(self, scan: Scan, starts: int) -> int:
        return starts | (_run(starts, scan.everywhere) & (scan.where("/") << 1))


@frozen
class Below:
    """`/**` at the end: nothing, or a separator and anything."""

    weight: int = field(default=1, init=False)

    def advance(self, scan: Scan, starts: int) -> int:
        return starts | _run((starts & scan.where("/")) << 1, scan.everywhere)


def _total(alternatives: tuple[Nodes, ...]) -> int:
    return sum(node.weight for nodes in alternatives for node in nodes)


@frozen
class Choice:
    """`{a,b}`, `(a|b)`, `@(a|b)`, `?(a|b)`: one of the alternatives."""

    alternatives: tuple[Nodes, ...]
    weight: int = field(init=False)

    @weight.default
    def _weight(self) -> int:
        return _total(self.alternatives)

    def advance(self, scan: Scan, starts: int) -> int:
        return scan.through_any(self.alternatives, starts)


@frozen
class Repeat:
    """`+(a|b)` or `*(a|b)`: alternatives again and again."""

    alternatives: tuple[Nodes, ...]
    at_least_once: bool
    weight: int = field(init=False)

    @weight.default
    def _weight(self) -> int:
        return _total(self.alternatives)

    def advance(self, scan: Scan, starts: int) -> int:
        single = self._single_characters(scan)
        if single is not None:
            first = (starts & single) << 1 if self.at_least_once else starts
            return _run(first, single)
        reached = 0 if self.at_least_once else starts
        fresh = starts
        while fresh:
            fresh = scan.through_any(self.alternatives, fresh) & ~reached
            reached |= fresh
        return reached

    def _single_characters(self, scan: Scan) -> int | None:
        """Give the places of the characters to repeat, if each alternative is one character."""
        places = 0
        for nodes in self.alternatives:
            match nodes:
                case (Text(text=char),) if len(char) == 1:
                    places |= scan.where(char)
                case (One() as one,):
                    places |= one.places(scan)
                case _:
                    return None
        return places


@frozen
class Except:
    """`!(a|b)`: any run of characters that is none of the alternatives."""

    alternatives: tuple[Nodes, ...]
    weight: int = field(init=False)

    @weight.default
    def _weight(self) -> int:
        return _total(self.alternatives)

    def advance(self, scan: Scan, starts: int) -> int:
        missing = _run(starts, scan.chars)
        # Mostly the empty run is allowed, and with it every place that was reached before.
        reached = 0 if self._excludes_empty() else starts
        missing &= ~reached
        # A later start can reach what an earlier one may not, but nothing before itself.
        while starts and starts & -starts <= missing:
            start = starts & -starts
            starts ^= start
            allowed = _run(start, scan.chars) & ~scan.through_any(self.alternatives, start)
            reached |= allowed
            missing &= ~allowed
        return reached

    def _excludes_empty(self) -> bool:
        return bool(Scan("", segmented=False).through_any(self.alternatives, 1))
