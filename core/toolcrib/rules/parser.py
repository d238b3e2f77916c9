"""From the text of a glob to its parts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from attrs import define, field, frozen

from toolcrib.errors import RuleError
from toolcrib.rules.nodes import (
    POSIX_CLASSES,
    Below,
    CharClass,
    Choice,
    Everything,
    Except,
    Folders,
    Node,
    Nodes,
    One,
    Repeat,
    Run,
    Text,
)

MAX_PATTERN_CHARS = 65_536
MAX_DEPTH = 16
MAX_REPEATED_WEIGHT = 32
MAX_RANGE = 1000

_NUMBERS = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})")
_LETTERS = re.compile(r"(.)\.\.(.)", re.DOTALL)
_OPENERS = {"}": "{", ")": "("}
_SEPARATORS = {",": "{", "|": "("}


@frozen
class _Token:
    """A character, escape or class; `kind` is empty where it stands for itself."""

    kind: str
    text: str
    chars: CharClass | None = None


@define
class _Group:
    """Where an opening bracket closes, and where its alternatives part."""

    prefix: str
    bracket: str
    separators: list[int] = field(factory=list)
    close: int = -1


def parse_glob(pattern: str, *, segmented: bool) -> Nodes:
    """Parse a pattern; brackets that do not close or hold no alternatives stand for themselves.

    Raises:
        RuleError: the pattern, or what it repeats or excludes, is too long or nested.
    """
    if len(pattern) > MAX_PATTERN_CHARS:
        raise RuleError(
            f"pattern {pattern[:60]!r}... with wildcards is {len(pattern)} characters long, more "
            f"than the {MAX_PATTERN_CHARS} that are possible: shorten it"
        )
    tokens = list(_tokens(pattern))
    return _Parser(pattern, tokens, _groups(tokens), segmented).sequence(0, len(tokens))


def _tokens(pattern: str) -> Iterator[_Token]:
    at = 0
    last_closing = pattern.rfind("]")
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            yield _Token("", pattern[at + 1 : at + 2] or char)
            at += 2
            continue
        if char in "?*+@!" and pattern.startswith("(", at + 1):
            yield _Token("(", f"{char}(")
            at += 2
            continue
        if char == "[" and at < last_closing:
            found = _char_class(pattern, at + 1)
            if found is not None:
                chars, end = found
                yield _Token("[", pattern[at:end], chars)
                at = end
                continue
            # Nothing closes from here on: a further look each time would take quadratic time.
            last_closing = -1
        yield _Token(char if char in "*?/{}(),|" else "", char)
        at += 1


def _char_class(pattern: str, at: int) -> tuple[CharClass, int] | None:
    """Parse behind `[`; give the class and where it ends, or None where it does not end."""
    negated = pattern.startswith(("!", "^"), at)
    at += negated
    ranges: list[tuple[str, str]] = []
    posix: list[str] = []
    first = at
    while at < len(pattern) and (pattern[at] != "]" or at == first):
        if pattern.startswith("[:", at):
            name, closed, _ = pattern[at + 2 : at + 12].partition(":]")
            if closed and name in POSIX_CLASSES:
                posix.append(name)
                at += len(name) + 4
                continue
        low, at = _class_char(pattern, at)
        high = low
        if pattern.startswith("-", at) and not pattern.startswith("]", at + 1):
            high, at = _class_char(pattern, at + 1)
        ranges.append((low, high))
    if at >= len(pattern):
        return None
    return CharClass(tuple(ranges), tuple(posix), negated), at + 1


def _class_char(pattern: str, at: int) -> tuple[str, int]:
    if pattern.startswith("\\", at) and at + 1 < len(pattern):
        at += 1
    return pattern[at : at + 1], at + 1


def _groups(tokens: list[_Token]) -> dict[int, _Group]:
    """Find the brackets that close, by the place of the opening one."""
    closed: dict[int, _Group] = {}
    pending: list[tuple[int, _Group]] = []
    waiting: Counter[str] = Counter()
    for index, token in enumerate(tokens):
        if token.kind in ("{", "(") and len(pending) < MAX_DEPTH:
            pending.append((index, _Group(token.text[:-1], token.kind)))
            waiting[token.kind] += 1
        elif pending and _SEPARATORS.get(token.kind) == pending[-1][1].bracket:
            pending[-1][1].separators.append(index)
        elif waiting[_OPENERS.get(token.kind, "")]:
            bracket = _OPENERS[token.kind]
            while True:
                opened, group = pending.pop()
                waiting[group.bracket] -= 1
                if group.bracket == bracket:
                    break
            group.close = index
            closed[opened] = group
    return closed


@frozen
class _Parser:
    pattern: str
    tokens: list[_Token]
    groups: dict[int, _Group]
    segmented: bool

    def sequence(self, at: int, end: int, repeated: bool = False) -> Nodes:
        """Parse the tokens from `at` to `end`; `repeated` tells that no repetition may follow."""
        nodes: list[Node] = []
        literal: list[str] = []
        start = at
        while at < end:
            node, following = self._part(start, at, end, repeated)
            if node is None:
                literal.append(self.tokens[at].text)
            else:
                if literal:
                    nodes.append(Text("".join(literal)))
                    literal.clear()
                nodes.append(node)
            at = following
        if literal:
            nodes.append(Text("".join(literal)))
        return tuple(nodes)

    def _part(self, start: int, at: int, end: int, repeated: bool) -> tuple[Node | None, int]:
        """Parse one part; give None where the token stands for itself, and where to go on."""
        token = self.tokens[at]
        if token.kind == "[":
            return One(token.chars), at + 1
        if token.kind == "?":
            return One(), at + 1
        if token.kind == "*":
            return self._stars(start, at, end)
        if token.kind == "/" and self._is_below(at, end):
            return Below(), self._behind_stars(at + 1, end)
        if at in self.groups:
            group = self.groups[at]
            node = self._group(at, group, repeated)
            if node is not None:
                return node, group.close + 1
        if token.kind == "(" and token.text[0] in "*?":
            wildcard = Run() if token.text[0] == "*" else One()
            return Choice(((wildcard, Text("(")),)), at + 1
        return None, at + 1

    def _stars(self, start: int, at: int, end: int) -> tuple[Node, int]:
        behind = self._behind_stars(at, end)
        whole = at == start or self.tokens[at - 1].kind == "/"
        if not self.segmented or behind - at < 2 or not whole:
            return Run(), behind
        if behind == end:
            return Everything(), behind
        if self.tokens[behind].kind == "/":
            return Folders(), behind + 1
        return Run(), behind

    def _is_below(self, at: int, end: int) -> bool:
        behind = self._behind_stars(at + 1, end)
        return self.segmented and behind == end and behind - at > 2

    def _behind_stars(self, at: int, end: int) -> int:
        while at < end and self.tokens[at].kind == "*":
            at += 1
        return at

    def _group(self, at: int, group: _Group, repeated: bool) -> Node | None:
        if group.bracket == "{" and not group.separators:
            return self._range(at + 1, group.close)
        if not group.prefix and not group.separators:
            return None
        again = group.prefix in ("*", "+", "!")
        if again and repeated:
            raise self._too_intricate()
        bounds = [at, *group.separators, group.close]
        alternatives = tuple(
            self.sequence(left + 1, right, repeated or again) for left, right in pairwise(bounds)
        )
        node = _group_node(group.prefix, alternatives)
        if again and node.weight > MAX_REPEATED_WEIGHT:
            raise self._too_intricate()
        return node

    def _range(self, at: int, end: int) -> Node | None:
        body = "".join(token.text for token in self.tokens[at : min(end, at + 24)])
        texts = _counted(body)
        return None if texts is None else Choice(tuple((Text(text),) for text in texts))

    def _too_intricate(self) -> RuleError:
        return RuleError(
            f"pattern {self.pattern!r} repeats or excludes too much: what stands in '*(...)', "
            f"'+(...)' or '!(...)' may hold {MAX_REPEATED_WEIGHT} characters and no further one of "
            "these; write several rules instead"
        )


def _group_node(prefix: str, alternatives: tuple[Nodes, ...]) -> Node:
    match prefix:
        case "*" | "+":
            return Repeat(alternatives, at_least_once=prefix == "+")
        case "!":
            return Except(alternatives)
        case "?":
            return Choice((*alternatives, ()))
        case _:
            return Choice(alternatives)


def _counted(body: str) -> list[str] | None:
    """Give what `{body}` counts through, or None when it is no range."""
    numbers = _NUMBERS.fullmatch(body)
    if numbers is not None:
        first, last = int(numbers[1]), int(numbers[2])
        padded = any(re.match(r"-?0\d", number) for number in numbers.groups())
        width = max(map(len, numbers.groups())) if padded else 0
    else:
        letters = _LETTERS.fullmatch(body)
        if letters is None:
            return None
        first, last = ord(letters[1]), ord(letters[2])
    low, high = min(first, last), max(first, last)
    if high - low >= MAX_RANGE:
        return None
    if numbers is None:
        return [chr(code) for code in range(low, high + 1)]
    return [f"{number:0{width}d}" for number in range(low, high + 1)]
