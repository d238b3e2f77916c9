"""What scripts read and write, and which of them are known to change nothing."""

from __future__ import annotations

import os
import shutil
import string
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.shell import analyse_command
from toolcrib.shell.effects import effects_of
from toolcrib.shell.model import UNKNOWN, Assignment, PathEffect, Redirect, SimpleCommand, Word
from toolcrib.shell.programs import PROGRAMS

HOME = "/home/me"
CWD = "/w"

# Scripts that change nothing, and what they read: `?` for a path that is not known, `*` in front of
# a pattern, `/` behind a path for all below it.
READING = {
    "ls": "",
    "ls -la": "",
    "ls -la src": "src",
    "ls -R src": "src",
    "ls --color=auto -I '*.pyc' src": "src",
    "ls -T 4 src": "src",
    "cat a.txt": "a.txt",
    "cat a.txt b.txt": "a.txt b.txt",
    "cat ./sub/../a.txt": "a.txt",
    "cat /etc/hostname": "/etc/hostname",
    "cat ~/x": "/home/me/x",
    "cat '~/x'": "~/x",
    'cat "a.txt"': "a.txt",
    "cat *.txt": "**.txt",
    "cat src/*.py": "*src/*.py",
    "cat a.{txt,md}": "*a.{txt,md}",
    'cat "$X"': "?",
    "cat $X": "?",
    "cat src/$X": "?",
    'cat "$HOME/x"': "? /home/me/x",
    "cat ${HOME}/x": "? /home/me/x",
    'cat "$PWD/x"': "? x",
    "cat -n a.txt": "a.txt",
    "cat -- -n": "-n",
    "cat -": "-",
    "cat < a.txt": "a.txt",
    "cat <<'EOF'\nrm -rf x\nEOF": "",
    "cat a.txt > /dev/null": "a.txt",
    "cat a.txt 2>&1": "a.txt",
    "cat missing 2>/dev/null || true": "missing",
    "head -5 a.txt": "a.txt",
    "head -n 5 a.txt": "a.txt",
    "head -n5 a.txt": "a.txt",
    "head --lines=5 a.txt": "a.txt",
    "tail -n +3 a.txt": "a.txt",
    "tail -c 10 a.txt": "a.txt",
    "wc -l a.txt b.txt": "a.txt b.txt",
    "wc --files0-from=list0": "list0 ?",
    "nl -b a a.txt": "a.txt",
    "tac a.txt": "a.txt",
    "rev a.txt": "a.txt",
    "paste -d , a.txt b.txt": "a.txt b.txt",
    "comm -12 a.txt b.txt": "a.txt b.txt",
    "join -t : a.txt b.txt": "a.txt b.txt",
    "cmp a.txt b.txt": "a.txt b.txt",
    "fold -w 20 a.txt": "a.txt",
    "column -t -s , a.txt": "a.txt",
    "cut -d : -f 1 a.txt": "a.txt",
    "cut -d: -f1 a.txt": "a.txt",
    "tr a-z A-Z < a.txt": "a.txt",
    "stat -c %s a.txt": "a.txt",
    "file a.txt": "a.txt",
    "file -b --mime-type a.txt": "a.txt",
    "file -f list": "list ?",
    "readlink -f a.txt": "a.txt",
    "realpath a.txt": "a.txt",
    "basename src/m.py .py": "",
    "dirname src/m.py": "",
    "md5sum a.txt": "a.txt",
    "sha256sum -c sums": "sums ?",
    "base64 -w 0 a.txt": "a.txt",
    "od -A x -c a.txt": "a.txt",
    "hexdump -C a.txt": "a.txt",
    "strings -n 8 a.txt": "a.txt",
    "xxd a.txt": "a.txt",
    "xxd -l 16 a.txt": "a.txt",
    "du -sh src": "src",
    "du -d 1 --exclude x src": "src",
    "df -h": "",
    "tree -L 2": ".",
    "tree -I node_modules src": "src",
    "diff -u a.txt b.txt": "a.txt/ b.txt/",
    "diff -r src sub": "src/ sub/",
    "grep foo a.txt": "a.txt",
    "grep -n foo a.txt b.txt": "a.txt b.txt",
    "grep -A 3 foo a.txt": "a.txt",
    "grep -A3 -e foo a.txt": "a.txt",
    "grep -efoo a.txt": "a.txt",
    "grep --regexp=foo a.txt": "a.txt",
    "grep -f pats a.txt": "pats a.txt",
    "grep -fpats a.txt": "pats a.txt",
    "grep --file=pats a.txt": "pats a.txt",
    "grep -rn foo .": "./",
    "grep -rn foo src": "src/",
    "grep -r foo": "./",
    "grep --recursive --include='*.py' foo src": "src/",
    "grep -rl -- foo src": "src/",
    "grep -m 1 foo a.txt": "a.txt",
    "grep foo -r src": "src/",
    "egrep 'a|b' a.txt": "a.txt",
    "rg foo": "./",
    "rg foo src": "src/",
    "rg -e foo src": "src/",
    "rg -g '*.py' -A 3 foo": "./",
    "rg -tpy --hidden foo src": "src/",
    "rg -f pats src": "pats src/",
    "rg --files src": "src",
    "fd foo src": "src",
    "find .": ".",
    "find": ".",
    "find src -name '*.py' -type f": "src",
    "find . -maxdepth 2 \\( -name a -o -name b \\) -print0": ".",
    "find . -newer a.txt": "a.txt .",
    "find -L src -printf '%p\\n'": "src",
    "find . -name '*.py' -exec grep -l foo {} +": "./",
    "find . -type f | xargs grep -l foo": ". ?",
    "find . -type f -print0 | xargs -0 -n 10 wc -l": ". ?",
    "sort a.txt": "a.txt",
    "sort -t , -k 2 -n a.txt": "a.txt",
    "sort -u < a.txt | uniq -c | sort -rn": "a.txt",
    "uniq -c a.txt": "a.txt",
    "shuf -n 1 a.txt": "a.txt",
    "seq 1 3": "",
    "echo hello": "",
    "echo $X": "",
    "printf '%s\\n' \"$X\"": "",
    "pwd": "",
    "true": "",
    ":": "",
    "sleep 0": "",
    "date": "",
    "date +%s": "",
    "date -u -d yesterday +%F": "",
    "date -r a.txt": "a.txt",
    "uname -a": "",
    "whoami": "",
    "id -u": "",
    "hostname": "",
    "which git": "",
    "type ls": "",
    "command -v git": "",
    "env": "",
    "printenv HOME": "",
    "expr 1 + 1": "",
    "test -f a.txt": "",
    '[ -n "$X" ] && echo yes': "",
    '[ "$X" = y ]': "",
    "[[ $X == y* ]]": "",
    "jq . a.json": "a.json",
    "jq -r '.a | .b' a.json": "a.json",
    "jq --arg k v '.[$k]' a.json": "a.json",
    "jq -f prog.jq a.json": "prog.jq a.json",
    "jq --slurpfile x b.json . a.json": "b.json a.json",
    "awk '{print $1}' a.txt": "a.txt",
    "awk -F: -v n=1 'NR == n' a.txt": "a.txt",
    "awk '$1 > 5' a.txt": "a.txt",
    "awk '{s += $1} END {print s}' a.txt": "a.txt",
    "sed -n 1,5p a.txt": "a.txt",
    "sed 's/a/b/g' a.txt": "a.txt",
    "sed -e 's|a|b|' -e 3d a.txt": "a.txt",
    "sed -n '/foo/,/bar/p;$p' a.txt": "a.txt",
    "sed -E 's/^(a+) +/\\1/I; /^#/d' a.txt": "a.txt",
    "tar -tzf a.tgz": "a.tgz",
    "tar tf a.tgz": "a.tgz",
    "git status": "",
    "git status --short --branch": "",
    "git --no-pager log --oneline -5": "",
    "git log -p --since=yesterday -- src": "src",
    "git log --format='%h %s' -n 3": "",
    "git diff": "",
    "git diff --stat HEAD~1": "HEAD~1",
    "git diff --cached -- a.txt": "a.txt",
    "git show HEAD:src/m.py": "src/m.py",
    "git show --stat": "",
    "git blame -L 1,2 a.txt": "a.txt",
    "git grep -n foo": "./",
    "git grep -e foo -- src": "src/",
    "git ls-files src": "src",
    "git rev-parse --show-toplevel": "",
    "git branch -a": "",
    "git branch --show-current": "",
    "git tag -l": "",
    "git remote -v": "",
    "git stash list": "",
    "git config --get user.name": "",
    "git config --list": "",
    "git describe --tags --always": "",
    "git -C src status": "",
    "git -C src diff -- m.py": "src/m.py",
    "git reflog": "",
    "GIT_PAGER=cat git log -1": "",
    "LC_ALL=C sort a.txt": "a.txt",
    "x=1": "",
    'for f in *.txt; do wc -l "$f"; done': "?",
    'while read -r line; do echo "$line"; done < a.txt': "a.txt",
    "cd src && cat m.py": "src/m.py",
    "cd src && cat m.py && cd .. && cat a.txt": "src/m.py a.txt",
    "if [ -f a.txt ]; then cat a.txt; fi": "a.txt",
    "timeout 5 cat a.txt": "a.txt",
    "bash -c 'cat a.txt | head -1'": "a.txt",
    "set -euo pipefail; cat a.txt": "a.txt",
    "echo $(cat a.txt)": "a.txt",
    "/bin/cat a.txt": "a.txt",
    "(git log -1; ls)": "",
}

