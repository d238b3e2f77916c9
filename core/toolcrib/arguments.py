"""Parse the arguments of a call, as a model wrote them, into data, strictly and without raising."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, NoReturn

from attrs import frozen

MAX_ARGUMENT_CHARS = 16 * 1024 * 1024
MAX_NESTING = 100

_JSON_WHITESPACE = " \t\n\r"
_EXTRACT_CHARS_EACH_SIDE = 80
_SECRET_CHARS = 1 << 16
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}:]|[-+.\w]+', re.DOTALL)


@frozen
class ParsedArguments:
    """What came out of one call's arguments.

    Attributes:
        data: The parsed value, of any JSON type; `{}` when nothing could be parsed.
        error: What is wrong with the text, where, and an extract of it; None when it parsed.
    """

    data: Any
    error: str | None = None

    @property
    def parse_failed(self) -> bool:
        """Whether `data` is a stand-in for text that is no JSON."""
        return self.error is not None


def parse_arguments(raw: object) -> ParsedArguments:
    """Parse JSON text; take anything else for data that is parsed already.

    No arguments (None, an empty text) are an empty object. Text must be one JSON value as RFC 8259
    has it: nothing is repaired, and what `json` lets pass (NaN, Infinity, numbers that overflow,
    repeated keys) is refused, like over 100 levels of nesting. Never raises.
    """
    if isinstance(raw, str):
        return _parse_text(raw) if raw else ParsedArguments({})
    if raw is None:
        return ParsedArguments({})
    if isinstance(raw, bytes | bytearray | memoryview):
        return _parse_bytes(bytes(raw))
    if isinstance(raw, Mapping) and not isinstance(raw, dict):
        raw = dict(raw)
    if is_nested_too_deeply(raw):
        return ParsedArguments({}, f"the arguments are nested over {MAX_NESTING} levels deep")
    return ParsedArguments(raw)


def _parse_bytes(raw: bytes) -> ParsedArguments:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        return ParsedArguments({}, f"the arguments are not UTF-8 text: {error}")
    return parse_arguments(text)


def _parse_text(text: str) -> ParsedArguments:
    if len(text) > MAX_ARGUMENT_CHARS:
        size = f"{len(text):,} characters long, over the limit of {MAX_ARGUMENT_CHARS:,}"
        return ParsedArguments({}, f"the arguments are {size}: split the work into several calls")
    try:
        return ParsedArguments(_decode(text))
    except _RefusedValueError as refusal:
        problem, position = str(refusal), refusal.find(text)
    except json.JSONDecodeError as error:
        problem, position = _explain(error), error.pos
    except RecursionError:
        problem, position = _TOO_DEEP, _find_too_deep(text)
    except ValueError:
        # The decoder has no hook for this that leaves its fast path for integers in place.
        problem = f"a whole number has over {sys.get_int_max_str_digits()} digits"
        position = _find_token(text, _is_oversized_integer)
    return ParsedArguments({}, _describe(problem, position, text))


def _decode(text: str) -> Any:
    start = len(text) - len(text.lstrip(_JSON_WHITESPACE))
    data, end = _DECODER.raw_decode(text, start)
    if end != len(text):
        rest = text[end:].lstrip(_JSON_WHITESPACE)
        if rest:
            position = len(text) - len(rest)
            raise json.JSONDecodeError("text after the end of the JSON value", text, position)
    brackets = text.count("[") + text.count("{")
    if brackets > MAX_NESTING and is_nested_too_deeply(data):
        raise _RefusedValueError(_TOO_DEEP, _find_too_deep)
    return data


def is_nested_too_deeply(value: object) -> bool:
    """Whether data has over 100 levels, or no end, so that nothing should walk through it."""
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(MAX_NESTING):
        if not level:
            return False
        inner = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, _CONTAINERS)
        ]
        # By identity, so that containers which hold each other cannot multiply.
        level = list({id(item): item for item in inner}.values()) if inner else inner
    return bool(level)


_CONTAINERS = (dict, list, tuple)


class _RefusedValueError(ValueError):
    """Something that `json` accepts and JSON, or this module, does not."""

    def __init__(self, problem: str, find: Callable[[str], int]) -> None:
        super().__init__(problem)
        self.find = find


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        repeated = _first_repeated(key for key, _ in pairs)
        raise _RefusedValueError(
            f"the key {_printable(json.dumps(repeated, ensure_ascii=False))} is given twice",
            lambda text: _find_repeated_key(text, repeated),
        )
    return data


def _first_repeated(keys: Iterable[str]) -> str:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    raise LookupError("no key is repeated")


def _finite_float(literal: str) -> float:
    number = float(literal)
    if not isfinite(number):
        shown = literal if len(literal) <= 40 else f"{literal[:40]}..."
        _refuse(literal, f"the number {shown} is too large")
    return number


def _refuse_constant(literal: str) -> NoReturn:
    _refuse(literal, f"{literal} is not JSON")


def _refuse(literal: str, problem: str) -> NoReturn:
    raise _RefusedValueError(problem, lambda text: _find_token(text, literal.__eq__))


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_float=_finite_float, parse_constant=_refuse_constant
)
_TOO_DEEP = f"nested over {MAX_NESTING} levels deep"


def _explain(error: json.JSONDecodeError) -> str:
    text, position = error.doc, error.pos
    if not text.strip(_JSON_WHITESPACE):
        return "only blanks, where a JSON object should be"
    if text.startswith("\ufeff"):
        return "a byte order mark before the JSON value"
    problem = error.msg[0].lower() + error.msg[1:].removesuffix(" at")
    if "control character" in problem:
        return f"{problem} in a string (write a line break as \\n, a tab as \\t)"
    if "unterminated string" in problem or position >= len(text.rstrip(_JSON_WHITESPACE)):
        return f"{problem}; the text seems cut off, send all of it again"
    return problem


def _describe(problem: str, position: int, text: str) -> str:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    start = max(0, position - _EXTRACT_CHARS_EACH_SIDE)
    end = position + _EXTRACT_CHARS_EACH_SIDE
    shown = _without_secrets(text, start, end)
    before = ("..." if start else "") + shown[: position - start]
    after = shown[position - start :] + ("..." if end < len(text) else "")
    return (
        f"the arguments are not valid JSON: {problem}, at line {line} column {column} "
        f"(character {position}): {_printable(before)}<<HERE>>{_printable(after)}"
    )


def _without_secrets(text: str, start: int, end: int) -> str:
    """A part of the text, with asterisks for the characters of values that look secret."""
    from toolcrib.redaction import secret_values

    # The name of a value can stand far before the part, but not before every megabyte.
    begin = max(0, start - _SECRET_CHARS)
    part = list(text[start:end])
    for first, last in secret_values(text[begin:end]):
        for index in range(max(first + begin, start), last + begin):
            if part[index - start] not in "\"' ":
                part[index - start] = "*"
    return "".join(part)


def _printable(text: str) -> str:
    """Escape what could not be written as UTF-8 or would break the line."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


