"""Puts a request to ripgrep, or to the engine in Python, and says how it went."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from attrs import define, field, frozen

from toolcrib import Runtime
from toolcrib_os.shared.search.request import SearchRequest
from toolcrib_os.shared.search.ripgrep import find_ripgrep, only_lines, ripgrep_arguments
from toolcrib_os.shared.search.run import Ending, run_search
from toolcrib_os.shared.search.settings import SearchSettings

_FILE_PROBLEM = re.compile(r"\(os error \d+\)$")
_BUSY = "os error 11"


@frozen
class SearchEnd:
    """How a search went.

    `failure` is the whole error when nothing could be searched, `warnings` what could not be
    read, and `timed_out` says that the findings are not all.
    """

    failure: str | None = None
    warnings: tuple[str, ...] = ()
    timed_out: bool = False


@define
class SearchEngine:
    """The engine that the settings ask for."""

    settings: SearchSettings
    runtime: Runtime
    _found: str | None = field(default=None, init=False)
    _looked: bool = field(default=False, init=False)

    async def search(
        self,
        request: SearchRequest,
        feed: Callable[[bytes], None],
        *,
        timeout_s: float | None = None,
    ) -> SearchEnd:
        """Run a request; `feed` gets the output in pieces, in a worker thread."""
        fed = 0

        def count_and_feed(data: bytes) -> None:
            nonlocal fed
            fed += len(data)
            feed(data)

        async def run(*more: str) -> Ending:
            with self._command(request) as (argv, environment, stdin):
                return await run_search(
                    self.runtime.launch(
                        [argv[0], *more, *argv[1:]], cwd=request.cwd, environment=environment
                    ),
                    timeout_s=timeout_s or self.settings.timeout_s,
                    feed=count_and_feed,
                    stdin=stdin,
                )

        try:
            ending = await run()
            if _BUSY in ending.stderr and not fed and self._ripgrep() is not None:
                ending = await run("--threads=1")
        except OSError as error:
            reason = error.strerror or str(error)
            if error.errno == errno.E2BIG:
                reason = "the pattern or the globs are longer than the system passes to a program"
            return SearchEnd(failure=f"the search could not be started: {reason}")
        return _interpret(ending, found=bool(fed))

    def _ripgrep(self) -> str | None:
        if self.settings.engine == "python":
            return None
        if not self._looked:
            search_path = self.runtime.environment.get("PATH", "")
            self._found = find_ripgrep(self.settings.rg_path, search_path)
            self._looked = True
        return self._found

    @contextmanager
    def _command(
        self, request: SearchRequest
    ) -> Iterator[tuple[list[str], dict[str, str], IO[bytes] | None]]:
        ripgrep = self._ripgrep()
        environment = dict(self.runtime.environment)
        if ripgrep is None:
            from toolcrib_os.shared.search.python_engine import python_command

            yield *python_command(request, environment), None
        elif not request.only:
            yield [ripgrep, *ripgrep_arguments(request, None)], environment, None
        else:
            # A runtime need not see our temporary files, but it passes standard input on.
            with tempfile.TemporaryFile(prefix="toolcrib-only-") as only:
                only.write(os.fsencode(only_lines(request.only)))
                only.seek(0)
                yield [ripgrep, *ripgrep_arguments(request, "/dev/stdin")], environment, only


def _interpret(ending: Ending, *, found: bool) -> SearchEnd:
    if ending.timed_out:
        return SearchEnd(timed_out=True)
    lines = [line.removeprefix("rg: ") for line in ending.stderr.splitlines() if line.strip()]
    problems = tuple(line.removeprefix("./") for line in lines if _FILE_PROBLEM.search(line))
    if ending.returncode in (0, 1) or found or problems:
        early = () if ending.returncode in (0, 1, 2) else ("the search ended early",)
        return SearchEnd(warnings=problems + early)
    if all("File system loop found" in line for line in lines) and lines:
        return SearchEnd()
    return SearchEnd(failure="\n".join(lines) or f"exit code {ending.returncode}")