# Scripts that change something or may, and what they are known to touch; `>` in front of what is
# written.
CHANGING = {
    "touch a.txt": ">a.txt",
    "touch -r b.txt a.txt": "b.txt >a.txt",
    "mkdir -p d/e": ">d/e",
    "mkdir -m 700 d": ">d",
    "rmdir d": ">d",
    "rm a.txt": ">a.txt",
    "rm -r src": ">src/",
    "rm -rf -- src a.txt": ">src/ >a.txt/",
    "rm *.txt": ">**.txt",
    "rm $X": ">?",
    "cp a.txt b.txt": "a.txt >b.txt >b.txt/a.txt",
    "cp -r src d": "src/ >d >d/src/",
    "cp -t d a.txt b.txt": "a.txt b.txt >d >d/a.txt >d/b.txt",
    "cp --target-directory=d a.txt": "a.txt >d >d/a.txt",
    "cp -r src/. d": "src/ >d >d/",
    "cp $X d": "? >d >?",
    "cp *.txt d": "**.txt >d >*d/*.txt",
    'cp a.txt "$X"': "a.txt >?",
    "mv a.txt d": "a.txt/ >a.txt/ >d >d/a.txt/",
    "ln -s ../x link": "/x x >link >link/x",
    "ln -s .env d/link": ".env d/.env d/link/.env >d/link >d/link/.env",
    "ln a.txt": "a.txt >. >a.txt",
    "install -m 755 a.txt d": "a.txt >d >d/a.txt",
    "install -d d e": ">d >e",
    "rsync -a src/ d": "src/ >d >d/src/",
    "scp a.txt host:x": "a.txt >host:x >host:x/a.txt",
    "chmod +x a.txt": ">a.txt",
    "chmod -R 700 src": ">src/",
    "chmod -x a.txt": ">a.txt",
    "chown -R me:me src": ">src/",
    "truncate -s 0 a.txt": ">a.txt",
    "tee b.txt": ">b.txt",
    "cat a.txt | tee -a b.txt c.txt": "a.txt >b.txt >c.txt",
    "echo x > b.txt": ">b.txt",
    "echo x >> b.txt": ">b.txt",
    "echo x &> b.txt": ">b.txt",
    "echo x >| b.txt": ">b.txt",
    "echo x <> b.txt": "b.txt >b.txt",
    "> b.txt": ">b.txt",
    "echo x > ~/b": ">/home/me/b",
    "echo x > $X": ">?",
    "echo x > $HOME/b": ">? >/home/me/b",
    "{ echo x; } > b.txt": ">b.txt",
    "cd src && echo x > b.txt": ">src/b.txt",
    "cd $X && echo x > b.txt": ">?",
    "cd $X && cat /etc/hostname > /tmp/b": "/etc/hostname >/tmp/b",
    "sort -o b.txt a.txt": ">b.txt a.txt",
    "sort -ob.txt a.txt": ">b.txt a.txt",
    "sort -uo b.txt a.txt": ">b.txt a.txt",
    "sort a.txt --output=b.txt": ">b.txt a.txt",
    "sort a.txt --out b.txt": ">b.txt a.txt",
    "sort --compress-program=./x a.txt": "a.txt",
    "sort --compress ./x a.txt": "a.txt",
    "sort $X": "?",
    "sort *.txt": "**.txt",
    "shuf -o b.txt a.txt": ">b.txt a.txt",
    "uniq a.txt b.txt": "a.txt >b.txt",
    "uniq $X": "? >?",
    "xxd a.txt -c": "a.txt >-c",
    "xxd -r a.txt b.txt": "a.txt >b.txt",
    "tree -o b.txt": ">b.txt .",
    "split -l 10 a.txt part": "a.txt >part >*part*",
    "file -C -m magic": "magic",
    "date -s tomorrow": "",
    "date --set=tomorrow": "",
    "date 01010000": "",
    "hostname other": "",
    "printf -v x hello": "",
    "rg --pre ./x foo": "./",
    "rg -z foo": "./",
    "fd -x rm": "",
    "diff -l a.txt b.txt": "a.txt/ b.txt/",
    "less a.txt": "a.txt",
    "man ls": "ls",
    "vim a.txt": "a.txt >a.txt",
    "find . -delete": ". >./",
    "find src -name '*.pyc' -delete": "src >src/",
    "find . -fprint b.txt": ">b.txt .",
    "find . -fls b.txt": ">b.txt .",
    "find . -fprintf b.txt %p": ">b.txt .",
    "find . -name x -exec rm {} +": "./ >?",
    "find . -unheard-of": ".",
    "sed -i s/a/b/ a.txt": "a.txt >a.txt",
    "sed -i.bak s/a/b/ a.txt": "a.txt >a.txt",
    "sed -ni s/a/b/ a.txt": "a.txt >a.txt",
    "sed --in-place=.bak s/a/b/ a.txt": "a.txt >a.txt",
    "sed --in-pl s/a/b/ a.txt": "a.txt >a.txt",
    "sed 's/a/b/w b.txt' a.txt": "a.txt b.txt >b.txt",
    "sed 'w b.txt' a.txt": "a.txt b.txt >b.txt",
    "sed '1e date' a.txt": "a.txt",
    "sed 's/a/date/e' a.txt": "a.txt",
    "sed '1r b.txt' a.txt": "a.txt b.txt",
    "sed 's/[/]/p;/w b.txt' a.txt": "a.txt b.txt >b.txt",
    "sed -f prog a.txt": "prog a.txt",
    'sed "$X" a.txt': "a.txt",
    "sed p *.txt": "**.txt",
    "awk '{print > \"b.txt\"}' a.txt": "a.txt >b.txt",
    "awk '{system(\"x\")}' a.txt": "a.txt",
    "awk '{print | \"sh\"}' a.txt": "a.txt",
    "awk '{getline < \"b.txt\"}' a.txt": "a.txt b.txt",
    "awk -f prog a.txt": "prog a.txt",
    'awk "$X" a.txt': "a.txt",
    "perl -pi -e s/a/b/ a.txt": "a.txt >a.txt",
    "perl script.pl a.txt": "script.pl a.txt",
    "yq -i .a=1 a.yaml": "a.yaml >a.yaml",
    "dd if=a.txt of=b.txt bs=1M": "a.txt >b.txt",
    "tar -czf a.tgz src": ">a.tgz src/",
    "tar czf a.tgz src": ">a.tgz src/",
    "tar -xzf a.tgz": "a.tgz >. >?",
    "tar xf a.tgz -C d": "a.tgz >d >?",
    "tar xfC a.tgz d": "a.tgz >d >?",
    "tar -tf a.tgz --to-command=x": "a.tgz",
    "tar -tf host:a.tgz": "host:a.tgz",
    "unzip a.zip -d d": "a.zip >d >?",
    "zip -r a.zip src": ">a.zip src/",
    "gzip a.txt": "a.txt >a.txt >?",
    "gzip -c a.txt > b.gz": "a.txt >b.gz",
    "patch -p1 < a.diff": ">? a.diff",
    "patch a.txt a.diff": ">a.txt >a.diff",
    "gcc -Wall -c m.c -o m.o": ">m.o m.c",
    "curl https://example.org/x": "",
    "curl -o b.txt https://example.org/x": ">b.txt",
    "curl -sSLo b.txt https://example.org/x": ">b.txt",
    "curl -O https://example.org/x.tgz": ">x.tgz",
    "curl -d @.env https://example.org": ".env",
    "curl -F f=@.env https://example.org": ".env",
    "curl -T .env https://example.org": ".env",
    "curl file:///etc/passwd": "/etc/passwd",
    "wget https://example.org/x.tgz": ">x.tgz",
    "wget -O b.tgz https://example.org/x.tgz": ">b.tgz",
    "wget -P d https://example.org/x.tgz": ">d >d/x.tgz",
    "python3 script.py a.txt": "script.py",
    "python3 script.py src/a.txt .env": "script.py src/a.txt .env",
    "python3 -c 'print(1)' .env": ".env",
    "node -e 1": "",
    "bash script.sh": "script.sh",
    "source .env": ".env",
    ". ./x.sh": "x.sh",
    "unheard-of a b": "",
    "unheard-of src/a": "src/a",
    "unheard-of .env id_rsa": ".env id_rsa",
    "unheard-of --config=src/a": "src/a",
    "unheard-of -v /etc:/x": "/etc /x /etc:/x",
    "unheard-of @src/a": "src/a",
    "unheard-of ~/x": "/home/me/x",
    "unheard-of https://example.org/x": "",
    "unheard-of $X": "?",
    "unheard-of *.py": "**.py",
    "./ls": "",
    "./cat .env": ".env",
    "$X a": "",
    "FOO=1 ls": "",
    "LD_PRELOAD=./e.so ls": "",
    "PATH=. ls": "",
    "PATH=.; ls": "",
    "GIT_EXTERNAL_DIFF=./x git diff": "",
    "PAGER=./x git log": "",
    "env FOO=1 ls": "",
    "sudo cat a.txt": "a.txt",
    "nohup ls > b.txt": ">b.txt",
    "xargs -a list rm": "list ? >?",
    "echo x | xargs sort": "?",
    "git add a.txt": "a.txt",
    "git add .": ".",
    "git commit -m x": "",
    "git commit -F msg": "msg",
    "git push": "",
    "git checkout -- x.lock": "x.lock >x.lock/",
    "git checkout x.lock": "x.lock >x.lock/",
    "git checkout -b new": "",
    "git restore src": "src >src/",
    "git restore -s HEAD~1 a.txt": "a.txt >a.txt/",
    "git reset --hard": ". >./",
    "git clean -fd": ". >./",
    "git rm a.txt": "a.txt >a.txt/",
    "git mv a.txt d": "a.txt >a.txt/ d >d/ >d/a.txt/",
    "git apply a.diff": "a.diff >?",
    "git stash": ">./",
    "git stash pop": ">./",
    "git config user.name x": ">.git/config",
    "git config --global user.name x": ">/home/me/.gitconfig",
    "git config -f x a.b c": ">x",
    "git diff --output=b.txt": ">b.txt",
    "git log --output b.txt": ">b.txt",
    "git diff --ext-diff": "",
    "git log --textconv -p": "",
    "git -c core.pager=x log": "",
    "git -c alias.x=!sh x": "",
    "git --exec-path=x status": "",
    "git --git-dir=x status": "",
    "git grep -O foo": "./",
    "git grep --open-files-in-pager=./x foo": "./",
    "git branch new": "",
    "git branch -D old": "",
    "git tag v1": "",
    "git remote add o u": "",
    "git archive -o b.tar HEAD": ">b.tar",
    "git $X": "",
    "git log $X": "?",
    "git -C src add m.py": "src/m.py",
    "[ $X ]": "",
    '[ "$X" "$Y" ]': "",
    "test -v 'a[$(x)]'": "",
    'eval "$X"': "?",
    "export X=1": "",
    "alias ls=rm": "",
    "cat < /dev/tcp/example.org/80": "/dev/tcp/example.org/80",
    "ls | sh": "",
    "cat a.txt; rm b.txt": "a.txt >b.txt",
    "ls $(rm b.txt)": "? >b.txt",
    "echo ${X:-$(rm b.txt)}": ">b.txt",
}


