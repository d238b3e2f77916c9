"""The programs that run other programs: what each of them would run, and how."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from posixpath import dirname, normpath

from attrs import evolve, frozen

from toolcrib.shell.model import UNKNOWN, Assignment, Word

Words = Sequence[Word]

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ASSIGNED = re.compile(r"([^=\ufdd0]+)=", re.DOTALL)
_ONE_WORD = re.compile(r'[A-Za-z0-9_=./:,+-]*"[^"@\[\]]*"', re.ASCII)
_SYSTEM_FOLDERS = frozenset(
    {"", "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"}
)
_SPLIT_SPECIAL = re.compile(r"[^A-Za-z0-9_./:=,@%+ -]", re.ASCII)
_ANYTHING = Word("", UNKNOWN)
_DEVICE = re.compile(r"/+(\.\./)*(dev|proc)/|(\.\./)+(dev|proc)/")


class _Unsure(Exception):
    """The command that a wrapper runs cannot be told."""


@frozen(kw_only=True)
class Unwrapped:
    """What a wrapper runs.

    Attributes:
        transparent: the wrapper does nothing by itself.
        commands: the words of the commands that it runs.
        script: a script that it gives to a shell.
        posix: whether that shell need not be bash; None for the same shell.
        same_shell: what it runs may change the state of the shell itself.
        assignments: variables that it sets for what it runs.
        folder: the folder in which it runs that; None for one that is not known.
        problem: why it may run something else.
    """

    transparent: bool = False
    commands: tuple[tuple[Word, ...], ...] = ()
    script: str | None = None
    posix: bool | None = None
    same_shell: bool = False
    assignments: tuple[Assignment, ...] = ()
    folder: str | None = "."
    problem: str | None = None


@frozen
class _Options:
    """The options of a program: letters and long names, without and with a value."""

    flags: str = ""
    values: str = ""
    long_flags: frozenset[str] = frozenset()
    long_values: frozenset[str] = frozenset()
    attached: str = ""
    """Letters whose value, if they have one, is the rest of the word."""
    operands: int = 0
    """How many operands stand before the command."""


Given = list[tuple[str, Word | None]]


def _options(short: str, long: str = "", *, attached: str = "", operands: int = 0) -> _Options:
    """Options in the notation of getopt: a colon behind those that take a value."""
    letters = re.findall(r"(.)(:?)", short)
    names = [(name.rstrip(":"), name.endswith(":")) for name in long.split()]
    return _Options(
        "".join(letter for letter, value in letters if not value),
        "".join(letter for letter, value in letters if value),
        frozenset(name for name, value in names if not value),
        frozenset(name for name, value in names if value),
        attached,
        operands,
    )


def is_one_word(word: Word) -> bool:
    """Whether the shell makes exactly one word of it."""
    return word.literal or bool(_ONE_WORD.fullmatch(word.source))


def is_input(word: Word) -> bool:
    """Whether a script of this name is what the script itself passes on, and no file."""
    return word.text == "-" or _DEVICE.match(normpath(word.text)) is not None


def _certain(words: Words, index: int) -> Word:
    """The word at an index, if nothing in it can be an option or several words."""
    if index >= len(words):
        raise _Unsure("a word is missing")
    word = words[index]
    if not is_one_word(word) or (not word.literal and word.text.startswith(UNKNOWN)):
        raise _Unsure(f"the word {word.source or '{}'} may be anything")
    return word


def _read(words: Words, options: _Options, start: int = 1) -> tuple[int, Given]:
    """The index of the first word behind the options and operands, and the options."""
    given: Given = []
    index = start
    while index < len(words):
        text = _certain(words, index).text
        if text == "--":
            index += 1
            break
        if not text.startswith("-") or text == "-":
            break
        index += 1
        if text.startswith("--"):
            index = _long_option(words, index, options, given)
        else:
            index = _short_options(words, index, options, given)
    for _ in range(options.operands):
        if index < len(words):
            _certain(words, index)
            index += 1
    return index, given


def _value(words: Words, index: int) -> Word:
    if index >= len(words) or not is_one_word(words[index]):
        raise _Unsure("the value of an option is not known")
    return words[index]


def _long_option(words: Words, index: int, options: _Options, given: Given) -> int:
    word = words[index - 1]
    name, equals, value = word.text[2:].partition("=")
    if name in options.long_values:
        if equals:
            given.append((name, Word(word.source, value)))
            return index
        given.append((name, _value(words, index)))
        return index + 1
    if name not in options.long_flags or equals:
        raise _Unsure(f"the option {word.source} is not known")
    given.append((name, None))
    return index


def _short_options(words: Words, index: int, options: _Options, given: Given) -> int:
    word = words[index - 1]
    letters = word.text[1:]
    for at, letter in enumerate(letters):
        rest = letters[at + 1 :]
        if letter in options.attached:
            given.append((letter, Word(word.source, rest)))
            return index
        if letter in options.values:
            if rest:
                given.append((letter, Word(word.source, rest)))
                return index
            given.append((letter, _value(words, index)))
            return index + 1
        if letter not in options.flags:
            raise _Unsure(f"the option {word.source} is not known")
        given.append((letter, None))
    return index


def _names(given: Given) -> set[str]:
    return {name for name, _ in given}


def _inner(words: Words, index: int) -> tuple[tuple[Word, ...], ...]:
    return (tuple(words[index:]),) if index < len(words) else ()


# Programs that differ only in their options

_TRANSPARENT = {
    "nohup": _options(""),
    "nice": _options("n:0123456789", "adjustment:"),
    "setsid": _options("cfw", "ctty fork wait"),
    "stdbuf": _options("i:o:e:", "input: output: error:"),
    "timeout": _options(
        "vk:s:", "preserve-status foreground verbose kill-after: signal:", operands=1
    ),
    "exec": _options("cla:"),
    "builtin": _options(""),
}
_VISIBLE = {
    "doas": _options("Lnsu:C:"),
    "chroot": _options("", "groups: userspec: skip-chdir", operands=1),
    "unshare": _options(
        "imnpuUCTfrcw:R:S:G:",
        "fork map-root-user map-current-user mount-proc user net pid uts ipc mount cgroup time"
        " kill-child root: wd: setuid: setgid:",
    ),
    "nsenter": _options(
        "at:FS:G:ZeW:", "target: all no-fork setuid: setgid: env", attached="muinpCUTrw"
    ),
    "strace": _options(
        "cCdDfFhiknqrtTvVwxyYzZa:b:e:E:I:o:O:p:P:s:S:u:U:X:",
        "follow-forks trace: output: string-limit: summary-only summary attach:",
    ),
    "ltrace": _options("cCfhiLrStTVbA:a:D:e:F:l:n:o:p:s:u:w:x:X:"),
}
_OPAQUE = frozenset({
    "parallel", "entr", "taskset", "chrt", "setpriv", "runuser", "pkexec", "gosu", "su-exec",
    "systemd-run", "unbuffer", "rlwrap", "faketime", "fakeroot", "xvfb-run", "dbus-run-session",
    "proxychains", "proxychains4", "torsocks", "firejail", "bwrap", "caffeinate", "numactl",
    "prlimit", "setarch", "linux32", "linux64", "catchsegv", "valgrind", "start-stop-daemon",
    "csh", "tcsh", "fish", "pwsh", "rbash", "yash", "mksh", "elvish", "nu", "capsh", "eatmydata",
    "ccache", "distcc", "gtimeout", "daemonize", "tsp", "chpst", "softlimit", "envdir",
    "setuidgid", "dtach", "abduco",
})  # fmt: skip
_SUDO = _options(
    "AbBEHiKklNnPSsveVu:g:h:p:C:T:U:r:t:R:D:",
    "askpass background bell preserve-env set-home login remove-timestamp reset-timestamp list "
    "no-update non-interactive preserve-groups stdin shell validate "
    "user: group: host: prompt: close-from: command-timeout: other-user: role: type: chroot: chdir:"
    " preserve-env:",
)
_ENV = _options(
    "i0vu:C:S:",
    "ignore-environment null debug unset: chdir: split-string:",
)
_XARGS = _options(
    "0rtpxoI:n:L:P:s:a:d:E:",
    "null no-run-if-empty verbose interactive exit open-tty replace: max-args: max-lines: "
    "max-procs: max-chars: arg-file: delimiter: eof: process-slot-var:",
    attached="eil",
)
_IONICE = _options("tc:n:p:P:u:", "class: classdata: ignore pid: pgid: uid:")
_TIME = _options("apqvVf:o:", "portability quiet verbose append format: output:")
_WATCH = _options(
    "bcCdegprtwxn:q:",
    "beep color no-color differences errexit chgexit equexit: precise no-rerun no-title no-wrap "
    "exec interval:",
)
_FLOCK = _options(
    "sexunoFvw:E:c:",
    "shared exclusive unlock nonblock nb close no-fork verbose timeout: wait: conflict-exit-code: "
    "command:",
)
_SU = _options(
    "flmpPc:s:g:G:w:",
    "login preserve-environment pty command: shell: group: supp-group: session-command:",
)
_SCRIPT = _options(
    "aefqc:o:O:I:B:T:m:E:t",
    "append command: return flush force quiet log-out: log-in: log-io: log-timing: echo: "
    "logging-format: output-limit:",
)
_SHELL_FLAGS = "cefuvxlbhmap"


def unwrap(words: Words) -> Unwrapped | None:
    """What the program of a command runs; None for a program that is no wrapper."""
    if not words or not words[0].literal:
        return None
    folder = dirname(words[0].text)
    name = words[0].text[len(folder) :].lstrip("/")
    handler = _HANDLERS.get(name)
    if handler is None:
        if name in _OPAQUE:
            return Unwrapped(problem=f"{name} runs another command")
        return None
    try:
        found = handler(name, words)
    except _Unsure as reason:
        return Unwrapped(problem=f"{name}: {reason}", commands=_guesses(words), folder=None)
    return found if folder in _SYSTEM_FOLDERS else evolve(found, transparent=False)


def _guesses(words: Words) -> tuple[tuple[Word, ...], ...]:
    """What a wrapper may run whose options are not known: so that rules which forbid see it."""
    starts = [
        index
        for index, word in enumerate(words)
        if index and word.literal and not word.text.startswith("-") and "=" not in word.text
    ]
    return tuple(tuple(words[index:]) for index in starts[:3])


def _transparent(name: str, words: Words) -> Unwrapped:
    index, _ = _read(words, _TRANSPARENT[name])
    return Unwrapped(
        transparent=True,
        commands=_inner(words, index),
        same_shell=name in ("builtin", "exec"),
    )


def _visible(name: str, words: Words) -> Unwrapped:
    index, _ = _read(words, _VISIBLE[name])
    return Unwrapped(commands=_inner(words, index), folder="." if name == "doas" else None)


def _assignments(words: Words, index: int) -> tuple[int, tuple[Assignment, ...]]:
    found: list[Assignment] = []
    while index < len(words) and (assigned := _ASSIGNED.match(words[index].text)):
        word = words[index]
        if not _NAME.fullmatch(assigned.group(1)) or not is_one_word(word):
            raise _Unsure(f"the variable {word.source}")
        found.append(Assignment(assigned.group(1), Word(word.source, word.text[assigned.end() :])))
        index += 1
    return index, tuple(found)


def _sudo(_: str, words: Words) -> Unwrapped:
    index, given = _read(words, _SUDO)
    index, assignments = _assignments(words, index)
    if _names(given) & {"e", "s", "i", "shell", "login"} and index < len(words):
        raise _Unsure("a shell reads the words")
    moved = _names(given) & {"D", "chdir", "R", "chroot"}
    return Unwrapped(
        commands=_inner(words, index), assignments=assignments, folder=None if moved else "."
    )


def _env(_: str, words: Words) -> Unwrapped:
    index, given = _read(words, _ENV)
    folder: str | None = "."
    for name, value in given:
        if name in ("S", "split-string") and value is not None:
            if len(given) > 1 or _SPLIT_SPECIAL.search(value.text):
                raise _Unsure(f"the words in {value.source}")
            split = [Word(piece, piece) for piece in value.text.split()]
            return _env("env", [words[0], *split, *words[index:]])
        if name in ("C", "chdir") and value is not None:
            folder = value.text if value.literal else None
    if index < len(words) and words[index].text == "-":
        index += 1
    index, assignments = _assignments(words, index)
    return Unwrapped(
        transparent=True, commands=_inner(words, index), assignments=assignments, folder=folder
    )


def _command(_: str, words: Words) -> Unwrapped:
    index, given = _read(words, _options("pvV"))
    if _names(given) & {"v", "V"}:
        return Unwrapped()
    return Unwrapped(transparent=True, commands=_inner(words, index), same_shell=True)


def _ionice(_: str, words: Words) -> Unwrapped:
    index, given = _read(words, _IONICE)
    if _names(given) & {"p", "P", "u", "pid", "pgid", "uid"}:
        return Unwrapped()
    return Unwrapped(transparent=True, commands=_inner(words, index))


def _time(_: str, words: Words) -> Unwrapped:
    index, given = _read(words, _TIME)
    writes = _names(given) & {"o", "output"}
    return Unwrapped(transparent=not writes, commands=_inner(words, index))


def _xargs(_: str, words: Words) -> Unwrapped:
    index, given = _read(words, _XARGS)
    mark = None
    for name, value in given:
        if name in ("I", "replace", "i") and value is not None:
            mark = value.text or "{}"
    inner = list(words[index:])
    if not inner:
        return Unwrapped()
    inner = [*inner, _ANYTHING] if mark is None else [_replaced(word, mark) for word in inner]
    reads = _names(given) & {"a", "arg-file"}
    return Unwrapped(transparent=not reads, commands=(tuple(inner),))


def _replaced(word: Word, mark: str) -> Word:
    if mark not in word.text:
        return word
    return Word(word.source, word.text.replace(mark, UNKNOWN))


def _applet(_: str, words: Words) -> Unwrapped:
    if len(words) < 2 or _certain(words, 1).text.startswith("-"):
        return Unwrapped()
    return Unwrapped(transparent=True, commands=_inner(words, 1))


def _shell(name: str, words: Words) -> Unwrapped:
    index = 1
    runs = reads_input = False
    while index < len(words):
        text = _certain(words, index).text
        if text == "--":
            index += 1
            break
        if text[:1] not in ("-", "+") or text in ("-", "+"):
            break
        index += 1
        if text == "--login" or text in ("--noprofile", "--norc"):
            continue
        letters = text[1:]
        if letters.endswith("o"):
            if _certain(words, index).text not in ("pipefail", "errexit", "nounset", "xtrace"):
                raise _Unsure(f"the option {words[index].source}")
            index += 1
            letters = letters[:-1]
        if any(letter not in _SHELL_FLAGS + "s" for letter in letters):
            if text in ("--version", "--help"):
                return Unwrapped()
            raise _Unsure(f"the option {text}")
        runs = runs or "c" in letters
        reads_input = reads_input or "s" in letters
    if not runs:
        if reads_input or index >= len(words) or is_input(_certain(words, index)):
            raise _Unsure("the script that it is given as its input is not known")
        return Unwrapped()
    if index >= len(words) or not words[index].literal:
        raise _Unsure("the script is not known")
    return Unwrapped(
        transparent=True,
        script=words[index].text,
        posix=name != "bash",
        problem="the grammar of zsh is another one" if name == "zsh" else None,
    )


def _eval(_: str, words: Words) -> Unwrapped:
    arguments = words[2:] if len(words) > 1 and words[1].text == "--" else words[1:]
    if not all(word.literal for word in arguments):
        raise _Unsure("the script is not known")
    script = " ".join(word.text for word in arguments)
    return Unwrapped(transparent=True, script=script, same_shell=True)


def _trap(_: str, words: Words) -> Unwrapped:
    arguments = words[2:] if len(words) > 1 and words[1].text == "--" else words[1:]
    if not arguments or arguments[0].text in ("-", "-l", "-p", "") or len(arguments) == 1:
        return Unwrapped()
    if not arguments[0].literal:
        raise _Unsure("the script is not known")
    return Unwrapped(transparent=True, script=arguments[0].text, folder=None)


def _find(_: str, words: Words) -> Unwrapped:
    commands = []
    folder: str | None = "."
    index = 1
    while index < len(words):
        word = words[index]
        index += 1
        if not is_one_word(word) and (word.glob is None or word.text.startswith(UNKNOWN)):
            raise _Unsure(f"the word {word.source or '{}'} may be anything")
        if word.text not in ("-exec", "-execdir", "-ok", "-okdir"):
            continue
        if word.text.endswith("dir"):
            folder = None
        inner: list[Word] = []
        while index < len(words) and words[index].text != ";":
            if words[index].text == "+" and inner and inner[-1].text == UNKNOWN:
                break
            inner.append(_replaced(words[index], "{}"))
            index += 1
        if not inner or index >= len(words):
            raise _Unsure("an action without its end")
        index += 1
        commands.append(tuple(inner))
    return Unwrapped(commands=tuple(commands), folder=folder)


def _watch(_: str, words: Words) -> Unwrapped:
    index, given = _read(words, _WATCH)
    if _names(given) & {"x", "exec"}:
        return Unwrapped(transparent=True, commands=_inner(words, index))
    if not all(word.literal for word in words[index:]):
        raise _Unsure("the script is not known")
    script = " ".join(word.text for word in words[index:])
    return Unwrapped(transparent=True, script=script, posix=True)


def _flock(_: str, words: Words) -> Unwrapped:
    index, given = _read(words, _FLOCK)
    script = dict(given).get("c") or dict(given).get("command")
    if script is None:
        index += 1
        if index < len(words) and words[index].text in ("-c", "--command"):
            script = _value(words, index + 1)
    if script is None:
        return Unwrapped(commands=_inner(words, index))
    return Unwrapped(script=_literal(script), posix=True)


def _literal(word: Word) -> str:
    if not word.literal:
        raise _Unsure("the script is not known")
    return word.text


def _script_option(name: str, words: Words) -> Unwrapped:
    """`su` and `script`, whose options may stand behind the operands."""
    options = _SU if name == "su" else _SCRIPT
    script = None
    index = 1
    while index < len(words):
        index, given = _read(words, options, index)
        for option, value in given:
            if option in ("c", "command", "session-command") and value is not None:
                script = _literal(value)
            elif option in ("s", "shell"):
                raise _Unsure("another shell")
        if index < len(words):
            _certain(words, index)
        index += 1
    return Unwrapped(script=script, posix=True, folder=None if name == "su" else ".")


_HANDLERS: dict[str, Callable[[str, Words], Unwrapped]] = {
    **dict.fromkeys(_TRANSPARENT, _transparent),
    **dict.fromkeys(_VISIBLE, _visible),
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh", "ash"), _shell),
    **dict.fromkeys(("busybox", "toybox"), _applet),
    **dict.fromkeys(("su", "script"), _script_option),
    "sudo": _sudo,
    "env": _env,
    "command": _command,
    "ionice": _ionice,
    "time": _time,
    "xargs": _xargs,
    "eval": _eval,
    "trap": _trap,
    "find": _find,
    "watch": _watch,
    "flock": _flock,
}
WRAPPERS = frozenset(_HANDLERS) | _OPAQUE
