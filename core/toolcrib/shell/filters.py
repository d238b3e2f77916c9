"""Programs that are given a program: sed, awk, jq, perl."""

from __future__ import annotations

import re
from collections.abc import Callable

from toolcrib.shell.model import Word
from toolcrib.shell.options import read_arguments
from toolcrib.shell.programs import Program
from toolcrib.shell.touched import Touched

_Words = tuple[Word, ...]

_SED = Program(
    skip=1,
    given_by="-ef --expression --file",
    flags="-nrEsuz --quiet --silent --regexp-extended --separate --unbuffered --null-data --posix",
    joined="-i",
    values="-el --expression --line-length",
    reads="-f --file",
    changes="--in-place",
)
_SED_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/[IM]*|\+\d+)"
_SED_SUBSTITUTE = "|".join(
    rf"s{d}(?:[^{d}\\\n]|\\[^\n])*{d}(?:[^{d}\\\n]|\\[^\n])*{d}[gpiIM0-9]*"
    for d in (r"/", r"\|", "#", ",", ":", "@", "!", "%", "_", r"\+", "~")
)
_SED_COMMAND = re.compile(
    rf"(?:{_SED_ADDRESS}(?:,{_SED_ADDRESS})?\s*+!?\s*+)?{{?\s*+"
    rf"(?:{_SED_SUBSTITUTE}|[pdDPgGhHxnN=]|[qQl]\s*+\d*+)?\s*+(?:[;}}\n]|\Z)"
)


_SED_SEPARATORS = re.compile(r"[\s;{}]*+")


def _sed(touched: Touched, words: _Words) -> bool:
    arguments = read_arguments(words, _SED)
    scripts = list(arguments.values(("-e", "--expression")))
    for word in arguments.values(_SED.reads):
        touched.read(word)
    operands = arguments.operands
    if not arguments.names & _SED.given_by:
        scripts, operands = list(operands[:1]), operands[1:]
    in_place = bool(arguments.names & {"-i", "--in-place"})
    for word in operands:
        touched.read(word)
        if in_place:
            touched.write(word)
    for word in arguments.strangers:
        touched.read_if_path(word)
    for script in scripts:
        for name in re.findall(r"[wWrR] +([^\s;}]+)", script.text):
            touched.read(Word(script.source, name))
            if "w" in script.text or "W" in script.text:
                touched.write(Word(script.source, name))
    doubtful = arguments.strangers or arguments.abbreviated or not arguments.certain
    reads_script = bool(arguments.names & {"-f", "--file"})
    plain = all(script.literal and is_plain_sed(script.text) for script in scripts)
    return not (doubtful or in_place or reads_script) and plain


def is_plain_sed(script: str) -> bool:
    """Whether a script of sed surely opens no file and runs nothing."""
    if "[" in script and re.search(r"\[[^\]]*(?:[/|#,:@!%_+~\\;\n]|\[)", script):
        return False  # a separator between brackets does not separate
    at = 0
    while True:
        separators = _SED_SEPARATORS.match(script, at)
        at = separators.end() if separators else at
        if at == len(script):
            return True
        match = _SED_COMMAND.match(script, at)
        if match is None or match.end() == at:
            return False
        at = match.end()


_AWK = Program(
    skip=1,
    given_by="-f --file",
    values="-Fv --field-separator --assign",
    reads="-f --file",
)
_AWK_DOUBTS = re.compile(r"[|@]|system|getline")
_AWK_FILE = re.compile(r'([<>]) *"([^"\\]*)"')


def _awk(touched: Touched, words: _Words) -> bool:
    arguments = read_arguments(words, _AWK)
    operands = arguments.operands
    given = bool(arguments.names & _AWK.given_by)
    for word in arguments.values(_AWK.reads):
        touched.read(word)
    program, operands = (None, operands) if given else (operands[:1], operands[1:])
    for word in (*operands, *arguments.strangers):
        if "=" in word.text or word.text.startswith("-"):
            touched.read_if_path(word)
        else:
            touched.read(word)
    for word in program or ():
        for sign, name in _AWK_FILE.findall(word.text):
            if sign == ">":
                touched.write(Word(word.source, name))
            else:
                touched.read(Word(word.source, name))
    plain = bool(program) and all(
        word.literal and _is_plain_awk(word.text) for word in program or ()
    )
    return plain and arguments.certain and not arguments.strangers and not arguments.abbreviated


def _is_plain_awk(program: str) -> bool:
    """Whether a program of awk surely opens no file and runs nothing."""
    redirects = ">" in program and "print" in program
    return not redirects and not _AWK_DOUBTS.search(program)


_JQ = Program(
    skip=1,
    given_by="-f --from-file",
    flags="-cerRnsSCMaj",
    values="-L --indent",
    reads="-f --from-file",
)


def _jq(touched: Touched, words: _Words) -> bool:
    """No option of it writes or runs anything."""
    left: list[Word] = []
    rest = iter(words)
    for word in rest:
        if word.text in ("--arg", "--argjson"):
            next(rest, None), next(rest, None)
        elif word.text in ("--slurpfile", "--rawfile"):
            next(rest, None)
            if (value := next(rest, None)) is not None:
                touched.read(value)
        else:
            left.append(word)
    arguments = read_arguments(left, _JQ)
    for word in arguments.values(_JQ.reads):
        touched.read(word)
    given = bool(arguments.names & _JQ.given_by)
    for word in arguments.operands[0 if given else 1 :]:
        touched.read(word)
    return True


_PERL = Program(
    flags="-nplasw0cWTtuvSE",
    joined="-iF0",
    values="-eEIMm",
)


def _perl(touched: Touched, words: _Words) -> bool:
    arguments = read_arguments(words, _PERL)
    operands = arguments.operands
    if not arguments.names & {"-e", "-E"} and operands:
        touched.read(operands[0])
        operands = operands[1:]
    for word in arguments.strangers:
        touched.read_if_path(word)
    for word in operands:
        touched.read(word)
        if "-i" in arguments.names:
            touched.write(word)
    return False


def _yq(touched: Touched, words: _Words) -> bool:
    arguments = read_arguments(words, Program(flags="-ireyjn --inplace", values="-po"))
    for word in arguments.operands[1:]:
        touched.read(word)
        if arguments.names & {"-i", "--inplace"}:
            touched.write(word)
    return False


FILTERS: dict[str, Callable[[Touched, _Words], bool]] = {
    "sed": _sed,
    "gsed": _sed,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    **dict.fromkeys(("perl", "ruby"), _perl),
    "jq": _jq,
    "yq": _yq,
}
"""Note what a program touches, and tell whether it is known to be harmless."""