def spelled(effects: tuple[PathEffect, ...]) -> set[str]:
    found = set()
    for effect in effects:
        path = effect.path or "?"
        if path == CWD:
            path = "."
        path = path.removeprefix(f"{CWD}/")
        below = "/" if effect.recursive and effect.path != "/" and effect.path else ""
        sign = ">" if effect.operation == "write" else ""
        found.add(f"{sign}{'*' if effect.glob else ''}{path}{below}")
    return found


@pytest.mark.parametrize("script", READING)
def test_a_script_that_changes_nothing_is_known_as_such(script: str) -> None:
    analysis = analyse_command(script, cwd=CWD, home_dir=HOME)
    expected = set(READING[script].split())
    assert spelled(analysis.effects) - {">/dev/null"} == expected
    assert analysis.read_only


@pytest.mark.parametrize("script", CHANGING)
def test_a_script_that_may_change_something_is_never_taken_for_one_that_reads(script: str) -> None:
    analysis = analyse_command(script, cwd=CWD, home_dir=HOME)
    assert spelled(analysis.effects) == set(CHANGING[script].split())
    assert not analysis.read_only


def word(source: str) -> Word:
    """A word of letters, or an expansion such as `$X`."""
    return Word(source, UNKNOWN if source.startswith("$") else source)


