"""Commands of the shell itself that change how it reads later commands, or evaluate a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from toolcrib.shell.model import UNKNOWN, Word
from toolcrib.shell.wrappers import is_input, is_one_word

if TYPE_CHECKING:
    from toolcrib.shell.findings import Findings

Words = Sequence[Word]

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_DECLARED = re.compile(r"([A-Za-z_]\w*)(?:\+?=|\Z)", re.ASCII)
_SET_FLAGS = frozenset("euxvahE")
_SET_OPTIONS = frozenset(
    ("errexit", "nounset", "xtrace", "verbose", "pipefail", "allexport", "errtrace", "noclobber")
)
_SHOPT_OPTIONS = frozenset({"nullglob", "failglob", "inherit_errexit"})
_COUNT = re.compile(r"\$[#?$!]|\$\{#\w+(\[[@*]\])?\}", re.ASCII)
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?", re.ASCII)
_READ_VALUE = re.compile(r"-[A-Za-z]*[pdtnNui]")


def check_builtin(name: str, words: Words, findings: Findings) -> None:
    """Note what the builtin sets, and a problem if it could run or hide other commands."""
    check = _CHECKS.get(name)
    if check is not None and (problem := check(words, findings)):
        findings.note(f"{problem}: {' '.join(word.source for word in words)[:80]}")


def _always(words: Words, findings: Findings) -> str | None:
    return "a builtin that may run or hide other commands"


def _with_operands(words: Words, findings: Findings) -> str | None:
    return _always(words, findings) if len(words) > 1 else None


def _jobs(words: Words, findings: Findings) -> str | None:
    return (
        _always(words, findings)
        if any("x" in word.text or not word.literal for word in words[1:])
        else None
    )


def _hash(words: Words, findings: Findings) -> str | None:
    if all(word.text in ("-r", "-l", "-t") for word in words[1:]):
        return None
    return _always(words, findings)


def _shopt(words: Words, findings: Findings) -> str | None:
    if all(word.text in _SHOPT_OPTIONS | {"-s", "-u", "-q", "-p"} for word in words[1:]):
        return None
    return "an option that changes how the script is read"


def _set(words: Words, findings: Findings) -> str | None:
    problem = "an option that changes how the script is read"
    options = iter(words[1:])
    for word in options:
        if not word.literal:
            return None if is_one_word(word) and not word.text.startswith(UNKNOWN) else problem
        if word.text[:1] not in ("-", "+") or word.text in ("--", "-"):
            return None
        for letter in word.text[1:]:
            if letter == "o":
                option = next(options, None)
                if option is not None and option.text not in _SET_OPTIONS:
                    return problem
            elif letter not in _SET_FLAGS:
                return problem
    return None


def _declare(words: Words, findings: Findings) -> str | None:
    for word in words[1:]:
        if word.text[:1] in ("-", "+") and word.text[1:].isalpha():
            if set(word.text) & set("niI") and words[0].text not in ("export", "readonly"):
                return "a declaration that makes a variable stand for another or for arithmetic"
            continue
        declared = _DECLARED.match(word.text)
        if declared is None or (UNKNOWN in word.text and not _declares_one(word)):
            return "a declaration whose name is not known"
        if word.text.endswith(declared.group()) and "=" not in word.text:
            continue
        value = word.text[declared.end() :]
        number = value.isascii() and value.isdigit() and len(value) < 18
        findings.assign(declared.group(1), number=number or "=$((" in word.source)
    return None


def _declares_one(word: Word) -> bool:
    """Whether it is one word: quoted, or written as an assignment."""
    return is_one_word(word) or bool(_DECLARED.match(word.source))


def _reads(words: Words, findings: Findings) -> str | None:
    previous = ""
    for word in words[1:]:
        if _NAME.fullmatch(word.text):
            findings.assign(word.text, number=False)
        elif "[" in word.text or not is_one_word(word):
            return "a name that may evaluate a text"
        elif not word.literal and not _READ_VALUE.fullmatch(previous):
            return "a name that is not known"
        elif word.text.startswith("-"):
            for start in range(2, len(word.text)):
                if _NAME.fullmatch(word.text[start:]):
                    findings.assign(word.text[start:], number=False)
        previous = word.text
    return None


def _mapfile(words: Words, findings: Findings) -> str | None:
    if any(word.text.startswith(("-", UNKNOWN)) and "C" in word.text for word in words[1:]):
        return "a callback"
    return _reads(words, findings)


def _printf(words: Words, findings: Findings) -> str | None:
    if len(words) > 1 and words[1].text.startswith((UNKNOWN, "-v")):
        return _reads(words[:3], findings)
    return None


def _wait(words: Words, findings: Findings) -> str | None:
    if any(word.text.startswith("-") and "p" in word.text for word in words[1:]):
        return _reads(words, findings)
    return None


def _test(words: Words, findings: Findings) -> str | None:
    previous = ""
    operands = words[1:-1] if words[0].text == "[" else words[1:]
    for word in operands:
        if previous in ("-v", "-R") and not _NAME.fullmatch(word.text):
            return "a test that may evaluate a text"
        if not is_one_word(word) and not _COUNT.fullmatch(word.source):
            variable = _VARIABLE.fullmatch(word.source)
            if variable is None:
                return "a test that a text without quotes can change"
            findings.evaluate(variable.group(1))
        if previous.startswith(UNKNOWN) and (UNKNOWN in word.text or "[" in word.text):
            return "a test whose operator is not known"
        previous = word.text
    return None


def _source(words: Words, findings: Findings) -> str | None:
    for word in words[1:2]:
        if not word.literal or is_input(word):
            return "a script that is not known"
    return None


_CHECKS: dict[str, Callable[[Words, Findings], str | None]] = {
    **dict.fromkeys(("let", "bind", "complete", "compgen", "compopt", "fc", "coproc"), _always),
    **dict.fromkeys(("alias", "enable", "history"), _with_operands),
    **dict.fromkeys(("declare", "local", "typeset", "export", "readonly"), _declare),
    **dict.fromkeys(("read", "getopts", "unset"), _reads),
    **dict.fromkeys(("mapfile", "readarray"), _mapfile),
    **dict.fromkeys(("test", "["), _test),
    **dict.fromkeys((".", "source"), _source),
    "hash": _hash,
    "jobs": _jobs,
    "shopt": _shopt,
    "set": _set,
    "printf": _printf,
    "wait": _wait,
}
BUILTINS = frozenset(_CHECKS) | {
    "cd", "pushd", "popd", "exit", "return", "break", "continue", "shift", "true",
    "false", ":", "echo", "pwd", "type", "dirs", "kill", "times", "ulimit", "umask", "unalias",
}  # fmt: skip
