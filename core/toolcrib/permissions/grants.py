"""Which allow rules would make a question needless."""

from __future__ import annotations

from toolcrib.permissions.case import Case
from toolcrib.rules import literal_rule


def grants(case: Case) -> tuple[str, ...]:
    """The exact allow rules that would have made the question needless.

    Of a script, one for every command that needs an approval; the whole script where a command
    is not known, depends on others, stands behind another one, or runs in another folder.
    """
    call, analysis = case.call, case.analysis
    if analysis is None:
        return (case.execution.approval_rule,)
    root = case.session.workspace.root
    if analysis.cwd != root:
        return ()
    left = case.unapproved()
    whole = analysis.unanalysable or any(
        c.cwd != root or c.via or not c.self_contained for c in left
    )
    texts = [analysis.text] if whole or not left else [c.source for c in left]
    return tuple(dict.fromkeys(literal_rule(call.name, text) for text in texts))
