"""Rules about paths."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from posixpath import normpath

from toolcrib.paths import Workspace
from toolcrib.rules.glob import Glob, compile_or_none
from toolcrib.rules.negation import apply_negated
from toolcrib.rules.rule import escape

_ESCAPED = re.compile(r"\\.", re.DOTALL)
_META = frozenset("*?[]{}()!+@|")
_UNICODE_SPACE = re.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_OPEN_STARTS = tuple("*?[{(!+@")


def match_path_rule(rule_args: str, subject: str, *, cwd: str, home_dir: str | None) -> bool:
    """Tell whether the arguments of a rule cover a path.

    `*` stays within a segment, `**` as a segment goes across, both cover hidden names; neither case
    nor the Unicode spelling of accents and spaces counts. Relative patterns and subjects start at
    `cwd`, `~` is `home_dir`. Empty arguments cover everything, a leading `!` turns the rest around.
    Never raises.
    """
    folded = _folded(_absolute(subject, cwd, home_dir))
    return _covers(rule_args, subject, folded, cwd, home_dir)


def path_matcher(path: str, workspace: Workspace) -> Callable[[str], bool]:
    """Give the `matches_rule` of a call whose subject is a resolved path."""
    cwd, home_dir = workspace.root, workspace.home_dir
    folded = ""

    def matches(rule_args: str) -> bool:
        nonlocal folded
        folded = folded or _folded(_absolute(path, cwd, home_dir))
        return _covers(rule_args, path, folded, cwd, home_dir)

    return matches


def _covers(rule_args: str, subject: str, folded: str, cwd: str, home_dir: str | None) -> bool:
    return apply_negated(
        rule_args,
        lambda pattern: (
            pattern == subject
            or any(glob.matches(folded) for glob in _compiled(pattern, cwd, home_dir))
        ),
    )


@lru_cache(maxsize=1024)
def _compiled(pattern: str, cwd: str, home_dir: str | None) -> tuple[Glob, ...]:
    """Compile a pattern as starting at `cwd` and, for one like `**/*.py`, as it stands."""
    spellings = [_absolute_pattern(pattern, cwd, home_dir)]
    if pattern.startswith(_OPEN_STARTS):
        spellings.append(pattern)
    globs = (compile_or_none(_folded(spelling), segmented=True) for spelling in spellings)
    return tuple(glob for glob in globs if glob is not None)


def _folded(text: str) -> str:
    """The form in which paths are compared: without case, and however Unicode spells them.

    Read opens a file whose name differs from the one it was given only in how accents and spaces
    are spelled; a rule on that file has to cover the other spelling too.
    """
    if not text.isascii():
        import unicodedata

        text = unicodedata.normalize("NFC", _UNICODE_SPACE.sub(" ", text))
    return text.lower()


def _absolute(subject: str, cwd: str, home_dir: str | None) -> str:
    if home_dir is not None and (subject == "~" or subject.startswith("~/")):
        subject = home_dir + subject[1:]
    elif not subject.startswith("/"):
        subject = f"{cwd}/{subject}"
    return "/" + normpath(subject).lstrip("/")


def _absolute_pattern(pattern: str, cwd: str, home_dir: str | None) -> str:
    """Give a pattern an absolute start, and collapse its dots and slashes as in a path."""
    if home_dir is not None and (pattern == "~" or pattern.startswith("~/")):
        pattern = escape(home_dir) + pattern[1:]
    elif not pattern.startswith("/"):
        pattern = f"{escape(cwd)}/{pattern}"
    segments: list[str] = []
    for segment in pattern.split("/"):
        if segment == ".." and segments and _is_plain(segments[-1]):
            segments.pop()
        elif segment == "**" == "".join(segments[-1:]):
            continue
        elif segment not in ("", ".") and (segment != ".." or segments):
            segments.append(segment)
    return "/" + "/".join(segments)


def _is_plain(segment: str) -> bool:
    return segment != ".." and _META.isdisjoint(_ESCAPED.sub("", segment))
