"""What a user approved for a session holds there, is listed, and can be taken back."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from toolcrib.approvals.store import SessionApprovals
from toolcrib.approvals.table import ApprovalTable, living_approvals, revoke_approvals
from toolcrib.errors import StateError

if TYPE_CHECKING:
    from core.approvals.conftest import Home

RULE, OTHER = "Bash(make test)", "Write(/ws/a \\(1\\).txt)"


_REVOKE = """
import sys
from pathlib import Path
from toolcrib.approvals.table import living_approvals, revoke_approvals
file = Path(sys.argv[1])
revoke_approvals(file, [each.id for each in living_approvals(file) if each.rule == sys.argv[2]])
"""


def patterns(approvals: SessionApprovals) -> list[str]:
    return [rule.pattern for rule in approvals.rules()]


@pytest.fixture
def said() -> list[str]:
    """What the session reported."""
    return []


@pytest.fixture
def approvals(home: Home, said: list[str]) -> Iterator[SessionApprovals]:
    session = SessionApprovals(home.database, "s1", str(home.workspace), report=said.append)
    yield session
    session.close()


def test_a_session_that_remembers_nothing_makes_no_file(
    approvals: SessionApprovals, home: Home
) -> None:
    assert approvals.rules() == ()
    approvals.close()
    assert not home.database.parent.exists()


def test_a_session_that_remembers_nothing_does_without_a_database() -> None:
    code = """
        import sys
        from pathlib import Path
        from toolcrib.approvals.store import SessionApprovals
        approvals = SessionApprovals(Path("/nowhere"), "s", "/ws")
        approvals.rules(), approvals.revoke(), approvals.close()
        sys.exit("sqlite3" in sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)


def test_rules_are_held_as_they_were_given(approvals: SessionApprovals) -> None:
    approvals.remember([RULE, OTHER, RULE], tool="Bash", agent="main")
    assert patterns(approvals) == [RULE, OTHER]
    assert {rule.decision for rule in approvals.rules()} == {"allow"}


def test_the_source_of_a_rule_is_the_id_by_which_it_is_revoked(
    approvals: SessionApprovals, home: Home
) -> None:
    approvals.remember([RULE], tool="Bash", agent="sub-1")
    (rule,) = approvals.rules()
    (listed,) = living_approvals(home.database)
    assert rule.source == f"session approval {listed.id}"
    assert (listed.rule, listed.tool, listed.agent) == (RULE, "Bash", "sub-1")
    assert (listed.session, listed.workspace) == ("s1", str(home.workspace))


def test_the_files_are_for_the_user_alone(approvals: SessionApprovals, home: Home) -> None:
    approvals.remember([RULE], tool="Bash", agent="main")
    files = list(home.database.parent.iterdir())
    assert len(files) == 3  # the database, its log, and what its users share
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert home.database.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_that_others_could_read_is_closed_to_them(home: Home) -> None:
    home.database.parent.mkdir()
    home.database.touch(mode=0o644)
    ApprovalTable(home.database).close()
    assert home.database.stat().st_mode & 0o777 == 0o600


def test_nothing_of_a_closed_session_is_left(approvals: SessionApprovals, home: Home) -> None:
    approvals.remember([RULE], tool="Bash", agent="main")
    approvals.close()
    assert approvals.rules() == ()
    assert living_approvals(home.database) == []
    approvals.close()


def test_sessions_do_not_share_approvals(approvals: SessionApprovals, home: Home) -> None:
    other = SessionApprovals(home.database, "s2", str(home.workspace))
    other.remember([RULE], tool="Bash", agent="main")
    approvals.remember([OTHER], tool="Write", agent="main")
    assert patterns(approvals) == [OTHER]
    other.close()
    assert [listed.rule for listed in living_approvals(home.database)] == [OTHER]


def test_a_revocation_by_another_process_holds_from_the_next_call(
    approvals: SessionApprovals, home: Home
) -> None:
    approvals.remember([RULE, OTHER], tool="Bash", agent="main")
    command = [sys.executable, "-c", _REVOKE, str(home.database), RULE]
    subprocess.run(command, check=True, timeout=60)
    assert patterns(approvals) == [OTHER]


