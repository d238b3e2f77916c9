"""What the commands of git read and write.

What the configuration of a repository makes git run (a pager, hooks, filters, a file-system
monitor) is not looked at: it is the same for every `git status` that people run there. Options and
variables that bring such a program in for one command are. That git brings its index up to date
while it looks is no change either.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from toolcrib.shell.model import UNKNOWN, Word
from toolcrib.shell.options import Arguments, part, read_arguments
from toolcrib.shell.programs import Program, option_names
from toolcrib.shell.touched import Touched

_Words = tuple[Word, ...]

_TOP = Program(
    stops=True,
    flags="-PpvhP --no-pager --paginate --no-optional-locks --literal-pathspecs --version"
    " --no-replace-objects --help --bare --html-path --man-path",
    values="-Cc --git-dir --work-tree --namespace --config-env --super-prefix --exec-path",
)
_HARMLESS_TOP = frozenset(
    ("-C", "-P", "--no-pager", "--no-optional-locks", "--literal-pathspecs", "--version")
)

_MOST_MOVES = 8
_DIFF = option_names(
    "-pubawsRMCBDz --stat --numstat --shortstat --dirstat --summary --name-only --name-status"
    " --patch --no-patch --raw --check --color --no-color --word-diff --color-words --minimal"
    " --patience --histogram --diff-algorithm --ignore-all-space --ignore-space-change --text"
    " --ignore-blank-lines --ignore-space-at-eol --binary --full-index --abbrev --no-abbrev"
    " --find-renames --find-copies --no-renames --relative --exit-code --quiet --no-ext-diff"
    " --no-textconv --function-context --submodule --ignore-submodules --compact-summary --unified"
    " --no-prefix --no-index --patch-with-stat --merge-base --cached --staged --diff-filter --cc"
    " --combined-all-paths --color-moved --inter-hunk-context --pickaxe-regex --pickaxe-all -qW"
)
_LOG = option_names(
    "-igmctr --oneline --graph --decorate --no-decorate --all --branches --tags --remotes --merges"
    " --no-merges --first-parent --reverse --follow --format --pretty --date --since --after"
    " --until --before --author --committer --grep --max-count --skip --topo-order --date-order"
    " --full-history --simplify-by-decoration --no-walk --left-right --cherry-pick --count --source"
    " --abbrev-commit --no-abbrev-commit --regexp-ignore-case --extended-regexp --perl-regexp"
    " --fixed-strings --all-match --invert-grep --parents --children --objects --no-notes --notes"
    " --relative-date --log-size --mailmap --use-mailmap --no-mailmap --boundary --walk-reflogs"
    " --cherry --cherry-mark --ancestry-path --show-pulls --no-expand-tabs --numbered --email"
    " --show-linear-break --date-order --author-date-order --not --exclude --glob --no-color"
)
_CONTENTS = option_names(
    "-pucmUSGLW --patch --patch-with-stat --unified --cc --word-diff --color-words --binary"
    " --function-context --remerge-diff --dd --diff-merges"
)
"""Options with which the history of a path shows what was in it."""
_SHOW = Program(
    harmless="listed",
    flags=_DIFF | _LOG,
    joined="-lUX",
    values="-nSGL",
    reads="-O",
    writes="--output",
    changes="--ext-diff --textconv --show-signature",
)


def _asks(flags: str, values: str = "", **more: str) -> Program:
    return Program(harmless="listed", flags=flags, values=values, **more)  # type: ignore[arg-type]


_READING: dict[str, Program] = {
    **dict.fromkeys(
        ("log", "show", "diff", "whatchanged", "rev-list", "shortlog", "diff-tree", "diff-index"),
        _SHOW,
    ),
    "diff-files": _SHOW,
    "shortlog": evolve(_SHOW, flags=_SHOW.flags | option_names("-se --summary"), values="-w"),
    "status": _asks(
        "-sbvuz --short --branch --long --porcelain --untracked-files --ignored --show-stash"
        " --ahead-behind --no-ahead-behind --renames --no-renames --find-renames --verbose"
        " --ignore-submodules --column --no-column"
    ),
    "rev-parse": _asks(
        "-q --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --short --verify"
        " --is-inside-work-tree --is-inside-git-dir --is-bare-repository --abbrev-ref --symbolic"
        " --quiet --symbolic-full-name --all --branches --tags --remotes --absolute-git-dir --sq"
        " --default --show-superproject-working-tree --is-shallow-repository --show-object-format"
    ),
    "ls-files": _asks(
        "-cdmoistukvzf --cached --deleted --modified --others --ignored --stage --unmerged --killed"
        " --exclude-standard --error-unmatch --full-name --abbrev --debug --eol --directory"
        " --recurse-submodules --deduplicate --no-empty-directory --format",
        "-x --exclude",
        reads="-X --exclude-from",
    ),
    "ls-tree": _asks(
        "-drtlz --long --name-only --name-status --full-name --full-tree --abbrev --object-only"
        " --format"
    ),
    "cat-file": _asks("-tspe --batch-check", changes="--textconv --filters"),
    "blame": _asks(
        "-bceflnpstwkM --root --show-stats --porcelain --line-porcelain --incremental --show-name"
        " --show-number --show-email --date --abbrev --reverse --first-parent --ignore-rev --color"
        " --color-lines --color-by-age",
        "-L",
        reads="-S --contents --ignore-revs-file",
    ),
    "describe": _asks(
        "--all --tags --contains --always --dirty --long --abbrev --exact-match --match --exclude"
        " --candidates --first-parent --broken --debug"
    ),
    "grep": Program(
        harmless="listed",
        skip=1,
        given_by="-ef",
        flags="-aIiwvhHEGPFnlLzcpWqo --text --ignore-case --word-regexp --invert-match --full-name"
        " --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column"
        " --files-with-matches --name-only --files-without-match --null --only-matching --count"
        " --color --no-color --break --heading --show-function --function-context --all-match"
        " --quiet --cached --untracked --no-index --exclude-standard --recurse-submodules --and"
        " --or --not --recursive --no-recursive --max-depth --threads -r",
        values="-eABCm --after-context --before-context --context --max-count",
        reads="-f",
        recursive="*",
        folder=True,
        changes="--open-files-in-pager --textconv --ext-grep",
        change_values="-O",
    ),
    "merge-base": _asks("-a --all --octopus --independent --is-ancestor --fork-point"),
    "show-ref": _asks("-qdsh --head --heads --tags --dereference --hash --verify --quiet"),
    "for-each-ref": _asks(
        "--format --sort --count --points-at --merged --no-merged --contains --no-contains"
    ),
    "name-rev": _asks("--tags --refs --exclude --all --name-only --always"),
    "check-ignore": _asks("-qvzn --quiet --verbose --no-index --non-matching"),
    "check-attr": _asks("-az --all --cached"),
    "count-objects": _asks("-vH --verbose --human-readable"),
    "cherry": _asks("-v --abbrev"),
    "show-branch": _asks("-ar --all --remotes --list --topics --current"),
    "version": _asks("--build-options"),
}
_READING["annotate"] = _READING["blame"]

_WRITING: dict[str, Program] = {
    "add": Program(
        role="list",
        flags="-nvfipuANe --all --update --force --patch --dry-run --verbose --intent-to-add",
        reads="--pathspec-from-file",
        recursive="*",
    ),
    "rm": Program(
        role="write",
        flags="-frnq --force --cached --dry-run --quiet --ignore-unmatch",
        recursive="*",
    ),
    "mv": Program(role="move", flags="-fknv --force --dry-run --verbose", recursive="*"),
    "checkout": Program(
        role="write",
        flags="-fqmpd --force --quiet --merge --patch --detach --ours --theirs --track --guess",
        values="-bB --orphan --conflict",
        reads="--pathspec-from-file",
        recursive="*",
    ),
    "restore": Program(
        role="write",
        flags="-pWSqm --patch --worktree --staged --quiet --merge --ours --theirs --overlay",
        values="-s --source --conflict",
        reads="--pathspec-from-file",
        recursive="*",
    ),
    "clean": Program(
        role="write",
        flags="-dfinqxX --force --interactive --dry-run --quiet",
        values="-e --exclude",
        recursive="*",
        folder=True,
    ),
    "reset": Program(
        role="write",
        flags="-qpN --hard --soft --mixed --merge --keep --quiet --patch",
        recursive="*",
    ),
    "stash": Program(
        role="none",
        flags="-kupaSq --keep-index --include-untracked --all --patch --staged --quiet --index",
        values="-m --message",
    ),
    "apply": Program(
        flags="-RNv3 --check --stat --numstat --summary --index --cached --reverse --reject --3way"
        " --verbose --recount --allow-empty",
        values="-pC --directory --exclude --include --whitespace",
    ),
    "am": Program(flags="-s3kuq --signoff --abort --continue --skip", values="-pC --directory"),
    "commit": Program(
        flags="-avqnpse --all --amend --no-edit --no-verify --signoff --patch --quiet"
        " --allow-empty",
        values="-mCctSu --message --author --date --fixup --squash --reuse-message --cleanup",
        reads="-Ft --file --template --pathspec-from-file",
    ),
    "archive": Program(
        recursive="*",
        skip=1,
        flags="-lv",
        values="--format --prefix --remote",
        writes="-o --output",
    ),
    "format-patch": Program(role="none", flags="-nkps", writes="-o --output-directory"),
    "bundle": Program(role="none"),
    "clone": Program(
        role="none",
        flags="-lsqvn --quiet --verbose --bare --mirror --no-checkout --single-branch --recursive"
        " --no-single-branch --recurse-submodules --no-tags --shallow-submodules --sparse --local",
        values="-bocju --branch --origin --depth --config --jobs --filter --reference --template"
        " --shallow-since --shallow-exclude --upload-pack --separate-git-dir",
    ),
    "init": Program(
        role="none",
        flags="-q --quiet --bare",
        values="-b --initial-branch --template --object-format --separate-git-dir",
    ),
}
_MAKING = {"clone": 1, "init": 0}
"""Which operand is the folder that a command makes."""


def git_effects(touched: Touched, words: _Words) -> bool:
    """Note what a command of git touches; tell whether it is known to change nothing."""
    top = read_arguments(words, _TOP)
    if not top.operands:
        return top.certain and not top.strangers and top.names <= _HARMLESS_TOP
    harmless = top.certain and not top.strangers and top.names <= _HARMLESS_TOP
    folders = tuple(top.values(("-C", "--work-tree")))
    for word in folders[:_MOST_MOVES]:
        place = touched.place(word)
        known = len(folders) <= _MOST_MOVES and not place.glob
        command = evolve(touched.command, cwd=(place.through or place.path) if known else None)
        touched = Touched(command, touched.home_dir, touched.effects)
    name, rest = top.operands[0], top.operands[1:]
    if not name.literal:
        for word in rest:
            touched.read_if_path(word)
        return False
    if name.text in _ODD:
        return _ODD[name.text](touched, rest) and harmless
    program = _READING.get(name.text) or _WRITING.get(name.text)
    if program is None:
        for word in rest:
            touched.read_if_path(word)
        return False
    arguments = read_arguments(rest, program)
    _common_effects(touched, arguments, program, name.text)
    doubtful = arguments.strangers or arguments.abbreviated or not arguments.certain
    changes = arguments.names & (program.changes | program.change_values)
    return harmless and program.harmless == "listed" and not doubtful and not changes


def _only_lists(name: str, arguments: Arguments) -> bool:
    """Whether a command that can show or change contents is told to show names and messages."""
    if name == "clean":
        return bool(arguments.names & {"-n", "--dry-run"})
    certain = arguments.certain and not arguments.strangers and not arguments.abbreviated
    return name in ("log", "shortlog") and certain and not arguments.names & _CONTENTS


def _common_effects(touched: Touched, arguments: Arguments, program: Program, name: str) -> None:
    for word in arguments.values(program.reads):
        touched.read(word)
    for word in arguments.values(program.writes):
        touched.write(word)
    for word in arguments.strangers:
        touched.read_if_path(word)
    operands = arguments.operands
    if program.skip and not arguments.names & program.given_by:
        operands = operands[program.skip :]
    if name == "reset" and arguments.names & {"--hard", "--merge", "--keep"}:
        operands = (touched.cwd,)
    if not operands and program.folder:
        operands = (touched.cwd,)
    if name in _MAKING:
        for word in operands[_MAKING[name] :][:1]:
            touched.write(word, recursive=True)
    if program.role == "none":
        return
    looks = _only_lists(name, arguments)
    for word in operands:
        path = _path_in(word)
        if program.role == "list" or looks:
            touched.list(path)
            continue
        reads_all = program.role == "read" and bool(program.recursive)
        touched.read(path, recursive=reads_all, hidden=not reads_all)
        if program.role in ("write", "move"):
            touched.write(path, recursive=True)
    if program.role == "move" and operands:
        for word in operands[:-1]:
            touched.write_into(operands[-1], word, recursive=True)
    if name in ("apply", "am") and not arguments.names & {"--check", "--stat", "--numstat"}:
        touched.write_unknown(touched.cwd)  # the names stand in the patch


def _path_in(word: Word) -> Word:
    """`HEAD:a/b` and `:/a` as the path in them; whatever else stays."""
    before, colon, _ = word.text.partition(":")
    if not colon or word.glob is not None:
        return word
    rest = part(word, len(before) + 1)
    if not before and rest.text.startswith(("(", "!", "^", "/")):
        return Word(word.source, rest.text.rpartition(")")[2].lstrip("!^/") or ".")
    return rest if rest.text else word


def _stash(touched: Touched, words: _Words) -> bool:
    verb = words[0].text if words else "push"
    if verb in ("list", "show"):
        return all(w.literal and w.text.startswith(("stash@", "-p", "--stat")) for w in words[1:])
    if verb not in ("drop", "clear", "create", "store"):
        arguments = read_arguments(words[1:], _WRITING["stash"])
        paths = arguments.operands if verb == "push" else ()
        for word in paths or (touched.cwd,):
            touched.write(word, recursive=True)
    return False


_CONFIG = Program(
    role="none",
    flags="-lz --list --get --get-all --get-regexp --show-origin --show-scope --null --name-only"
    " --global --system --local --worktree --unset --unset-all --add --replace-all --bool --int"
    " --path --includes --rename-section --remove-section",
    values="--type --default --blob",
    writes="-f --file",
    changes="-e --edit",
)
_CONFIG_SHOWS = frozenset(("-l", "--list", "--get", "--get-all", "--get-regexp"))
_CONFIG_CHANGES = option_names(
    "-e --edit --unset --unset-all --add --replace-all --rename-section --remove-section"
)


def _config(touched: Touched, words: _Words) -> bool:
    arguments = read_arguments(words, _CONFIG)
    verb = arguments.operands[0].text if arguments.operands else ""
    shows = bool(arguments.names & _CONFIG_SHOWS) or verb in ("list", "get")
    shows = shows or (len(arguments.operands) == 1 and verb not in ("edit", UNKNOWN))
    sure = arguments.certain and not arguments.strangers and not arguments.abbreviated
    if shows and sure and not arguments.names & _CONFIG_CHANGES:
        for word in arguments.values(_CONFIG.writes):
            touched.read(word)
        return True
    named = tuple(arguments.values(_CONFIG.writes))
    if "--global" in arguments.names:
        named = (Word("~/.gitconfig", "~/.gitconfig"),)
    elif "--system" in arguments.names:
        named = (Word("/etc/gitconfig", "/etc/gitconfig"),)
    for word in named or (Word(".git/config", ".git/config"),):
        touched.write(word)
    return False


_LISTED_ONLY = {
    "branch": Program(
        flags="-arvl --list --all --remotes --verbose --show-current --color --no-color --column"
        " --no-column --abbrev --no-abbrev --ignore-case",
        joined="",
        values="--sort --format --points-at --contains --no-contains --merged --no-merged",
    ),
    "tag": Program(flags="-l --list --column", values="-n --sort --format --points-at"),
    "remote": Program(flags="-v --verbose"),
    "worktree": Program(flags="-v --porcelain"),
    "reflog": Program(flags="--all --date --oneline", values="-n"),
    "submodule": Program(flags="-q --quiet"),
    "symbolic-ref": Program(flags="-q --quiet --short"),
}


def _list_only(name: str) -> Callable[[Touched, _Words], bool]:
    """Commands that list what there is when they are given no name, and change it otherwise."""
    program = _LISTED_ONLY[name]

    def harmless(touched: Touched, words: _Words) -> bool:
        arguments = read_arguments(words, program)
        for word in (*arguments.operands, *arguments.strangers):
            touched.read_if_path(word)
        if arguments.strangers or arguments.abbreviated or not arguments.certain:
            return False
        operands = arguments.operands
        if name in ("branch", "tag") and arguments.names & {"-l", "--list"}:
            return True
        verbs = _VERBS.get(name, ())
        if operands and verbs and operands[0].text in verbs:
            return True
        return len(operands) <= (1 if name == "symbolic-ref" else 0) and name != "worktree"

    return harmless


_VERBS = {
    "remote": ("get-url",),
    "worktree": ("list",),
    "reflog": ("show",),
    "submodule": ("status",),
}
_ODD: dict[str, Callable[[Touched, _Words], bool]] = {
    "stash": _stash,
    "config": _config,
    **{name: _list_only(name) for name in _LISTED_ONLY},
}
