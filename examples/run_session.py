"""Runs a recorded session of a model against the source of click, and says what became of it."""

from __future__ import annotations

import argparse
import filecmp
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SESSION = HERE / "session.json"
REQUIREMENT = HERE / "source.txt"
CACHE = HERE / ".cache"
ARCHIVE = "click-8.1.8.tar.gz"
SHOWN_LINES = 6
SHOWN_COLUMNS = 110

Completion = dict[str, Any]
"""One line that `toolcrib run --json` prints."""


class ExampleError(Exception):
    """The session cannot be run; the message says what to do."""


def main() -> int:
    """Run the example; status 1 when a call ended otherwise than recorded, 3 without the source."""
    options = _options()
    session = json.loads(SESSION.read_text(encoding="utf-8"))
    arguments = {call["id"]: call["arguments"] for batch in session["batches"] for call in batch}
    done: list[Completion] = []
    with tempfile.TemporaryDirectory(prefix="toolcrib-example-") as temporary:
        scratch = Path(temporary)
        try:
            original = unpack(fetch_source(), scratch / "original")
            workspace = options.keep or scratch / "workspace"
            shutil.copytree(original, workspace, dirs_exist_ok=True)
            (workspace / ".env").write_text("API_TOKEN=not-a-real-secret\n", encoding="utf-8")
            print(f"Task: {session['task']}\n", flush=True)
            for completion in run_session(session, workspace, scratch):
                done.append(completion)
                print_completion(completion, arguments[completion["id"]])
        except ExampleError as error:
            tell(str(error))
            return 3
        changed = [path for path in changed_files(original, workspace) if path != ".env"]
    if options.record is not None:
        lines = [json.dumps(completion) + "\n" for completion in done]
        options.record.write_text("".join(lines), encoding="utf-8")
    return print_summary(session, done, changed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="run in this new folder and leave it there"
    )
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write the results to a file, a JSON line each"
    )
    options = parser.parse_args()
    if options.keep is not None and options.keep.exists() and any(options.keep.iterdir()):
        parser.error(f"{str(options.keep)!r} is not empty; name a new folder")
    return options


def fetch_source() -> Path:
    """The archive of the source, downloaded by pip the first time.

    Raises:
        ExampleError: it cannot be downloaded.
    """
    archive = CACHE / ARCHIVE
    if archive.is_file() and _is_pinned(archive):
        return archive
    tell(f"fetching {ARCHIVE} with pip; it is kept in {CACHE}")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-binary", "click", "--require-hashes", "-r", str(REQUIREMENT)]
    CACHE.mkdir(exist_ok=True)
    # Moved into place when it is whole, so that two runs at the same time do not meet.
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        ending = subprocess.run([*command, "-d", folder], stderr=subprocess.PIPE, text=True)
        downloaded = Path(folder, ARCHIVE)
        if ending.returncode != 0 or not downloaded.is_file():
            raise ExampleError(
                f"{ARCHIVE} could not be fetched, go online or put it into {CACHE}: "
                f"{ending.stderr.strip()[-1000:]}"
            )
        downloaded.replace(archive)
    return archive