def test_sessions_of_one_process_all_notice_every_revocation(
    approvals: SessionApprovals, home: Home
) -> None:
    """However many sessions come and go beside them: SQLite's locks are those of the process."""
    approvals.remember([RULE, OTHER], tool="Bash", agent="main")
    second = SessionApprovals(home.database, "s2", str(home.workspace))
    second.remember([RULE], tool="Bash", agent="main")
    third = SessionApprovals(home.database, "s3", str(home.workspace))
    third.remember([RULE], tool="Bash", agent="main")
    third.close()
    for rule, left in ((RULE, [OTHER]), (OTHER, [])):
        command = [sys.executable, "-c", _REVOKE, str(home.database), rule]
        subprocess.run(command, check=True, timeout=60)
        assert patterns(approvals) == left
        assert patterns(second) == []
    second.close()


def test_what_was_revoked_can_be_approved_again(approvals: SessionApprovals, home: Home) -> None:
    approvals.remember([RULE], tool="Bash", agent="main")
    revoke_approvals(home.database, [each.id for each in living_approvals(home.database)])
    approvals.remember([OTHER], tool="Write", agent="main")
    assert patterns(approvals) == [OTHER]
    approvals.remember([RULE], tool="Bash", agent="main")
    assert patterns(approvals) == [OTHER, RULE]


def test_the_session_itself_can_revoke(approvals: SessionApprovals, home: Home) -> None:
    approvals.remember([RULE, OTHER], tool="Bash", agent="main")
    assert approvals.revoke("Bash(x)") == ()
    assert approvals.revoke(RULE) == (RULE,)
    assert patterns(approvals) == [OTHER]
    assert [listed.rule for listed in living_approvals(home.database)] == [OTHER]
    assert approvals.revoke() == (OTHER,)
    assert living_approvals(home.database) == []


def test_a_row_that_somebody_added_allows_nothing(approvals: SessionApprovals, home: Home) -> None:
    """A tool that can write the user's files must not be able to approve its own calls."""
    approvals.remember([RULE], tool="Bash", agent="main")
    with closing(sqlite3.connect(home.database)) as connection, connection:
        connection.execute(
            "INSERT INTO approvals (session, workspace, tool, agent, rule, since, host, pid,"
            " started) SELECT session, workspace, tool, agent, 'Bash', since, host, pid, started"
            " FROM approvals"
        )
        connection.execute("UPDATE approvals SET rule = 'Bash(*)' WHERE rule = ?", (RULE,))
    assert patterns(approvals) == [RULE]


def test_whoever_deletes_the_file_revokes_everything(
    approvals: SessionApprovals, home: Home
) -> None:
    approvals.remember([RULE], tool="Bash", agent="main")
    for file in home.database.parent.iterdir():
        file.unlink()
    assert approvals.rules() == ()
    approvals.remember([OTHER], tool="Write", agent="main")
    assert patterns(approvals) == [OTHER]
    assert [listed.rule for listed in living_approvals(home.database)] == [OTHER]