def command(*words: str, cwd: str | None = CWD, **more: object) -> SimpleCommand:
    return SimpleCommand(
        source=" ".join(words),
        words=tuple(map(word, words)),
        cwd=cwd,
        **more,  # type: ignore[arg-type]
    )


def test_a_relative_path_in_an_unknown_folder_is_not_known() -> None:
    effects, read_only = effects_of(command("cat", "a", "/b", cwd=None), HOME)
    assert [effect.path for effect in effects] == [None, "/b"]
    assert read_only


def test_a_home_folder_that_is_not_known_leads_nowhere_known() -> None:
    effects, _ = effects_of(command("cat", "~/a", "~other/b"), None)
    assert [effect.path for effect in effects] == [None, None]


def test_an_effect_names_its_word_its_program_and_redirections() -> None:
    target = Redirect("write", Word("'b c'", "b c"))
    effects, _ = effects_of(command("/bin/cat", "./a", redirects=(target,)), HOME)
    assert [(e.word, e.program) for e in effects] == [("./a", "cat"), ("'b c'", ">")]
    assert effects[1].path == "/w/b c"


def test_special_characters_of_the_folder_stand_for_themselves_in_a_pattern() -> None:
    globbed = SimpleCommand(
        source="", words=(word("cat"), Word("*.py", f"{UNKNOWN}.py", "*.py")), cwd="/w[1]*"
    )
    effects, _ = effects_of(globbed, HOME)
    assert [(e.path, e.glob) for e in effects] == [("/w[[]1][*]/*.py", True)]


