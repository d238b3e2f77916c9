"""What a call of Grep does."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib import (
    Accesses,
    Execution,
    FileIODisplay,
    RunnableExecution,
    Runtime,
    ToolContext,
    ToolResult,
    Workspace,
    literal_rule,
)
from toolcrib_os.grep.failures import failure_text
from toolcrib_os.grep.filters import FileFilter
from toolcrib_os.grep.findings import Counts, Findings, Lines, Names
from toolcrib_os.grep.input import GrepInput
from toolcrib_os.shared.search.engine import SearchEngine
from toolcrib_os.shared.search.path_glob import GlobError
from toolcrib_os.shared.search.request import Mode, SearchRequest
from toolcrib_os.shared.search.root import RootError, SearchRoot, Shield, looks_binary, open_root
from toolcrib_os.shared.search.rules import search_matcher
from toolcrib_os.shared.search.settings import SearchSettings
from toolcrib_os.shared.search.texts import warning_lines
from toolcrib_os.shared.text import without_surrogates

_MODES: dict[str, Mode] = {
    "files_with_matches": "files",
    "count_matches": "count",
    "content": "content",
}


class GrepSearch:
    """Searches what files hold."""

    def __init__(self, workspace: Workspace, runtime: Runtime, settings: SearchSettings) -> None:
        self._workspace = workspace
        self._settings = settings
        self._engine = SearchEngine(settings, runtime)

    def resolve(self, args: GrepInput) -> Execution:
        resolved = self._workspace.resolve(
            args.path or self._workspace.root, "search", check_sensitive=False
        )
        if "\0" in args.pattern:
            return ToolResult.error(
                r"The pattern holds a null byte, which cannot be searched for: write `\x00`."
            )
        try:
            file_filter = FileFilter.of(args)
        except GlobError as error:
            return ToolResult.error(str(error))

        async def execute(context: ToolContext) -> ToolResult:
            try:
                root = open_root(self._workspace, resolved)
                binary = root.file is not None and looks_binary(root)
            except RootError as error:
                return ToolResult.error(f"{error}.")
            # What the lines of a binary file would look like helps nobody.
            mode: Mode = (
                "files" if binary and args.output_mode == "content" else _MODES[args.output_mode]
            )
            return await self._search(args, mode, file_filter, root, context)

        return RunnableExecution(
            execute=execute,
            approval_rule=literal_rule("Grep", args.pattern),
            accesses=Accesses.search(resolved.path),
            display=FileIODisplay(
                operation="grep", path=resolved.path, detail=f"pattern: {args.pattern}"
            ),
            description=f"Searching for {args.pattern!r} in {args.path or self._workspace.root}",
            matches_rule=search_matcher(args.pattern, resolved.path, self._workspace),
            withholds=True,
        )

    async def _search(
        self,
        args: GrepInput,
        mode: Mode,
        file_filter: FileFilter,
        root: SearchRoot,
        context: ToolContext,
    ) -> ToolResult:
        shield = Shield(root, self._workspace, args.follow, context.withheld)
        findings = _findings(mode, args, root, _allowing(file_filter, shield, root))
        end = await self._engine.search(_request(mode, args, file_filter, root), findings.feed)
        if end.failure is not None:
            return ToolResult.error(failure_text(args, end.failure))
        if not findings.total and end.timed_out:
            return ToolResult.error(
                f"The search took longer than {self._settings.timeout_s:g} s and had found "
                "nothing by then: narrow it with `path`, `glob`, `type` or a more exact pattern."
            )
        notices = [*shield.notices(), *warning_lines(shield.warnings(end.warnings))]
        if end.timed_out:
            notices.insert(
                0,
                f"Incomplete: the search was stopped after {self._settings.timeout_s:g} s. "
                "Narrow it with `path`, `glob` or `type`.",
            )
        if not findings.total:
            where = f" in {args.path!r}" if args.path is not None else ""
            return ToolResult("\n".join([f"No matches for {args.pattern!r}{where}.", *notices]))
        return findings.render(context.output(), notices, incomplete=end.timed_out)


def _request(
    mode: Mode, args: GrepInput, file_filter: FileFilter, root: SearchRoot
) -> SearchRequest:
    before, after = args.lines_around
    only, types, leave_out = file_filter.narrowed()
    return SearchRequest(
        mode=mode,
        cwd=root.folder,
        file=root.file,
        base=root.base,
        repository=root.repository,
        include_ignored=args.include_ignored,
        follow=args.follow,
        only=only,
        leave_out=leave_out,
        types=types,
        pattern=without_surrogates(args.pattern),
        ignore_case=args.ignore_case,
        fixed_strings=args.fixed_strings,
        word=args.word,
        multiline=args.multiline,
        only_matching=args.only_matching,
        before=before,
        after=after,
    )


def _allowing(file_filter: FileFilter, shield: Shield, root: SearchRoot) -> Callable[[str], bool]:
    if not (file_filter.only or file_filter.leave_out) or root.file is not None:
        return shield.allows
    return lambda name: file_filter.covers(name) and shield.allows(name)


def _findings(
    mode: Mode, args: GrepInput, root: SearchRoot, allows: Callable[[str], bool]
) -> Findings:
    if mode == "files":
        return Names(args, root, allows)
    if mode == "count":
        return Counts(args, root, allows)
    return Lines(args, root, allows)