def test_approvals_of_processes_that_are_gone_are_not_listed(home: Home) -> None:
    code = """
        import os, signal, sys
        from pathlib import Path
        from toolcrib.approvals.store import SessionApprovals
        approvals = SessionApprovals(Path(sys.argv[1]), "s9", "/ws")
        approvals.remember(["Bash(x)"], tool="Bash", agent="main")
        print("ready", flush=True)
        sys.stdin.read()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(home.database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    assert [listed.session for listed in living_approvals(home.database)] == ["s9"]
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert living_approvals(home.database) == []
    with closing(sqlite3.connect(home.database)) as connection, connection:
        assert connection.execute("SELECT count(*) FROM approvals").fetchone() == (0,)


def test_a_number_that_another_process_got_is_not_the_process(home: Home) -> None:
    approvals = SessionApprovals(home.database, "s1", "/ws")
    approvals.remember([RULE], tool="Bash", agent="main")
    with closing(sqlite3.connect(home.database)) as connection, connection:
        connection.execute("UPDATE approvals SET started = 'long ago'")
    assert living_approvals(home.database) == []
    assert approvals.rules() == ()
    approvals.close()


def test_processes_of_another_machine_are_given_the_benefit_of_the_doubt(home: Home) -> None:
    approvals = SessionApprovals(home.database, "s1", "/ws")
    approvals.remember([RULE, OTHER], tool="Bash", agent="main")
    with closing(sqlite3.connect(home.database)) as connection, connection:
        connection.execute("UPDATE approvals SET host = 'elsewhere'")
        connection.execute("UPDATE approvals SET since = 0 WHERE rule = ?", (OTHER,))
    assert [listed.rule for listed in living_approvals(home.database)] == [RULE]
    approvals.close()


def test_many_processes_write_at_the_same_time(home: Home) -> None:
    code = """
        import sys
        from pathlib import Path
        from toolcrib.approvals.store import SessionApprovals
        approvals = SessionApprovals(Path(sys.argv[1]), sys.argv[2], "/ws", report=sys.exit)
        for number in range(20):
            approvals.remember([f"Bash({number})"], tool="Bash", agent="main")
        assert len(approvals.rules()) == 20
        sys.stdin.read()
    """
    running = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(home.database), f"s{number}"],
            stdin=subprocess.PIPE,
        )
        for number in range(4)
    ]
    for process in running:
        process.communicate(timeout=60)
    assert [process.returncode for process in running] == [0] * 4


@pytest.mark.parametrize("trouble", ["rubbish", "a folder", "no folder", "no disk"])
def test_without_the_file_an_approval_holds_in_memory(
    trouble: str, home: Home, tmp_path: Path
) -> None:
    file, said = home.database, list[str]()
    file.parent.mkdir()
    if trouble == "rubbish":
        file.write_bytes(b"\x00\xff no database " * 1000)
    elif trouble == "a folder":
        file.mkdir()
    elif trouble == "no folder":
        (tmp_path / "plain").write_text("")
        file = tmp_path / "plain" / "approvals.db"
    else:
        file = Path("/proc/sys/approvals.db")
    approvals = SessionApprovals(file, "s1", "/ws", report=said.append)
    approvals.remember([RULE], tool="Bash", agent="main")
    approvals.remember([OTHER], tool="Write", agent="main")
    assert patterns(approvals) == [RULE, OTHER]
    assert len(said) == 1 and str(file) in said[0]
    assert approvals.revoke(RULE) == (RULE,)
    assert patterns(approvals) == [OTHER]
    approvals.close()
    assert approvals.rules() == ()


def test_a_file_that_breaks_later_neither_allows_nor_forgets(
    approvals: SessionApprovals, home: Home, said: list[str]
) -> None:
    approvals.remember([RULE], tool="Bash", agent="main")
    for file in home.database.parent.iterdir():
        with open(file, "r+b") as out:
            out.write(os.urandom(file.stat().st_size))
    assert patterns(approvals) in ([RULE], [])
    approvals.remember([OTHER], tool="Write", agent="main")
    assert OTHER in patterns(approvals)
    assert len(said) <= 1


def test_a_locked_file_holds_nobody_up(
    approvals: SessionApprovals, home: Home, said: list[str]
) -> None:
    """And what could not be written is, once the lock is gone."""
    ApprovalTable(home.database).close()
    locker = sqlite3.connect(home.database, isolation_level=None)
    locker.execute("BEGIN EXCLUSIVE")
    approvals.remember([RULE], tool="Bash", agent="main")
    assert patterns(approvals) == [RULE]
    assert len(said) == 1
    locker.execute("ROLLBACK")
    locker.close()
    approvals.remember([OTHER], tool="Write", agent="main")
    assert [listed.rule for listed in living_approvals(home.database)] == [RULE, OTHER]


def test_a_table_of_another_version_is_left_alone(home: Home) -> None:
    home.database.parent.mkdir()
    with closing(sqlite3.connect(home.database)) as connection, connection:
        connection.execute("CREATE TABLE approvals (other TEXT)")
    with pytest.raises(StateError):
        living_approvals(home.database)