# What follows looks for the place of an error that the decoder tells without one. It runs over
# text whose beginning, up to that place, is known to be JSON.


def _find_token(text: str, is_wanted: Callable[[str], bool]) -> int:
    return next((match.start() for match in _TOKEN.finditer(text) if is_wanted(match[0])), 0)


def _is_oversized_integer(token: str) -> bool:
    digits = token.removeprefix("-")
    return len(digits) > sys.get_int_max_str_digits() and digits.isdecimal()


def _find_too_deep(text: str) -> int:
    depth = 0
    for match in _TOKEN.finditer(text):
        if match[0] in "[{":
            depth += 1
            if depth > MAX_NESTING:
                return match.start()
        elif match[0] in "]}":
            depth -= 1
    return 0


def _find_repeated_key(text: str, key: str) -> int:
    return next((start for start, name in _repeated_keys(text) if name == key), 0)


def _repeated_keys(text: str) -> Iterator[tuple[int, str]]:
    open_containers: list[set[str]] = []
    string_start, string = 0, ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "[{":
            open_containers.append(set())
        elif token in "]}":
            open_containers.pop()
        elif token == ":":
            name = json.loads(string)
            if name in open_containers[-1]:
                yield string_start, name
            open_containers[-1].add(name)
        else:
            string_start, string = match.start(), token
