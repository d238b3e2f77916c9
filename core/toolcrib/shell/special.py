"""Programs whose command line is more than options and operands: find, test, tar, dd."""

from __future__ import annotations

import re
from collections.abc import Callable

from toolcrib.shell.filters import FILTERS
from toolcrib.shell.git import git_effects
from toolcrib.shell.model import Word
from toolcrib.shell.options import is_one, may_be_option, part, read_arguments
from toolcrib.shell.programs import Program
from toolcrib.shell.touched import Touched

_Words = tuple[Word, ...]


def _each(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FIND_TESTS = _each(
    "-daystart -depth -follow -ignore_readdir_race -mount -noleaf -xdev -empty -executable -false"
    " -nogroup -nouser -readable -true -writable -print -print0 -prune -quit -ls -a -and -o -or"
    " -not ( ) ! , -H -L -P"
)
_FIND_TESTS_WITH_VALUE = _each(
    "-maxdepth -mindepth -regextype -amin -atime -cmin -ctime -fstype -gid -group -ilname -iname"
    " -inum -ipath -iregex -iwholename -links -lname -mmin -mtime -name -path -perm -regex -size"
    " -type -uid -used -user -wholename -xtype -printf -D"
)
_FIND_TESTS_WITH_FILE = _each("-anewer -cnewer -newer -samefile")
_FIND_WRITES = _each("-fprint -fprint0 -fprintf -fls")
_FIND_RUNS = _each("-exec -execdir -ok -okdir")


def _find(touched: Touched, words: _Words) -> bool:
    roots: list[Word] = []
    harmless, deletes, runs = True, False, False
    rest = iter(words)
    expression = False
    for word in rest:
        text = word.text
        if text in _FIND_TESTS:
            expression = expression or text not in ("-H", "-L", "-P")
        elif text in _FIND_TESTS_WITH_VALUE:
            expression = expression or text != "-D"
            value = next(rest, None)
            harmless = harmless and (value is None or is_one(value) or value.glob is not None)
        elif text in _FIND_TESTS_WITH_FILE or text in _FIND_WRITES:
            expression, harmless = True, harmless and text in _FIND_TESTS_WITH_FILE
            for value in (next(rest, None),):
                if value is not None and text in _FIND_WRITES:
                    touched.write(value)
                elif value is not None:
                    touched.read(value)
        elif text == "-delete":
            expression, deletes = True, True
        elif text in _FIND_RUNS:
            expression, runs = True, True
            while word is not None and word.text not in (";", "+"):
                word = next(rest, None)  # type: ignore[assignment]
        elif not expression and not text.startswith("-"):
            roots.append(word)
            harmless = harmless and not may_be_option(word)
        else:
            harmless = False
            touched.read_if_path(word)
    # Names are not contents: only what is run on the files that are found reads them.
    for root in roots or [touched.cwd]:
        if runs:
            touched.read(root, recursive=True)
        else:
            touched.list(root)
        if deletes:
            touched.write(root, recursive=True)
    return harmless  # what it runs is judged by itself


_DATE = Program(
    flags="-uRI --utc --universal --iso-8601 --rfc-3339 --rfc-email --debug",
    values="-d --date",
    reads="-fr --file --reference",
    change_values="-s --set",
)


def _date(touched: Touched, words: _Words) -> bool:
    """An operand that is no format sets the clock."""
    arguments = read_arguments(words, _DATE)
    for word in arguments.values(_DATE.reads):
        touched.read(word)
    shows = all(word.text.startswith("+") for word in arguments.operands)
    doubtful = arguments.strangers or arguments.abbreviated or not arguments.certain
    return shows and not doubtful and not arguments.names & _DATE.change_values


def _hostname(touched: Touched, words: _Words) -> bool:
    """An operand changes the name, and the other options ask a name server."""
    return not words or [word.text for word in words] == ["-s"]


def _env(touched: Touched, words: _Words) -> bool:
    return not words


def _command(touched: Touched, words: _Words) -> bool:
    return bool(words) and words[0].text in ("-v", "-V")


def _sqlite(touched: Touched, words: _Words) -> bool:
    for word in words:
        if not word.text.startswith("-"):
            touched.read(word)
            touched.write(word)
            break
    return False


_BINARY = frozenset(("=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_ARITHMETIC = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))


def _test(touched: Touched, words: _Words) -> bool:
    """Bash evaluates an index in `-v a[...]`, and both sides of `[[ x -eq y ]]`: it may run code.

    So an unknown word must stand where it can be no operator.
    """
    texts = [word.text for word in words]
    double = touched.command.program == "[["
    evaluates = "-v" in texts or "-R" in texts or (double and not _ARITHMETIC.isdisjoint(texts))
    if evaluates:
        return all(word.literal and "[" not in word.text for word in words[: len(words) - 1])
    for at, word in enumerate(words):
        if word.literal:
            continue
        if not is_one(word) and not double:
            return False
        before = texts[at - 1] if at else ""
        after = texts[at + 1] if at + 1 < len(texts) else ""
        unary = len(before) == 2 and before[0] == "-" and before[1].isalpha()
        if not (unary or before in _BINARY or after in _BINARY):
            return False
    return True


def _printf(touched: Touched, words: _Words) -> bool:
    first = words[0] if words else None
    return first is None or (first.literal and not first.text.startswith("-v"))


def _dd(touched: Touched, words: _Words) -> bool:
    for word in words:
        name, equals, _ = word.text.partition("=")
        if equals and name == "if":
            touched.read(part(word, 3))
        elif equals and name == "of":
            touched.write(part(word, 3))
        elif not word.literal:
            touched.write_unknown(word)
    return False


_TAR = Program(
    flags="-AcdrtuxvzjJapPkmOSWhlGnsZ --create --extract --get --list --append --update --verbose"
    " --gzip --bzip2 --xz --zstd --auto-compress --diff --compare --keep-old-files --overwrite",
    values="-bFHIKLNVg --exclude --transform --strip-components --owner --group --mode --wildcards",
    reads="-TX --files-from --exclude-from",
    writes="-f --file",
    into="-C --directory",
)
_TAR_LISTS = frozenset(("-t", "-v", "-z", "-j", "-J", "-f", "--list", "--verbose", "--file"))


def _tar(touched: Touched, words: _Words) -> bool:
    if words and words[0].literal and not words[0].text.startswith("-"):
        words = (Word(words[0].source, f"-{words[0].text}"), *words[1:])
        words = _old_style(words)
    arguments = read_arguments(words, _TAR)
    names = arguments.names
    folder = next(arguments.values(_TAR.into), None)
    packs = bool(names & {"-c", "-r", "-u", "-A", "--create", "--append", "--update"})
    lists = not packs and bool(names & {"-t", "--list"})
    for word in arguments.values(_TAR.writes):
        touched.write(word) if packs else touched.read(word)
    for word in arguments.values(_TAR.reads):
        touched.read(word)
    for word in arguments.strangers:
        touched.read_if_path(word)
    if packs:
        for word in arguments.operands:
            touched.read(word, recursive=True)
            if folder is not None and folder.literal and not word.text.startswith("/"):
                touched.read(Word(word.source, f"{folder.text}/{word.text}"), recursive=True)
    elif not lists:
        target = folder or touched.cwd
        touched.write(target)
        touched.write_unknown(target)  # the names stand in the archive
    local = all(w.literal and ":" not in w.text for w in arguments.values(_TAR.writes))
    sure = arguments.certain and not arguments.strangers and not arguments.abbreviated
    return lists and local and sure and names <= _TAR_LISTS


def _old_style(words: _Words) -> _Words:
    """`tar cfC a.tar dir` as `tar -c -f a.tar -C dir`: the values follow in the letters' order."""
    values = iter(words[1:])
    found: list[Word] = []
    for letter in words[0].text[1:]:
        found.append(Word(f"-{letter}", f"-{letter}"))
        if f"-{letter}" in _TAR.takes_value:
            found.extend([value] if (value := next(values, None)) is not None else [])
    return (*found, *values)


_UNZIP = Program(flags="-afjlnoptuvzCqX", into="-d")


def _unzip(touched: Touched, words: _Words) -> bool:
    arguments = read_arguments(words, _UNZIP)
    for word in arguments.operands[:1]:
        touched.read(word)
    if not arguments.names & {"-l", "-t", "-v", "-z", "-p"}:
        target = next(arguments.values(_UNZIP.into), touched.cwd)
        touched.write(target)
        touched.write_unknown(target)
    return False


def _zip(touched: Touched, words: _Words) -> bool:
    arguments = read_arguments(words, Program(flags="-0123456789dfjmquvyTrR", values="-xi"))
    for word in arguments.operands[:1]:
        touched.write(word)
    for word in arguments.operands[1:]:
        touched.read(word, recursive=bool(arguments.names & {"-r", "-R"}))
    return False


def _set(touched: Touched, words: _Words) -> bool:
    """`set -euo pipefail` changes how the script runs, nothing else."""
    texts = [word.text for word in words]
    return bool(texts) and all(re.fullmatch(r"[-+][eux]*o?|pipefail", text) for text in texts)


def _read_line(touched: Touched, words: _Words) -> bool:
    """`read line` sets variables, which may be the search path."""
    names = [w for w in words if not w.text.startswith("-")]
    return all(w.literal and re.fullmatch(r"[a-z_][a-z0-9_]*", w.text) for w in names) and all(
        w.text in ("-r", "-s", "-d", "-n", "-a") for w in words if w.text.startswith("-")
    )


def _flock(touched: Touched, words: _Words) -> bool:
    for word in words[:1]:
        touched.write(word)
    return False


SPECIAL: dict[str, Callable[[Touched, _Words], bool]] = {
    "git": git_effects,
    **FILTERS,
    "find": _find,
    **dict.fromkeys(("test", "[", "[["), _test),
    "date": _date,
    "hostname": _hostname,
    "env": _env,
    "command": _command,
    "sqlite3": _sqlite,
    "printf": _printf,
    "dd": _dd,
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _tar),
    "unzip": _unzip,
    "zip": _zip,
    "set": _set,
    "read": _read_line,
    "flock": _flock,
}
"""Note what a program touches, and tell whether it is known to be harmless."""