def _is_pinned(archive: Path) -> bool:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return digest in REQUIREMENT.read_text(encoding="utf-8")


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a source archive and return the one folder in it."""
    with tarfile.open(archive) as tar:
        # Python 3.11.0 to 3.11.3 have no filters; there the pinned hash has to do.
        if hasattr(tarfile, "data_filter"):
            tar.extraction_filter = tarfile.data_filter
        tar.extractall(folder)
    (root,) = folder.iterdir()
    return root


def run_session(session: dict[str, Any], workspace: Path, scratch: Path) -> Iterator[Completion]:
    """Give the session to `toolcrib run` and yield each completion when it comes."""
    batches = session["batches"]
    batch_of = {call["id"]: number for number, batch in enumerate(batches, 1) for call in batch}
    # A configuration and state of its own: the example is the same for everybody.
    configuration = scratch / "toolcrib.toml"
    configuration.touch()
    environment = {
        **os.environ,
        "TOOLCRIB_CONFIG": str(configuration),
        "TOOLCRIB_STATE": str(scratch / "state"),
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")]),
    }
    command = [sys.executable, "-m", "toolcrib", "--safe", "run", str(SESSION), "--json"]
    command += ["--mode", "yolo", "--workspace", str(workspace)]
    tell(f"running {len(batch_of)} calls in {len(batches)} batches")
    current = 0
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            completion = json.loads(line)
            if batch_of[completion["id"]] != current:
                current = batch_of[completion["id"]]
                tell(f"batch {current} of {len(batches)}")
            yield completion
    if running.returncode != 0:
        raise ExampleError(f"toolcrib run ended with status {running.returncode}")


def print_completion(completion: Completion, arguments: Any) -> None:
    """A heading with the call, then the first lines that the model would read."""
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    state = state_of(completion)
    print(_clipped(f"[{completion['id']}] {completion['name']} {arguments}"))
    lines = completion["output"].rstrip("\n").split("\n")
    for line in lines[:SHOWN_LINES]:
        print(_clipped(f"    {line}"))
    if len(lines) > SHOWN_LINES:
        print(f"    ... {len(lines) - SHOWN_LINES} more lines")
    print(f"  = {state}, {completion['duration_ms']:.0f} ms\n", flush=True)


def print_summary(session: dict[str, Any], done: list[Completion], changed: list[str]) -> int:
    """What became of the calls, above all of the wrong ones; returns the exit status."""
    mistakes = session["mistakes"]
    print(f"{len(done)} results, each call exactly one:")
    for state, count in Counter(map(state_of, done)).most_common():
        print(f"  {count:3} {state}")
    print(f"\nThe {len(mistakes)} calls that went wrong, and what the model was told:")
    surprises = []
    for completion in done:
        mistake = mistakes.get(completion["id"])
        wanted = state_of({"is_error": True, **mistake}) if mistake else "executed"
        if state_of(completion) != wanted:
            surprises.append(f"{completion['id']}: {state_of(completion)}, not {wanted}")
        if mistake:
            print(f"  [{completion['id']}] {completion['name']}: {mistake['mistake']}")
            print(_indented(f"{state_of(completion)}: {_gist(completion)}"))
    print(f"\nFiles changed: {', '.join(changed)}")
    for surprise in surprises:
        print(f"UNEXPECTED {surprise}")
    return 1 if surprises else 0


def state_of(completion: Completion) -> str:
    """How a call ended, in a few words."""
    outcome = str(completion["outcome"])
    if not completion["is_error"]:
        return outcome
    return "executed, with an error" if outcome == "executed" else outcome


def changed_files(before: Path, after: Path) -> list[str]:
    """The files of the workspace that are new or differ, relative to it."""
    paths = sorted(path.relative_to(after) for path in after.rglob("*") if path.is_file())
    return [
        str(path)
        for path in paths
        if "__pycache__" not in path.parts
        and not (
            (before / path).is_file() and filecmp.cmp(before / path, after / path, shallow=False)
        )
    ]


def tell(message: str) -> None:
    """A remark on the progress, on standard error."""
    print(f"run_session: {message}", file=sys.stderr, flush=True)


def _gist(completion: Completion) -> str:
    lines = completion["output"].strip().split("\n")
    # A command prints first and fails last; the other tools begin with what is wrong.
    return str(lines[-1] if completion["name"] == "Bash" else lines[0])


def _indented(text: str) -> str:
    indent = " " * 6
    return textwrap.fill(text, SHOWN_COLUMNS, initial_indent=indent, subsequent_indent=indent)


def _clipped(line: str) -> str:
    line = "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in line)
    return line if len(line) <= SHOWN_COLUMNS else line[: SHOWN_COLUMNS - 3] + "..."


if __name__ == "__main__":
    sys.exit(main())
