"""What the panel shows: all of a call, as it is, whatever it contains and however long it is.

`UPDATE_SNAPSHOTS=1 pytest tests/core/cli/test_approval_panel.py` writes the snapshot anew.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from toolcrib.cli.panel import (
    Screen,
    approval_screen,
    drawn,
    pages,
    plan_screen,
    question_screen,
)
from toolcrib.cli.rows import KEPT_CHARS, Block, Cut, fitted, rows, visible
from toolcrib.contract.display import (
    AgentCallDisplay,
    CommandDisplay,
    DiffDisplay,
    Display,
    FileIODisplay,
    GenericDisplay,
    GoalStartDisplay,
    PlanReviewDisplay,
    SearchDisplay,
    SkillCallDisplay,
    TaskDisplay,
    TaskStopDisplay,
    TodoListDisplay,
    UrlFetchDisplay,
)
from toolcrib.contract.interaction import (
    ApprovalRequest,
    PlanReviewRequest,
    Question,
    QuestionOption,
)

SNAPSHOT = Path(__file__).parent / "snapshots" / "approval_panel.txt"


def approval(display: Display, **fields: Any) -> ApprovalRequest:
    values: dict[str, Any] = {
        "id": "approval_1",
        "session_id": "s",
        "agent": "main",
        "turn_id": "1",
        "call_id": "c",
        "tool": "Bash",
        "action": "Running: make",
        "policy": "fallback-ask",
    }
    return ApprovalRequest(display=display, **{**values, **fields})


def terminal(width: int = 80, height: int = 40) -> Console:
    return Console(file=io.StringIO(), width=width, height=height, color_system=None)


def text_of(screen: Screen, console: Console | None = None) -> str:
    console = console or terminal()
    console.print(drawn(screen, console))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_panel_as_it_stands_in_the_guide() -> None:
    request = approval(
        CommandDisplay(
            command=(
                "git fetch origin && rm -rf build \\\n  && make -j4 install PREFIX=$HOME/.local"
            ),
            cwd="/home/ann/src/app",
            description="Build the current upstream version afresh and install it",
        ),
        reason="no rule covers `rm -rf build`, `make -j4 install PREFIX=$HOME/.local`",
        rules=("Bash(rm -rf build)", "Bash(make -j4 install PREFIX=$HOME/.local)"),
        scopes=("once", "session", "project", "user"),
    )
    shown = text_of(approval_screen(request)) + "answer (y/s/p/a/n/f/v): \n"
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        SNAPSHOT.write_text(shown, "utf-8")
    assert shown == SNAPSHOT.read_text("utf-8")


@pytest.mark.parametrize(
    ("display", "words"),
    [
        (CommandDisplay(command="make test", cwd="/w/app"), "make test|/w/app"),
        (FileIODisplay(operation="read", path="/w/a.txt"), "read|/w/a.txt"),
        (FileIODisplay(operation="grep", path="/w", detail="pattern: foo"), "grep|/w|foo"),
        (
            FileIODisplay(operation="write", path="/w/a.py", content="x = 1\n", detail="9 more"),
            "write|/w/a.py|1 line, 6 characters|x = 1|9 more",
        ),
        (FileIODisplay(operation="write", path="/w/a", content=""), "write|nothing"),
        (
            FileIODisplay(operation="edit", path="/w/a.py", before="a\nold\n", after="a\nnew\n"),
            "edit|/w/a.py|-old|+new",
        ),
        (
            FileIODisplay(operation="edit", path="/w/a", before="x" * 30_000, after="new"),
            "-xxx|+new",
        ),
        (DiffDisplay(path="/w/a", diff="--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"), "/w/a|-x|+y"),
        (SearchDisplay(query="how to"), "how to"),
        (UrlFetchDisplay(url="https://good.com@evil.com/x"), "good.com@evil.com|host evil.com"),
        (UrlFetchDisplay(url="https://ex\u0430mple.com/"), "xn--exmple-4nf.com"),
        (UrlFetchDisplay(url="https://[/"), "https://[/"),
        (AgentCallDisplay(agent="helper", prompt="look", background=True), "helper|back|look"),
        (SkillCallDisplay(skill="draw", arguments="a cat"), "draw|a cat"),
        (
            TodoListDisplay(
                items=({"title": "one", "status": "done"}, {"title": "two", "status": "pending"})
            ),
            "[x] one|[ ] two",
        ),
        (TaskDisplay(task_id="bash-1", description="sleep"), "bash-1|sleep"),
        (TaskStopDisplay(task_id="bash-1"), "stop|bash-1"),
        (PlanReviewDisplay(plan="# Do", path="/w/p.md", options=("fast",)), "# Do|/w/p.md|fast"),
        (GoalStartDisplay(goal="win", budget="3 turns"), "win|3 turns"),
        (GenericDisplay(summary="lamp", detail={"on": [1, "x"]}), 'lamp|"on"|"x"'),
        (GenericDisplay(summary="lamp", detail={"at": Path("/w")}), "lamp|/w"),
        (GenericDisplay(summary="lamp", detail="so"), "lamp|so"),
        (GenericDisplay(summary=""), "Running: make"),
    ],
)
def test_every_kind_of_display_is_shown(display: Display, words: str) -> None:
    """Where a display says nothing, the line that describes the call stands in for it."""
    shown = text_of(approval_screen(approval(display)))
    for word in words.split("|"):
        assert word in shown


def test_who_asks_and_why() -> None:
    """The agent, the policy, its reason, and how many others wait."""
    request = approval(CommandDisplay(command="make"), agent="helper", reason="no rule: make")
    shown = text_of(approval_screen(request, waiting=2))
    for word in ("helper", "2 more", "fallback-ask", "no rule: make", "May Bash run?"):
        assert word in shown


def test_only_what_was_offered_can_be_chosen() -> None:
    """And rules are named only where an answer would write them."""
    once = text_of(approval_screen(approval(CommandDisplay(command="make"), rules=("Bash(make)",))))
    assert "this session" not in once and "always" not in once and "Bash(make)" not in once
    request = approval(
        CommandDisplay(command="make"), rules=("Bash(make)",), scopes=("once", "session")
    )
    wider = text_of(approval_screen(request))
    assert "this session" in wider and "always" not in wider and "Bash(make)" in wider


def test_nothing_shown_is_interpreted() -> None:
    """Escapes, carriage returns, bidirectional controls and what draws nothing become visible."""
    command = "echo a\x1b[2J\r\x07\x9b\u202e\u200b\u2066\u3164\ufe0f\udc80"
    request = approval(
        CommandDisplay(command=command, cwd="/w\x1b[1A", description="[bold]b[/bold] :smile:"),
        tool="Ba\x1b[2Jsh\n",
        agent="m\rn",
        reason="\x1b]0;title\x07",
        rules=("Bash(\x1b[A)",),
        scopes=("once", "session"),
    )
    shown = text_of(approval_screen(request))
    assert all(c.isprintable() or c == "\n" for c in shown)
    for escape in ("\\x1b[2J", "\\x0d", "\\x07", "\\x9b", "\\u202e", "\\u200b", "\\u3164"):
        assert escape in shown
    assert "[bold]b[/bold] :smile:" in shown


def test_a_long_command_is_shown_from_both_ends() -> None:
    """Whatever is hidden behind a thousand blank lines is at least told, and can be viewed."""
    command = "ls" + "\n" * 1000 + "rm -rf ~"
    screen = approval_screen(approval(CommandDisplay(command=command)))
    shown = text_of(screen, terminal(height=24))
    assert len(shown.splitlines()) < 24
    assert "$ ls" in shown and "rm -rf ~" in shown and "rows left out" in shown
    viewed = [row.plain for page in pages(screen, terminal(height=24)) for row in page]
    assert len(viewed) == 1001 + 2
    assert max(len(page) for page in pages(screen, terminal(height=24))) == 23


def test_what_is_too_long_to_count_is_cut_all_the_same() -> None:
    """The count is a lower bound then; viewing goes through all of it."""
    content = "\n".join(f"line {number}" for number in range(200_000))
    shown = fitted([Block(text=content, language="python")], 80, 20)
    assert isinstance(shown, Cut) and shown.at_least
    assert shown.first[0].plain == "line 0" and shown.last[-1].plain == "line 199999"
    assert len(shown.first) + len(shown.last) + 1 <= 20
    line = fitted([Block(text="x" * 3 * KEPT_CHARS)], 80, 20)
    assert isinstance(line, Cut)


texts = st.text(
    st.characters(codec="utf-8") | st.sampled_from("\x1b\r\t\n 日本\u0301"), max_size=300
)


@given(texts, st.integers(8, 100), st.sampled_from([None, "bash", "diff", "json", "python"]))
@settings(max_examples=150, deadline=None)
def test_rows_hold_all_of_the_text(text: str, width: int, language: str | None) -> None:
    """Put together again they are the visible text; none is too wide, none moves the cursor."""
    shown = list(rows([Block(text=text, language=language, prefix="$ ")], width))
    assert "".join(row.plain[2:] for row in shown) == visible(text).replace("\n", "")
    assert all(row.plain.isprintable() and cell_len(row.plain) <= width for row in shown)


@given(texts, st.integers(20, 120), st.integers(24, 60))
@settings(max_examples=50, deadline=None)
def test_the_panel_fits_the_terminal(text: str, width: int, height: int) -> None:
    """Whatever is in it, and with everything that can be offered."""
    request = approval(
        CommandDisplay(command=text * 3, cwd=text),
        tool=text,
        agent=text,
        reason=text,
        rules=(text,) * 3,
        scopes=("once", "session", "project", "user"),
    )
    shown = text_of(approval_screen(request), terminal(width, height)).split("\n")
    assert all(cell_len(line) <= width for line in shown)


def test_questions_and_plans() -> None:
    """They are shown with what can be chosen."""
    options = (
        QuestionOption(label="left", description="the short way"),
        QuestionOption(label="right"),
    )
    question = Question(question="Which\x1b way?", header="Way", options=options, multi_select=True)
    asked = text_of(question_screen(question))
    for word in ("Way", "Which\\x1b way?", "1", "left", "the short way", "2", "right", "several"):
        assert word in asked
    assert "own words" in text_of(question_screen(Question(question="Why?")))
    plan = PlanReviewRequest(
        id="p", agent="main", turn_id="1", plan="# Do <!-- it -->", path="/w/p.md", options=options
    )
    put = text_of(plan_screen(plan))
    for word in ("# Do <!-- it -->", "/w/p.md", "left", "right", "no"):
        assert word in put
