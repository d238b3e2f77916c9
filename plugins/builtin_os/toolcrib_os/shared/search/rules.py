"""Which permission rules cover a search."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib import Workspace, path_matcher, text_matcher

_ROOT = "path:"


def search_matcher(pattern: str, root: str, workspace: Workspace) -> Callable[[str], bool]:
    """Match the arguments of a rule against the pattern, or after `path:` against the root."""
    by_pattern = text_matcher(pattern)
    by_root = path_matcher(root.rstrip("/") or "/", workspace)

    def matches(rule_args: str) -> bool:
        if rule_args.startswith(_ROOT):
            return by_root(rule_args.removeprefix(_ROOT))
        if rule_args.startswith(f"!{_ROOT}"):
            return not by_root(rule_args.removeprefix(f"!{_ROOT}"))
        return by_pattern(rule_args)

    return matches
