"""What is known of programs: their options, which operands are files, what they change."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from attrs import evolve, field, frozen

Harmless = Literal["always", "listed", "never"]

Role = Literal[
    "none",  # operands are no files
    "read",
    "list",  # names and sizes of the operands are shown
    "write",
    "copy",  # the last one is written, the others are read
    "move",  # all are written
    "link",
    "in-out",  # the first is read, the second written
    "first",  # the first is read; the rest is for the script that it holds
    "compress",  # each is replaced by a file with another ending
]


def option_names(text: str | frozenset[str]) -> frozenset[str]:
    """Option names out of `-abc --long`, where `-abc` stands for `-a -b -c`."""
    if isinstance(text, frozenset):
        return text
    names: set[str] = set()
    for name in text.split():
        if name.startswith("-") and not name.startswith("--"):
            names.update(f"-{letter}" for letter in name[1:])
        else:
            names.add(name)
    return frozenset(names)


_NONE: frozenset[str] = frozenset()


@frozen(kw_only=True, slots=False)
class Program:
    """A program, as far as the paths that it touches and its harmlessness go.

    Options are written `-abc --long`; an option stands in one of the sets only, but those of
    `given_by` stand in another one too.

    Attributes:
        harmless: `always`: none of its options makes it change or run anything, so one that is not
            listed does not count; `listed`: so long as only options that are listed here are used,
            and none of `changes` and `writes`; `never`.
        role: what its operands are.
        skip: how many leading operands are no files, such as the pattern of `grep`.
        given_by: options that take the place of those.
        flags: options without a value, or with one only after `=`.
        joined: short options whose value, if any, is joined to them.
        values: options with a value that is no file.
        reads: options with a file to read.
        lists: options with a file that names other files to read.
        writes: options with a file to write.
        into: options with the folder that takes the result.
        changes: options that make it change or run something, or nobody knows what.
        change_values: the same, with a value.
        recursive: options that make it go below its operands; `*` if it always does.
        names_only: options that make it show names, which are not contents.
        shows_hidden: options that make it go into what is hidden; `*` if it always does.
        folder: it works on the current folder when it is given no operand.
        stops: what follows its first operand is no option.
    """

    harmless: Harmless = "never"
    role: Role = "read"
    skip: int = 0
    given_by: frozenset[str] = field(default=_NONE, converter=option_names)
    flags: frozenset[str] = field(default=_NONE, converter=option_names)
    joined: frozenset[str] = field(default=_NONE, converter=option_names)
    values: frozenset[str] = field(default=_NONE, converter=option_names)
    reads: frozenset[str] = field(default=_NONE, converter=option_names)
    lists: frozenset[str] = field(default=_NONE, converter=option_names)
    writes: frozenset[str] = field(default=_NONE, converter=option_names)
    into: frozenset[str] = field(default=_NONE, converter=option_names)
    changes: frozenset[str] = field(default=_NONE, converter=option_names)
    change_values: frozenset[str] = field(default=_NONE, converter=option_names)
    recursive: frozenset[str] = field(default=_NONE, converter=option_names)
    names_only: frozenset[str] = field(default=_NONE, converter=option_names)
    shows_hidden: frozenset[str] = field(default=frozenset("*"), converter=option_names)
    folder: bool = False
    stops: bool = False

    @cached_property
    def takes_value(self) -> frozenset[str]:
        """The options whose value is the next word when none is joined to them."""
        files = self.reads | self.lists | self.writes | self.into
        return self.values | self.change_values | files

    @cached_property
    def known(self) -> frozenset[str]:
        """Every option that is listed."""
        return self.takes_value | self.flags | self.joined | self.changes | self.recursive

    @cached_property
    def worst_first(self) -> tuple[str, ...]:
        """Every long option, those that write or change something first."""
        worst = self.writes | self.changes | self.change_values
        files = self.reads | self.lists | self.into | self.recursive
        ordered = (*sorted(worst), *sorted(files - worst), *sorted(self.known - worst - files))
        return tuple(name for name in ordered if name.startswith("--"))


def _same(program: Program, names: str) -> dict[str, Program]:
    return dict.fromkeys(names.split(), program)


_READER = Program(harmless="always")


def _reader(values: str) -> Program:
    return evolve(_READER, values=option_names(values))


_TALKER = Program(harmless="always", role="none")
_LISTER = Program(harmless="always", role="list", values="-ITw --ignore --hide --tabsize --width")
_GREP = Program(
    harmless="always",
    skip=1,
    given_by="-ef --regexp --file",
    values="-ABCmedD --after-context --before-context --context --max-count --regexp --include"
    " --exclude --exclude-dir --binary-files --devices --directories --label --group-separator",
    flags="-EFGPivwxcLloqsbHhnTUZzayI",
    reads="-f --file --exclude-from",
    recursive="-rR --recursive --dereference-recursive",
)
_CHECKSUM = Program(harmless="always", lists="-c --check")
_COMPRESS = Program(
    role="compress",
    flags="-cdfhklLnNqrtvV123456789 --stdout --to-stdout --decompress --force --keep --list",
    values="-ST --suffix --threads",
    recursive="-r --recursive",
)
_INTERPRETER = Program(role="first", stops=True, given_by="-ce --eval", values="-cemWXrI --eval")
_OWNER = Program(
    role="write",
    skip=1,
    given_by="--reference",
    flags="-cfvhHLPd --changes --silent --quiet --verbose --no-dereference --preserve-root",
    values="--from",
    reads="--reference",
    recursive="-R --recursive",
)

_SHOWING: dict[str, Program] = {
    # None of their options writes a file or runs a program.
    **_same(_READER, "cat rev comm readlink realpath tsort"),
    **_same(_reader("-w --width --wrap"), "fold fmt base64 base32 basenc"),
    **_same(_reader("-t --tabs"), "expand unexpand"),
    "column": _reader("-cdEHlNnoOPRrsTW --separator --output-separator --table-columns"),
    "cmp": _reader("-in --ignore-initial --bytes"),
    "df": _reader("-Btx --block-size --type --exclude-type"),
    "hexdump": evolve(_reader("-ens"), reads=option_names("-f")),
    "join": _reader("-12aejotv"),
    "nl": _reader("-bdfhilnsvw"),
    "od": _reader("-AjNSt --address-radix --skip-bytes --read-bytes --format"),
    "paste": _reader("-d --delimiters"),
    "pr": _reader("-DhlNoW"),
    "stat": evolve(_reader("-c --format --printf"), role="list"),
    "strings": _reader("-ents --bytes --radix --encoding"),
    "tac": _reader("-s --separator"),
    **_same(_LISTER, "ls dir vdir"),
    **_same(_CHECKSUM, "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum"),
    **_same(_GREP, "grep egrep fgrep"),
    "rgrep": evolve(_GREP, recursive="*", folder=True),
    "head": Program(harmless="always", values="-cn --lines --bytes", flags="-qvz"),
    "tail": Program(
        harmless="always",
        values="-cns --lines --bytes --pid --sleep-interval --max-unchanged-stats",
        flags="-fFqvz --follow",
    ),
    "wc": Program(harmless="always", lists="--files0-from", flags="-clmLw"),
    "du": Program(
        harmless="always",
        role="list",
        values="-Bdt --block-size --max-depth --threshold --exclude",
        flags="-0aAbcDHhkLlmPSsx",
        reads="-X --exclude-from",
        lists="--files0-from",
    ),
    "cut": Program(
        harmless="always",
        values="-bcdf --bytes --characters --delimiter --fields --output-delimiter",
        flags="-nsz",
    ),
    # These read no file.
    **_same(_TALKER, "echo true false : tr seq sleep expr basename dirname pwd whoami id groups"),
    **_same(_TALKER, "uname arch nproc tty who users uptime free ps pgrep which type factor cal"),
    **_same(_TALKER, "numfmt locale getconf exit return break continue shift wait cd printenv"),
    **_same(_TALKER, "lscpu logname pathchk"),
}

_SHOWING_UNLESS_TOLD: dict[str, Program] = {
    "diff": Program(
        harmless="listed",
        flags="-abBcdeEHiNnpqrsTtuwyZ --recursive --brief --color --unified --context --new-file"
        " --report-identical-files --side-by-side --ignore-case --ignore-all-space --text --ed"
        " --ignore-space-change --ignore-blank-lines --minimal --suppress-common-lines --normal"
        " --strip-trailing-cr --no-dereference --rcs --show-c-function --expand-tabs --left-column",
        values="-CDFIUWx --exclude --width --label --ignore-matching-lines --ifdef",
        reads="-XS --exclude-from --from-file --to-file",
        recursive="*",
        changes="-l --paginate",  # through another program, `pr`
    ),
    "sort": Program(
        harmless="listed",
        flags="-bcCdfgihMmnRrsuVz --unique --reverse --numeric-sort --check --stable --debug"
        " --version-sort --human-numeric-sort --general-numeric-sort --ignore-case --merge"
        " --month-sort --random-sort --zero-terminated --ignore-leading-blanks --dictionary-order",
        values="-ktS --key --field-separator --buffer-size --parallel --batch-size --sort",
        reads="--random-source",
        lists="--files0-from",
        writes="-o --output",
        change_values="-T --temporary-directory --compress-program",
    ),
    "shuf": Program(
        harmless="listed",
        flags="-rz --repeat --zero-terminated",
        values="-in --input-range --head-count",
        reads="--random-source",
        writes="-o --output",
    ),
    "uniq": Program(
        harmless="listed",
        role="in-out",
        stops=True,  # not everywhere, but what it takes for a name it would write
        flags="-cdDiuz --count --repeated --all-repeated --ignore-case --unique --group",
        values="-fsw --skip-fields --skip-chars --check-chars",
    ),
    "xxd": Program(
        harmless="listed", role="in-out", stops=True, flags="-abCdeEirpuRt", values="-cgnlos"
    ),
    "tree": Program(
        harmless="listed",
        role="list",
        folder=True,
        flags="-adfilqNxvtUrsSnCApugDFhcQJX --dirsfirst --noreport --prune --sort"
        " --gitignore --si --du --inodes --device --matchdirs --filesfirst",
        values="-LPI --timefmt --filelimit --charset",
        writes="-o --output",
        changes="-RH --fromfile",
    ),
    "file": Program(
        harmless="listed",
        flags="-bhikLnNprsS0dElv --brief --mime --mime-type --mime-encoding --dereference"
        " --no-dereference --raw --special-files --print0 --extension",
        values="-eFP --separator --exclude",
        reads="-m --magic-file",
        lists="-f --files-from",
        changes="-Cz --compile --uncompress",
    ),
    "rg": Program(
        harmless="listed",
        skip=1,
        given_by="-ef --regexp --file --files --type-list",
        recursive="*",
        folder=True,
        names_only="--files --type-list",
        shows_hidden="-.u --hidden --unrestricted",
        flags="-cFHhiIlLNnopqsSUuvwx0Pa. --count --count-matches --files --files-with-matches"
        " --files-without-match --hidden --heading --no-heading --ignore-case --smart-case"
        " --case-sensitive --fixed-strings --line-number --no-line-number --word-regexp --json"
        " --invert-match --only-matching --multiline --multiline-dotall --no-ignore --no-messages"
        " --no-ignore-vcs --no-ignore-parent --no-filename --with-filename --null --pcre2 --quiet"
        " --stats --text --unrestricted --vimgrep --trim --passthru --column --follow --pretty"
        " --type-list --no-config --line-regexp --binary --one-file-system --crlf --debug --version"
        " --byte-offset --no-column",
        values="-ABCEMTdegjmrt --after-context --before-context --context --color --colors --glob"
        " --iglob --max-count --max-columns --max-depth --max-filesize --regexp --replace --sort"
        " --sortr --threads --type --type-not --encoding --engine --context-separator --type-add",
        reads="-f --file --ignore-file",
        changes="-z --search-zip",
        change_values="--pre --pre-glob --hostname-bin",
    ),
    "fd": Program(
        harmless="listed",
        skip=1,
        flags="-HIusiFap0gL --hidden --no-ignore --absolute-path --glob --follow --full-path",
        values="-dtejEcS --max-depth --min-depth --type --extension --exclude --color --size",
        changes="-l --list-details",  # by `ls`
        change_values="-xX --exec --exec-batch",
    ),
}

_CHANGING: dict[str, Program] = {
    **_same(Program(flags="-EFXRSNMq"), "less more most view man bat batcat zcat zless zgrep"),
    **_same(Program(role="write"), "nano vi vim nvim ex ed emacs dos2unix unix2dos"),
    **_same(Program(role="first", stops=True), ". source"),
    **_same(_INTERPRETER, "sh bash dash zsh ksh ash python python3 python2 node php lua"),
    **_same(_INTERPRETER, "deno bun tclsh Rscript"),
    **_same(_COMPRESS, "gzip gunzip bzip2 bunzip2 xz unxz lzma zstd unzstd compress uncompress"),
    **_same(Program(role="write", flags="-aip --append --output-error"), "tee sponge"),
    **_same(Program(role="write"), "unlink mkfifo"),
    "touch": Program(
        role="write",
        flags="-acfmh --no-create --no-dereference",
        values="-dt --date --time",
        reads="-r --reference",
    ),
    "truncate": Program(
        role="write", flags="-co --no-create", values="-s --size", reads="-r --reference"
    ),
    "mkdir": Program(role="write", flags="-pvZ --parents --verbose", values="-m --mode"),
    "rmdir": Program(role="write", flags="-pv --parents --ignore-fail-on-non-empty"),
    "rm": Program(
        role="write",
        flags="-fiIdv --force --verbose --interactive --one-file-system --preserve-root --dir"
        " --no-preserve-root",
        recursive="-rR --recursive",
    ),
    "shred": Program(role="write", flags="-fuvxz", values="-ns --iterations --size"),
    "chmod": evolve(
        _OWNER,
        flags=_OWNER.flags | option_names("-rwxXst"),
        given_by=option_names("-rwxXst --reference"),
    ),
    **_same(_OWNER, "chown chgrp"),
    "cp": Program(
        role="copy",
        flags="-bdfHiLlnPpTsuvxZ --force --interactive --link --no-clobber --parents --verbose"
        " --no-target-directory --update --preserve --no-preserve --dereference --reflink",
        values="-S --suffix",
        into="-t --target-directory",
        recursive="-aRr --archive --recursive",
    ),
    "mv": Program(
        role="move",
        flags="-bfinTuvZ --force --interactive --no-clobber --verbose --no-target-directory",
        values="-S --suffix",
        into="-t --target-directory",
        recursive="*",
    ),
    "ln": Program(
        role="link",
        flags="-bdFfiLnPrsTv --symbolic --force --no-dereference --relative --verbose",
        values="-S --suffix",
        into="-t --target-directory",
    ),
    "link": Program(role="link"),
    "install": Program(
        role="copy",
        flags="-bcCDpsTvZ --verbose --compare --preserve-timestamps",
        values="-gmoS --group --mode --owner --suffix",
        into="-t --target-directory",
        changes="-d --directory",
    ),
    "rsync": Program(
        role="copy",
        flags="-bcdgHhilmnopqtuvxzAEIKLOPRSWX --delete --dry-run --progress --stats --verbose",
        values="-BeMT --rsh --exclude --include --filter --chmod --bwlimit --port --info",
        reads="--exclude-from --include-from --password-file",
        lists="--files-from",
        writes="--log-file",
        recursive="-ar --archive --recursive",
    ),
    "scp": Program(role="copy", flags="-346ABCOpqTRv", values="-cDFiJloPSX", recursive="-r"),
    "split": Program(
        role="in-out",
        flags="-dexu --verbose --elide-empty-files",
        values="-abClnt --suffix-length --bytes --lines --number --separator"
        " --additional-suffix --filter",
    ),
    "patch": Program(
        role="write",
        flags="-bcefEglNnRstTuvZ --dry-run --backup --force --forward --reverse --silent --batch",
        values="-BDFpVYz --strip --fuzz --prefix --suffix",
        reads="-i --input",
        writes="-or --output --reject-file",
        into="-d --directory",
    ),
    **_same(
        Program(
            flags="-cSEgvwO --shared --static",
            joined="-WfmlDUO",
            values="-xB",
            reads="-IL",
            writes="-o --output",
        ),
        "gcc g++ cc c++ clang clang++ ld",
    ),
    **_same(Program(writes="-o --output"), "as objcopy strip go rustc pandoc sdiff protoc dot"),
    "curl": Program(
        role="none",
        flags="-#0123456afgGiIjklLMnNpqRsSvZ --silent --location --fail --head --compressed",
        values="-AeHmPQrtuUxXyYzCdFb --header --request --user --user-agent --data --form --url"
        " --data-raw --data-binary --data-urlencode --json --max-time --connect-timeout --proxy"
        " --retry --referer --range --cookie",
        reads="-EKT --cert --key --cacert --config --upload-file --netrc-file",
        writes="-cDo --cookie-jar --dump-header --output --trace --trace-ascii --stderr --hsts"
        " --etag-save --libcurl",
        into="--output-dir",
        changes="-OJ --remote-name --remote-header-name --remote-name-all",
    ),
    "wget": Program(
        role="none",
        flags="-bcdEFHhKkLmNnpqrSvVx --quiet --continue --recursive --no-check-certificate",
        values="-AlRUXtTwQDIe --header --post-data --user --password --tries --timeout --level",
        reads="-i --input-file --post-file --body-file --load-cookies --config",
        writes="-aoO --output-document --output-file --append-output --save-cookies",
        into="-P --directory-prefix",
    ),
    "strace": Program(role="none", stops=True, writes="-o --output", values="-eps"),
    "script": Program(role="write", values="-c --command", flags="-aefqt"),
}

WRAPPERS: dict[str, Program] = {
    # What they run is judged by itself, so only what they touch themselves counts.
    "xargs": Program(
        role="none",
        stops=True,
        flags="-0oprtx --null --no-run-if-empty --verbose --exit --interactive",
        joined="-ile",
        values="-dEILnPs --delimiter --max-args --max-procs --replace --max-chars --max-lines",
        lists="-a --arg-file",
    ),
    "time": Program(
        role="none",
        stops=True,
        flags="-apqv --portability",
        values="-f --format",
        writes="-o --output",
    ),
}

PROGRAMS = {**_SHOWING, **_SHOWING_UNLESS_TOLD, **_CHANGING, **WRAPPERS}
"""By name. Those whose command line is more than options and operands stand in `special`."""
