"""Tells the options of a command from its operands, by what is known of its program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attrs import evolve, field, frozen

from toolcrib.shell.model import UNKNOWN, Word
from toolcrib.shell.programs import Program

_ONE_WORD = re.compile(r"""[^"$`<>]*(?:"[^"]*"[^"$`<>]*)?""", re.DOTALL)
_NUMBER = re.compile(r"[-+]\d+[a-zA-Z]?")
_SEVERAL = re.compile(r"\$\{?@|@\}|\[@\]")
_GLOB_START = frozenset("-*?[{@+!\\")


@frozen
class Option:
    """An option of a command by a name of the table, with its value if it has one."""

    name: str
    value: Word | None = None


@frozen(kw_only=True)
class Arguments:
    """The arguments of a command.

    Attributes:
        strangers: options that the table does not know.
        certain: no unknown word or glob could turn out to be an option, or several words.
        abbreviated: an option is not written in full, so which one is meant is a guess.
        names: of all the options that the table knows.
    """

    options: tuple[Option, ...] = ()
    operands: tuple[Word, ...] = ()
    strangers: tuple[Word, ...] = ()
    certain: bool = True
    abbreviated: bool = False
    names: frozenset[str] = field(init=False)

    @names.default
    def _names(self) -> frozenset[str]:
        return frozenset(option.name for option in self.options)

    def values(self, names: Iterable[str]) -> Iterator[Word]:
        """The values given to any of these options."""
        wanted = frozenset(names)
        return (o.value for o in self.options if o.name in wanted and o.value is not None)


def may_be_option(word: Word) -> bool:
    """Whether a word could turn out to be an option, or to hold one among several words."""
    if word.glob is not None:
        return word.glob[:1] in _GLOB_START
    return not word.literal and (word.text.startswith(UNKNOWN) or not is_one(word))


def is_one(word: Word) -> bool:
    """Whether a word stays one word whatever is unknown in it."""
    if word.literal:
        return True
    quoted = word.source and word.glob is None and _ONE_WORD.fullmatch(word.source)
    return bool(quoted) and not _SEVERAL.search(word.source)


def part(word: Word, start: int) -> Word:
    """The rest of a word from a place in its text on."""
    return Word(word.source, word.text[start:])


def read_arguments(words: Iterable[Word], program: Program) -> Arguments:
    """Split the words after a program's name."""
    options: list[Option] = []
    operands: list[Word] = []
    strangers: list[Word] = []
    certain, abbreviated = True, False
    rest = iter(words)
    for word in rest:
        certain = certain and not may_be_option(word)
        text = word.text
        if text == "--":
            operands.extend(rest)
        elif len(text) < 2 or text[0] != "-":
            operands.append(word)
            if program.stops:
                operands.extend(rest)
        elif not _NUMBER.fullmatch(text):
            found, exact = _options_in(word, program)
            abbreviated = abbreviated or not exact
            if found[-1].name == "":
                strangers.append(word)
            elif found[-1].value is None and found[-1].name in program.takes_value:
                value = next(rest, None)
                certain = certain and (value is None or is_one(value))
                found[-1] = evolve(found[-1], value=value)
            options.extend(option for option in found if option.name)
    return Arguments(
        options=tuple(options),
        operands=tuple(operands),
        strangers=tuple(strangers),
        certain=certain,
        abbreviated=abbreviated,
    )


def _options_in(word: Word, program: Program) -> tuple[list[Option], bool]:
    """The options that a word holds, a nameless one at the end for what is not known.

    The second answer is whether each is written in full.
    """
    if word.text.startswith("--"):
        return _long_option(word, program)
    found: list[Option] = []
    for at, letter in enumerate(word.text[1:], 1):
        name = f"-{letter}"
        if name in program.takes_value or name in program.joined:
            value = part(word, at + 1) if at + 1 < len(word.text) else None
            return [*found, Option(name, value)], True
        if name not in program.known:
            return [*found, Option("")], True
        found.append(Option(name))
    return found, True


def _long_option(word: Word, program: Program) -> tuple[list[Option], bool]:
    name, equals, _ = word.text.partition("=")
    value = part(word, len(name) + 1) if equals else None
    if name in program.known:
        return [Option(name, value)], True
    # GNU and git take any beginning that is clear; the worst of those that fit is assumed.
    fitting = [known for known in program.worst_first if known.startswith(name)]
    if fitting and len(name) > 2:
        return [Option(fitting[0], value)], False
    return [Option("")], True