def test_quoted_characters_of_a_pattern_stand_for_themselves() -> None:
    script = 'cat "a[1]-b"/*.py'
    (effect,) = analyse_command(script, cwd=CWD, home_dir=HOME).effects
    assert (effect.path, effect.glob) == ("/w/a[[]1]-b/*.py", True)


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PATH", "GIT_SSH", "NODE_OPTIONS", "http_proxy"])
def test_a_variable_that_programs_look_for_is_a_change(name: str) -> None:
    made = (Assignment(name, Word("x", "x")),)
    assert not effects_of(command("ls", assignments=made), HOME)[1]
    assert not effects_of(SimpleCommand(source="", assignments=made, cwd=CWD), HOME)[1]


SCRATCH_FILES = {
    "a.txt": "a: 1\nfoo b\n",
    "b.txt": "b\n",
    "a.md": "# foo\n",
    "a.json": '{"a": {"b": 1}}',
    "b.json": "[1]",
    "-n": "dash\n",
    "~/x": "tilde\n",
    "x": "x\n",
    "pats": "foo\n",
    "prog.jq": ".a\n",
    "list": "a.txt\n",
    "list0": "a.txt\0",
    "sums": "",
    "src/m.py": "foo = 1\n",
    "src/m.c": "int x;\n",
    "sub/n.py": "bar\n",
    "HEAD~1": "a file that looks like a revision\n",
}


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files and a repository of git with two commits in it."""
    folder = tmp_path_factory.mktemp("scratch")
    for name, text in SCRATCH_FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    git = "git -c user.name=n -c user.email=e@x -c commit.gpgsign=false"
    run(folder, f"tar -czf a.tgz src; git init -q .; git add .; {git} commit -qm 1")
    run(folder, f"echo more >> a.txt; {git} commit -qam 2; echo most >> a.txt")
    return folder


def run(folder: Path, script: str, seconds: float = 10) -> None:
    variables = {**os.environ, "HOME": str(folder / "~"), "GIT_OPTIONAL_LOCKS": "0", "X": "a.txt"}
    # Some write without end, which must not be kept; others notice that nobody would read it.
    with subprocess.Popen("cat", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as reader:
        try:
            subprocess.run(
                ["bash", "-c", f"ulimit -t 1\n{script}"],
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=reader.stdin,
                stderr=reader.stdin,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            pass  # what it did until then counts


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            data = b"" if path.is_dir() else path.read_bytes()
            found[str(path)] = (path.lstat().st_mode, data)
    return found


def test_what_is_said_to_change_nothing_changes_nothing(scratch: Path) -> None:
    """Every script of the table above, in a real folder."""
    before = contents(scratch)
    for script in READING:
        run(scratch, script)
        assert contents(scratch) == before, script


def installed() -> list[str]:
    return [
        name
        for name, program in PROGRAMS.items()
        if program.harmless != "never"
        and shutil.which(name)
        and name not in ("sleep", "tail", "file", "ps")
    ]


@pytest.mark.slow
def test_no_option_that_is_listed_as_harmless_writes(scratch: Path) -> None:
    """Each option of the table with the real programs; of some programs, every letter."""
    before = contents(scratch)
    for name in installed():
        program = PROGRAMS[name]
        letters = string.ascii_letters if program.harmless == "always" else ""
        options = program.known | {f"-{letter}" for letter in letters}
        tried = []
        for option in sorted(options):
            behind = [["a.txt", option]] if program.harmless == "listed" else []
            for words in ([option, "a.txt", "new"], *behind):
                if effects_of(command(name, *words), HOME)[1]:
                    tried.append(f"{name} {' '.join(words)}")
        run(scratch, "\n".join(tried))
        assert contents(scratch) == before, name


UNSURE = st.sampled_from(["$X", "-$X", "--$X", "a$X", "-o$X", '"$X"', "*", "?", "{a,b}"])
WORDS = st.one_of(
    UNSURE,
    st.sampled_from(["-o", "-i", "--output=b", "-r", "--", "a.txt", "src", "-delete", "w b", "-e"]),
    st.text(alphabet="-ab/.~=@:{}[]*'\\ ", max_size=6),
)


def made(source: str) -> Word:
    if source in ("*", "?", "{a,b}"):
        return Word(source, UNKNOWN, source)
    return Word(source, source.replace("$X", UNKNOWN).replace('"', ""))


@given(
    st.sampled_from(sorted({*PROGRAMS, "git", "find", "sed", "awk", "tar", "dd", "test", "[["})),
    st.lists(WORDS, max_size=6),
    st.sampled_from([None, CWD, "/"]),
    st.sampled_from([None, HOME]),
)
@settings(max_examples=400, deadline=None)
def test_any_words_are_answered(
    name: str, words: list[str], cwd: str | None, home_dir: str | None
) -> None:
    one = SimpleCommand(source="", words=(word(name), *map(made, words)), cwd=cwd)
    effects, read_only = effects_of(one, home_dir)
    for effect in effects:
        assert effect.path is None or effect.path.startswith("/")
        assert effect.glob is False or effect.path is None or "\0" not in effect.path
    if read_only:
        assert all(effect.operation != "write" for effect in effects)


@given(st.lists(st.sampled_from(["a.txt", "-u", "-n", "--", "-k1"]), max_size=4), UNSURE)
@settings(max_examples=100, deadline=None)
def test_an_unknown_word_that_may_be_an_option_is_never_harmless(
    words: list[str], unknown: str
) -> None:
    """`sort` writes with `-o`, so what could turn out to be that is a change."""
    if "--" in words or unknown == "a$X":
        return
    sort = SimpleCommand(source="", words=(word("sort"), *map(made, [*words, unknown])), cwd=CWD)
    assert not effects_of(sort, HOME)[1]


@pytest.mark.parametrize(
    "words",
    [
        ("sed", "s/" + "[" * 20_000),
        ("sed", " " * 40_000 + "Z"),
        ("sed", "1" * 40_000),
        ("awk", "print" * 20_000),
        ("cp", *["-t", "a"] * 2_000, *["b"] * 4_000),
        ("git", *["-C", "a"] * 10_000, "status"),
        ("unheard-of", "a/=" * 10_000),
        ("ls", "-" + "a" * 50_000),
    ],
    ids=lambda words: f"{words[0]} {words[1][:5]}",
)
def test_long_commands_are_read_in_a_straight_line(words: tuple[str, ...]) -> None:
    effects_of(command(*words), HOME)


def test_a_long_pattern_is_read_in_a_straight_line() -> None:
    text = "]" + "[" * 50_000 + "*"
    one = SimpleCommand(source="", words=(word("ls"), Word(text, UNKNOWN, text)), cwd=CWD)
    effects_of(one, HOME)
