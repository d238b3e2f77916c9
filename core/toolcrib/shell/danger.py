"""Commands that could do damage which nothing takes back, and what the damage is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from posixpath import normpath

from attrs import field, frozen

from toolcrib.shell.model import UNKNOWN, SimpleCommand, Word


def _each(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STOPS_MACHINE = "stops or restarts the machine"
_ALWAYS = {
    **dict.fromkeys(
        ("shutdown", "halt", "poweroff", "reboot", "restart-computer", "stop-computer"),
        _STOPS_MACHINE,
    ),
    "bcdedit": "changes how the machine starts",
    **dict.fromkeys(("diskpart", "format", "mkfs", "wipefs"), "erases a disk"),
}
_HARMLESS_DEVICES = frozenset(
    ("null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr")
)
_DISK = re.compile(
    rf"/dev/(?:{UNKNOWN}|[shv]d[a-z{UNKNOWN}]|xvd|nvme|mmcblk|r?disk[\d/{UNKNOWN}]|mapper/|md\d|dm-)"
)
_SCRATCH = ("/tmp/", "/temp/")
_NOT_PLAIN = re.compile(r"[$`*?\[\]~]")
_HOME_WORD = re.compile(r"(?:~\w*|\$HOME|\$\{HOME\})(?:/\.?\*?)?")
_WHOLE_CONTENT = re.compile(r"(?:\.?\*|\{,\.\}\*)\Z")
_SYSTEM = _each(
    "/ /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /sbin /srv /sys /usr /usr/bin"
    " /usr/lib /usr/local /var /Applications /Library /System /Users"
)
_SHELL = re.compile(r"(?:ba|da|z|k|a|fi)?sh")
_INTERPRETER = re.compile(r"python[\d.]*|perl|ruby|node|php|deno|bun|lua|tclsh|pwsh|powershell")
_DOWNLOADERS = frozenset(("curl", "wget", "fetch", "aria2c", "http", "https"))
_FOR_EACH = frozenset(("xargs", "parallel", "find"))


@frozen
class _Case:
    """A command on trial, with the folders that nothing may delete as a whole."""

    command: SimpleCommand
    name: str
    home_dir: str | None
    root: str | None
    words: tuple[Word, ...] = field(init=False)

    @words.default
    def _words(self) -> tuple[Word, ...]:
        return self.command.words[1:]

    def path(self, text: str) -> str | None:
        """Where an operand leads, by its text alone."""
        if text.startswith("/"):
            return "/" + normpath(text).lstrip("/")
        cwd = self.command.cwd
        return None if cwd is None else "/" + normpath(f"{cwd}/{text}").lstrip("/")

    def is_system(self, word: Word) -> bool:
        """Whether an operand is a folder of the system, a home, or all that lies in one."""
        path = self._folder(word)
        return path is not None and (path in _SYSTEM or _holds(path, self.home_dir))

    def is_vital(self, word: Word) -> bool:
        """Whether it is one of these or holds all that the agent works on."""
        path = self._folder(word)
        return self.is_system(word) or (path is not None and _holds(path, self.root))

    def _folder(self, word: Word) -> str | None:
        """The folder that an operand is, or all of whose content it is."""
        if _HOME_WORD.fullmatch(word.source.replace('"', "")):
            return self.home_dir or "/home"
        if word.glob is not None:
            start = _WHOLE_CONTENT.sub("", word.glob)
            whole = start != word.glob and (not start or start.endswith("/"))
            return self.path(start or ".") if whole else None
        return self.path(word.text) if word.literal and word.text else None


def _holds(path: str, folder: str | None) -> bool:
    return folder is not None and f"{normpath(folder)}/".startswith(path.rstrip("/") + "/")


def danger_in(
    commands: Sequence[SimpleCommand], *, home_dir: str | None, root: str | None
) -> str | None:
    """The first command of a script that could do such damage, and why, in words for a person.

    Args:
        commands: all commands of the script, those inside wrappers too.
        home_dir: absolute.
        root: the absolute folder that the agent works in.
    """
    names = [program_name(command) for command in commands]
    downloads = not _DOWNLOADERS.isdisjoint(names)
    for command, name in zip(commands, names, strict=True):
        reason = _danger(_Case(command, name or "", home_dir, root))
        if reason is None and downloads and runs_what_it_gets(command, name or ""):
            reason = "runs what was downloaded"
        if reason is not None:
            return f"{_shown(command.source)}: {reason}"
    return None


def program_name(command: SimpleCommand) -> str | None:
    """The name of a program without folder, case and `.exe`."""
    if command.program is None:
        return None
    return command.program.rpartition("\\")[2].lower().removesuffix(".exe")


def _shown(source: str) -> str:
    line = " ".join(source[:1000].split())
    return line if len(line) <= 120 else f"{line[:119]}…"


def _danger(case: _Case) -> str | None:
    for redirect in case.command.redirects:
        target = redirect.target if redirect.kind in ("write", "readwrite") else None
        if target is not None and _is_disk(target):
            return "overwrites a disk"
    if case.name in _ALWAYS:
        return _ALWAYS[case.name]
    if case.name.startswith("mkfs."):
        return _ALWAYS["mkfs"]
    judge = _JUDGES.get(case.name)
    return judge(case) if judge else None


def _is_disk(word: Word) -> bool:
    return word.text.startswith("/") and bool(_DISK.match("/" + normpath(word.text).lstrip("/")))


def _options(
    words: Iterable[Word], with_value: frozenset[str] = frozenset()
) -> tuple[list[str], list[Word]]:
    """The option letters and long names among words, and the operands."""
    found: list[str] = []
    operands: list[Word] = []
    rest = iter(words)
    for word in rest:
        text = word.text
        if text == "--":
            operands.extend(rest)
        elif text.startswith("-") and len(text) > 1:
            if text.startswith("--"):
                found.append(text.partition("=")[0])
            else:
                found.extend(f"-{letter}" for letter in text[1:])
            if text in with_value:
                next(rest, None)
        else:
            operands.append(word)
    return found, operands


def _any(found: Sequence[str], *names: str) -> bool:
    """Whether one of these options is there, or may be: cut short, or in an unknown text."""
    return any(
        one == name
        or (name[:2] == "--" and len(one) > 2 and name.startswith(one))
        or one[-1] == UNKNOWN
        for one in found
        for name in names
    )


def _remove(case: _Case) -> str | None:
    found, operands = _options(case.words)
    if not _any(found, "-r", "-R", "--recursive"):
        return "deletes all that is found for good" if "find" in case.command.via else None
    if any(map(case.is_vital, operands)):
        return "deletes a home, project or system folder for good"
    for_each = not _FOR_EACH.isdisjoint(case.command.via)
    if not _any(found, "-f", "--force") and "find" not in case.command.via:
        return None
    if for_each:
        return "deletes all that it is given for good"
    return None if all(_is_scratch(case, word) for word in operands) else _DELETES


_DELETES = "deletes a folder for good"


def _is_scratch(case: _Case, word: Word) -> bool:
    """Whether an operand surely lies below a folder for temporary files.

    A project that lies there is none.
    """
    text = word.text
    if not word.literal or ".." in text.split("/") or _NOT_PLAIN.search(text):
        return False
    path = case.path(text)
    if path is None or not path.startswith(_SCRATCH):
        return False
    return text.startswith("/") or case.root is None or not _holds(case.root, path)


def _init(case: _Case) -> str | None:
    return _STOPS_MACHINE if any(word.text in ("0", "6") for word in case.words) else None


def _systemctl(case: _Case) -> str | None:
    _, operands = _options(case.words, frozenset(("-H", "--host", "-M", "--machine")))
    verb = operands[0].text if operands else ""
    return _STOPS_MACHINE if verb in ("poweroff", "reboot", "halt", "kexec") else None


def _dd(case: _Case) -> str | None:
    for word in case.words:
        path = normpath(word.text[3:]) if word.text.startswith("of=/") else ""
        if path.startswith("/dev/") and path[5:] not in _HARMLESS_DEVICES:
            return "overwrites a device"
    return None


def _find(case: _Case) -> str | None:
    texts = [word.text for word in case.words]
    runs = ("-exec", "-execdir", "-ok", "-okdir")
    removes = any(
        text in runs and follower.rpartition("/")[2] == "rm" for text, follower in pairwise(texts)
    )
    return "deletes all that is found for good" if removes or "-delete" in texts else None


_GIT_VALUES = frozenset(
    ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path")
)


def _git(case: _Case) -> str | None:
    words, at = case.words, 0
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in _GIT_VALUES else 1
    verb = words[at].text if at < len(words) else ""
    found, operands = _options(words[at + 1 :])
    if verb == "push":
        over = any(word.text.startswith("+") for word in operands)
        if over or _any(found, "-f", "--force", "--force-with-lease", "--mirror"):
            return "replaces the history of another repository"
    dry = "-n" in found or "--dry-run" in found
    if verb == "clean" and not dry and _any(found, "-f", "--force"):
        return "deletes files that git does not keep"
    if verb == "reset" and _any(found, "--hard"):
        return "throws away changes that are not committed"
    return None


def _owner(case: _Case) -> str | None:
    found, operands = _options(case.words)
    if _any(found, "-R", "--recursive") and any(map(case.is_system, operands)):
        return "changes who may use every file of a home or of the system"
    return None


def _onto_disk(case: _Case) -> str | None:
    return "overwrites a disk" if any(map(_is_disk, case.words)) else None


def _into_disk(case: _Case) -> str | None:
    _, operands = _options(case.words)
    return "overwrites a disk" if any(map(_is_disk, operands[-1:])) else None


def _kill(case: _Case) -> str | None:
    everybody = any(word.text == "-1" for word in case.words[1:])
    return "ends every process that it may end" if everybody else None


def _crontab(case: _Case) -> str | None:
    found, _ = _options(case.words, frozenset(("-u",)))
    return "deletes all scheduled jobs" if "-r" in found else None


def runs_what_it_gets(command: SimpleCommand, name: str) -> bool:
    """Whether a shell or interpreter takes its script from a pipe or a substitution."""
    words = command.words[1:]
    if name in ("eval", "source", "."):
        return any(not word.literal for word in words[:1])
    shell = bool(_SHELL.fullmatch(name))
    if not shell and not _INTERPRETER.fullmatch(name):
        return False
    if any(redirect.kind in ("text", "read") for redirect in command.redirects):
        return False
    for at, word in enumerate(words):
        text = word.text
        if text in ("-", "-s", "/dev/stdin"):
            return True
        if not text.startswith("-"):
            return word.source.startswith("<(")
        if text.startswith("-c") or (not shell and text in ("-e", "--eval", "-r", "-E")):
            return any(not script.literal for script in words[at + 1 : at + 2])
        if not shell and text.startswith(("-m", "--version", "-V", "-v", "--help")):
            return False
    return True


_JUDGES: dict[str, Callable[[_Case], str | None]] = {
    "rm": _remove,
    "init": _init,
    "telinit": _init,
    "systemctl": _systemctl,
    "dd": _dd,
    "find": _find,
    "git": _git,
    **dict.fromkeys(("chmod", "chown", "chgrp"), _owner),
    **dict.fromkeys(("tee", "shred", "truncate", "sponge"), _onto_disk),
    **dict.fromkeys(("cp", "mv", "install", "rsync", "ln"), _into_disk),
    "kill": _kill,
    "crontab": _crontab,
}
