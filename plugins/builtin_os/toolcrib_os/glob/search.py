"""What a call of Glob does."""

from __future__ import annotations

from attrs import evolve

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
from toolcrib_os.glob.hints import Hints
from toolcrib_os.glob.input import GlobInput
from toolcrib_os.glob.listing import Listing
from toolcrib_os.glob.pattern import Wanted, read_pattern
from toolcrib_os.shared.search.engine import SearchEnd, SearchEngine
from toolcrib_os.shared.search.path_glob import GlobError
from toolcrib_os.shared.search.records import NameReader
from toolcrib_os.shared.search.request import SearchRequest, narrow
from toolcrib_os.shared.search.root import RootError, SearchRoot, Shield, open_root
from toolcrib_os.shared.search.rules import search_matcher
from toolcrib_os.shared.search.settings import SearchSettings
from toolcrib_os.shared.search.texts import past_the_end, plural, warning_lines


class GlobSearch:
    """Lists files by pattern."""

    def __init__(self, workspace: Workspace, runtime: Runtime, settings: SearchSettings) -> None:
        self._workspace = workspace
        self._settings = settings
        self._engine = SearchEngine(settings, runtime)

    def resolve(self, args: GlobInput) -> Execution:
        resolved = self._workspace.resolve(
            args.path or self._workspace.root, "search", check_sensitive=False
        )
        try:
            wanted = read_pattern(args.pattern, resolved.path, self._workspace.home_dir)
        except GlobError as error:
            return ToolResult.error(f"{error}.")

        async def execute(context: ToolContext) -> ToolResult:
            try:
                root = open_root(self._workspace, resolved)
            except RootError as error:
                return ToolResult.error(f"{error}.")
            if root.file is not None:
                return ToolResult.error(
                    f"cannot search {resolved.raw!r}: it is not a directory. Give the directory "
                    "that holds it as `path`, or open it with Read."
                )
            return await self._list(args, wanted, root, context)

        detail = f"pattern: {args.pattern}"
        detail += f", path: {args.path}" if args.path is not None else ""
        detail += ", include_ignored: true" if args.include_ignored else ""
        return RunnableExecution(
            execute=execute,
            approval_rule=literal_rule("Glob", args.pattern),
            accesses=Accesses.search(resolved.path),
            display=FileIODisplay(operation="glob", path=resolved.path, detail=detail),
            description=f"Searching {args.pattern}",
            matches_rule=search_matcher(args.pattern, resolved.path, self._workspace),
            withholds=True,
        )

    async def _list(
        self, args: GlobInput, wanted: Wanted, root: SearchRoot, context: ToolContext
    ) -> ToolResult:
        # Folders are known by the files in them, whatever those are called.
        only, types = ((), ()) if args.include_dirs else narrow(wanted.glob.alternatives)
        request = SearchRequest(
            mode="list",
            only=only,
            types=types,
            cwd=root.folder,
            base=root.base,
            repository=root.repository,
            include_ignored=args.include_ignored,
            follow=args.follow,
        )
        shield = Shield(root, self._workspace, args.follow, context.withheld)
        listing = Listing.of(args, wanted, root, shield)
        end = await self._engine.search(request, NameReader(listing.take).feed)
        if end.failure is not None:
            return ToolResult.error(f"The search failed: {end.failure}")
        if not listing.total:
            hints = Hints(self._engine, self._workspace, request, wanted, root, context.withheld)
            return await self._nothing(args, end, shield, hints)
        return self._page(args, end, listing, context)

    async def _nothing(
        self, args: GlobInput, end: SearchEnd, shield: Shield, hints: Hints
    ) -> ToolResult:
        if end.timed_out:
            return ToolResult.error(
                f"The search took longer than {self._settings.timeout_s:g} s and had found "
                "nothing by then: give a smaller directory as `path`."
            )
        if (file := hints.literal_file()) is not None:
            return ToolResult(file)
        lines = [f"No files match {args.pattern!r}.", *shield.notices()]
        lines += warning_lines(shield.warnings(end.warnings))
        return ToolResult("\n".join(lines + await hints.sentences()))

    def _page(
        self, args: GlobInput, end: SearchEnd, listing: Listing, context: ToolContext
    ) -> ToolResult:
        total, shown = listing.total, listing.page(args.offset, args.limit)
        if not shown and args.offset >= total:
            return ToolResult(past_the_end(args.offset, total, "path"))
        next_offset = args.offset + len(shown)
        notices = []
        if end.timed_out:
            notices.append(
                f"Incomplete: the search was stopped after {self._settings.timeout_s:g} s."
            )
        if not shown:
            notices.append(f"Of {plural(total, 'path')} only the newest can be listed: narrow it.")
        elif next_offset < total:
            page = f"the first {len(shown)}" if not args.offset else f"{len(shown)} more"
            notices.append(
                f"Truncated: {page} of {plural(total, 'path')}, newest first. "
                f"The next page begins at offset: {next_offset}."
            )
        notices += listing.shield.notices() + warning_lines(listing.shield.warnings(end.warnings))
        sink = context.output()
        sink.write("".join(f"{line}\n" for line in notices))
        sink.write("\n".join(shown))
        return evolve(sink.result(), truncated=next_offset < total or end.timed_out)
