"""Carries out an Edit."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib import ResolvedPath, ToolResult, Workspace
from toolcrib_os.edit.diagnosis import not_found
from toolcrib_os.edit.input import EditInput
from toolcrib_os.edit.matching import Document, spliced
from toolcrib_os.edit.report import edited, in_utf_16, not_unique, undecodable
from toolcrib_os.shared.atomic import read_whole, replace_content
from toolcrib_os.shared.changes import utf_16_of


def edit_file(
    args: EditInput,
    resolved: ResolvedPath,
    workspace: Workspace,
    before_commit: Callable[[], None],
) -> ToolResult:
    """Edit as the arguments say; `before_commit` is called just before others can see it."""
    path = workspace.locate(resolved, "write")
    data, seen = read_whole(path)
    if encoding := utf_16_of(data):
        return in_utf_16(args.path, encoding)
    try:
        document = Document.of(data)
    except UnicodeDecodeError as error:
        return undecodable(args.path, data, error.start)
    found = document.find(args.old_string)
    if not found:
        return not_found(document, args)
    if len(found) > 1 and not args.replace_all:
        return not_unique(document, args, found)
    old, new = document.raw(args.old_string), document.raw(args.new_string)
    if old == new:
        return ToolResult.error(
            f"there is nothing to change in {args.path!r}: old_string and new_string differ "
            "only in line endings, and those of the file are kept."
        )
    result = spliced(data, found, len(old), new)
    replace_content(path, result, seen=seen, before_commit=before_commit)
    return edited(args, document, result, found, len(new) - len(old))
