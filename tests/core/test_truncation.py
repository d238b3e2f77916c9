"""The output budget: what passes, what is saved where, and what the model reads instead."""

from __future__ import annotations

import os
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toolcrib
from toolcrib.contract.output import HEAD_CHARS, MAX_CHARS, MAX_RETAINED_CHARS, TAIL_CHARS
from toolcrib.contract.result import SpilledOutput
from toolcrib.testing import ToolHarness
from toolcrib.truncation import (
    KEPT_FILES,
    KEPT_S,
    MAX_LINE_CHARS,
    OutputFile,
    OutputStore,
    file_stem,
    fit_budget,
    remove_old_outputs,
    render_preview,
)

LINE = "0123456789" * 9 + "abcdefghi\n"


def numbered(chars: int) -> str:
    """Text of different lines, exactly so many characters long."""
    lines = "".join(f"{number:>9}\n" for number in range(chars // 10 + 1))
    return lines[:chars]


@pytest.fixture
def store(tmp_path: Path) -> OutputStore:
    return OutputStore(tmp_path / "state" / "sessions" / "s1" / "tool-results")


def fit(text: Any, store: OutputStore | None, **more: Any) -> toolcrib.ToolResult:
    return fit_budget(
        toolcrib.ToolResult(text, **more), tool_name="Bash", call_id="call_1", store=store
    )


def path_in(result: toolcrib.ToolResult) -> Path:
    found = re.search(r"^output_path: (.*)$", str(result.output), re.MULTILINE)
    assert found, result.output
    return Path(found[1])


def read(path: str | Path) -> str:
    return Path(path).read_bytes().decode()


class TestTheBudget:
    def test_up_to_50000_characters_pass_untouched(self, store: OutputStore) -> None:
        for text in ("", "a", numbered(MAX_CHARS), "x" * MAX_CHARS, "ß" * MAX_CHARS):
            result = toolcrib.ToolResult(text)
            assert fit_budget(result, tool_name="T", call_id="1", store=store) is result
        assert not store.folder.exists()

    def test_one_character_more_is_saved_whole(self, store: OutputStore) -> None:
        text = numbered(MAX_CHARS + 1)
        result = fit(text, store)
        assert result.truncated and result.spilled is None
        assert read(path_in(result)) == text
        assert len(str(result.output)) < HEAD_CHARS + TAIL_CHARS + 1000

    def test_head_and_tail_are_exact(self, store: OutputStore) -> None:
        text = numbered(123_456)
        output = str(fit(text, store).output)
        assert f"\n{text[:HEAD_CHARS]}\n---" in output
        assert output.endswith(f"\n{text[-TAIL_CHARS:]}")
        assert text[: HEAD_CHARS + 1] not in output and text[-TAIL_CHARS - 1 :] not in output

    def test_the_pointer_tells_tool_call_size_and_path(self, store: OutputStore) -> None:
        output = str(fit(numbered(60_000), store).output)
        for line in ("tool_name: Bash", "tool_call_id: call_1", "output_size_chars: 60000"):
            assert f"\n{line}\n" in output
        assert "Read" in output and "Grep" in output
        assert "incomplete" not in output

    def test_of_more_than_ten_million_characters_the_file_is_incomplete(
        self, store: OutputStore
    ) -> None:
        whole = numbered(MAX_RETAINED_CHARS)
        assert "incomplete" not in str(fit(whole, store).output)
        result = fit(whole + "!", store)
        assert read(path_in(result)) == whole
        assert re.search(r"incomplete: .*10000000 of 10000001", str(result.output))
        assert str(result.output).endswith("!")

    def test_everything_else_of_a_result_stays(self, store: OutputStore) -> None:
        result = fit(numbered(60_000), store, is_error=True, note="by the way", stop_turn=True)
        assert (result.is_error, result.note, result.stop_turn) == (True, "by the way", True)

    def test_an_exempt_result_passes(self, store: OutputStore) -> None:
        text = numbered(60_000)
        assert fit(text, store, spill_exempt=True).output == text
        assert not store.folder.exists()

    def test_media_stay_beside_the_text(self, store: OutputStore) -> None:
        picture = toolcrib.MediaPart("image", "image/png", b"\0" * 100_000)
        parts = (toolcrib.TextPart(numbered(40_000)), picture, toolcrib.TextPart("end\n" * 7_500))
        result = fit(parts, store)
        assert isinstance(result.output, tuple)
        pointer, kept = result.output
        assert kept is picture and isinstance(pointer, toolcrib.TextPart)
        assert "output_size_chars: 70000" in pointer.text
        assert fit((toolcrib.TextPart("short"), picture), store).output[1] is picture

    def test_output_that_is_in_a_file_already_is_pointed_to(self, store: OutputStore) -> None:
        spilled = SpilledOutput(
            path="/somewhere", total_chars=70_000, retained_chars=60_000, head="H", tail="T"
        )
        result = fit("exit code 3", store, spilled=spilled, is_error=True)
        output = str(result.output)
        assert output.endswith("\nT\nexit code 3") and "output_path: /somewhere" in output
        assert "60000 of 70000" in output
        assert (result.spilled, result.truncated, result.is_error) == (None, True, True)
        assert not store.folder.exists()


class TestLongLines:
    def test_cutting_the_long_lines_may_be_enough(self, store: OutputStore) -> None:
        text = "first\n" + "x" * 60_000 + "\nlast\n"
        result = fit(text, store)
        first, long, last, *_ = str(result.output).split("\n")
        assert (first, last, len(long)) == ("first", "last", MAX_LINE_CHARS)
        assert long.startswith("x" * 1900) and "60000" in long
        assert result.truncated and read(path_in(result)) == text

    def test_lines_of_2000_characters_stay_whole(self, store: OutputStore) -> None:
        line = "y" * MAX_LINE_CHARS
        text = f"{line}\n{'x' * 60_000}\n{line}x"
        lines = str(fit(text, store).output).split("\n")
        assert lines[0] == line and len(lines[2]) == MAX_LINE_CHARS and lines[2] != line

    def test_where_it_is_not_there_is_a_pointer(self, store: OutputStore) -> None:
        text = ("x" * 3_000 + "\n") * 30
        output = str(fit(text, store).output)
        assert f"\n{text[:HEAD_CHARS]}\n" in output and output.endswith(text[-TAIL_CHARS:])

    def test_without_a_file_no_path_is_claimed(self) -> None:
        output = str(fit("x" * 60_000, None).output)
        assert "output_path" not in output and output.startswith("x" * 1900)


class TestFiles:
    def test_only_their_owner_can_read_them(self, store: OutputStore) -> None:
        before = os.umask(0)
        try:
            path = path_in(fit(numbered(60_000), store))
        finally:
            os.umask(before)
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert path.is_absolute() and path.parent == store.folder

    def test_each_result_has_its_own(self, store: OutputStore) -> None:
        paths = {path_in(fit(numbered(60_000 + n), store)) for n in range(5)}
        assert len(paths) == 5
        assert {len(read(path)) for path in paths} == {60_000 + n for n in range(5)}

    @pytest.mark.parametrize(
        ("tool", "call", "stem"),
        [
            ("Bash", "call_1", "Bash-call_1"),
            ("mcp__a__b", "../../etc/passwd", "mcp__a__b-.._.._etc_passwd"),
            ("", "", "-"),
            ("工具", "\0\n", "-"),
            ("x" * 200, "y", "x" * 80),
        ],
    )
    def test_their_names_are_safe(self, tool: str, call: str, stem: str) -> None:
        assert file_stem(tool, call) == stem

    def test_a_name_leads_to_no_other_folder(self, store: OutputStore) -> None:
        file = store.open("../x", "/etc/passwd")
        file.close()
        assert Path(file.path).parent == store.folder

    @pytest.mark.parametrize(
        ("suffix", "kept"), [(".pdf", ".pdf"), ("/../x", ".bin"), (".a/b", ".bin"), ("", ".bin")]
    )
    def test_bytes_are_kept_beside_them(self, store: OutputStore, suffix: str, kept: str) -> None:
        path = Path(store.save(b"\0\xff", "mcp__a__b", "../call", suffix))
        assert path.parent == store.folder and path.suffix == kept
        assert path.read_bytes() == b"\0\xff"
        assert path.stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize(
        "text", ["\0", "\ud800", "\udfff\ud800", "a\r\nb\rc\n", "🙂", "\u2028"]
    )
    def test_any_character_can_be_saved(self, store: OutputStore, text: str) -> None:
        saved = read(path_in(fit(text * 60_000, store)))
        shown = text.encode("utf-8", "backslashreplace").decode()
        assert saved == shown * 60_000

    def test_where_nothing_can_be_written_no_path_is_claimed(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        store = OutputStore(tmp_path / "file" / "below")
        text = numbered(60_000)
        sink = store.sink("Bash", "call_1")
        sink.write(text)
        by_sink = fit_budget(sink.result(), tool_name="Bash", call_id="call_1", store=store)
        for result in (fit(text, store), by_sink):
            output = str(result.output)
            assert "output_path" not in output and str(tmp_path) not in output
            assert text[:HEAD_CHARS] in output and output.endswith(text[-TAIL_CHARS:])
            assert result.truncated and not result.is_error
        assert fit(text, store).output == by_sink.output == fit(text, store).output

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is full")
    @pytest.mark.parametrize("buffer", [1, 1 << 20])
    def test_a_full_disk_is_told_and_nothing_left_on_it(self, tmp_path: Path, buffer: int) -> None:
        """It shows while writing, or with a large buffer not before the file is closed."""
        part = tmp_path / "part.txt"

        def open_file() -> OutputFile:
            part.write_text("what fitted")
            return OutputFile(str(part), open("/dev/full", "w", buffering=buffer))

        sink = toolcrib.OutputSink(open_file)
        for _ in range(3):
            sink.write(numbered(20_000))
        result = sink.result("exit code 0")
        assert result.spilled is not None
        assert (result.spilled.path, result.spilled.retained_chars) == (None, 0)
        assert result.spilled.problem and result.spilled.total_chars == 60_000
        assert not part.exists()


class TestQuota:
    def sized(self, store: OutputStore, files: int) -> list[Path]:
        """Saves files of 60,000 bytes each."""
        return [path_in(fit(numbered(60_000), store)) for _ in range(files)]

    def test_the_oldest_go_when_the_files_outgrow_it(self, store: OutputStore) -> None:
        store.quota_bytes = 25 * 60_000
        paths = self.sized(store, 30)
        left = [path.exists() for path in paths]
        assert left == sorted(left)
        assert 25 <= sum(left) <= 26

    def test_the_newest_twenty_stay_whatever_their_size(self, store: OutputStore) -> None:
        store.quota_bytes = 0
        paths = self.sized(store, 30)
        assert all(path.exists() for path in paths[-KEPT_FILES:])
        assert not any(path.exists() for path in paths[: -KEPT_FILES - 1])

    def test_a_file_that_somebody_removed_takes_no_room(self, store: OutputStore) -> None:
        store.quota_bytes = 25 * 60_000
        for path in (paths := self.sized(store, 24))[:20]:
            path.unlink()
        more = self.sized(store, 20)
        assert all(path.exists() for path in (*paths[20:], *more))

    async def test_it_comes_from_the_configuration(self, workspace: Path) -> None:
        config = {"output": {"quota_bytes": 5}}
        async with ToolHarness(workspace, config=config) as crib:
            assert crib.session.outputs.quota_bytes == 5


class TestOldOutputs:
    def test_what_is_older_than_a_month_goes(self, tmp_path: Path) -> None:
        for name, age_s in (("old", KEPT_S + 60), ("young", KEPT_S - 600)):
            store = OutputStore(tmp_path / name / "tool-results")
            fit(numbered(60_000), store)
            then = store.folder.stat().st_mtime - age_s
            os.utime(store.folder, (then, then))
        remove_old_outputs(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["young"]
        assert list((tmp_path / "young" / "tool-results").iterdir())

    def test_what_else_a_session_keeps_stays(self, tmp_path: Path) -> None:
        outputs = tmp_path / "s" / "tool-results"
        outputs.mkdir(parents=True)
        (tmp_path / "s" / "tasks.db").write_text("")
        os.utime(outputs, (0, 0))
        remove_old_outputs(tmp_path)
        assert [path.name for path in (tmp_path / "s").iterdir()] == ["tasks.db"]

    def test_links_are_not_followed(self, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "precious").write_text("")
        os.utime(elsewhere, (0, 0))
        session = tmp_path / "sessions" / "s"
        session.mkdir(parents=True)
        (session / "tool-results").symlink_to(elsewhere)
        remove_old_outputs(tmp_path / "sessions")
        assert (elsewhere / "precious").exists()

    def test_without_a_folder_there_is_nothing_to_do(self, tmp_path: Path) -> None:
        remove_old_outputs(tmp_path / "missing")


PIECES = st.lists(  # together on both sides of the budget
    st.tuples(
        st.sampled_from(["", "a", "\n", LINE, "ß🙂\0", LINE * 10, "\r\n"]), st.integers(1, 60)
    ),
    max_size=40,
)


class TestSink:
    @settings(
        max_examples=60,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(PIECES, st.sampled_from(["", "exit code 3"]))
    def test_text_in_pieces_ends_as_the_whole_text(
        self, store: OutputStore, pieces: list[tuple[str, int]], ending: str
    ) -> None:
        sink = store.sink("T", "1")
        for piece, times in pieces:
            for _ in range(times):
                sink.write(piece)
        text = "".join(piece * times for piece, times in pieces)
        assert sink.total_chars == len(text)
        assert sink.ends_with_newline() == (not text or text.endswith("\n"))
        assert sink.spilled == (len(text) > MAX_CHARS)
        result = fit_budget(sink.result(ending), tool_name="T", call_id="1", store=store)
        if len(text) <= MAX_CHARS:
            gap = "\n" if text and ending and not text.endswith("\n") else ""
            whole = toolcrib.ToolResult(text + gap + ending)
            if len(str(whole.output)) <= MAX_CHARS:
                assert result == whole
            return
        path = path_in(result)
        assert read(path) == text
        pointer = render_preview("T", "1", text, str(path))
        assert result.output == (f"{pointer}\n{ending}" if ending else pointer)
        if max(map(len, text.split("\n"))) <= MAX_LINE_CHARS:
            at_once = fit(text, store)
            assert at_once.output == render_preview("Bash", "call_1", text, str(path_in(at_once)))

    @pytest.mark.parametrize("chunk", [1 << 10, 1 << 20, (1 << 20) + 7])
    def test_memory_stays_small(self, store: OutputStore, chunk: int) -> None:
        """100 MB go through; what is held is some chunks, and at most ten million are saved."""
        text = "x" * (chunk - 1) + "\n"
        times = 100_000_000 // chunk
        sink = store.sink("T", "1")
        tracemalloc.start()
        try:
            for _ in range(times):
                sink.write(text)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        result = sink.result()
        assert result.spilled is not None and result.spilled.path is not None
        assert peak < 8 * chunk + 1_000_000
        assert result.spilled.total_chars == times * chunk
        assert result.spilled.retained_chars == MAX_RETAINED_CHARS
        assert os.path.getsize(result.spilled.path) == MAX_RETAINED_CHARS
        assert result.spilled.tail == (text * 2)[-TAIL_CHARS:]

    def test_without_a_place_only_head_and_tail_are_kept(self) -> None:
        sink = toolcrib.OutputSink()
        sink.write(numbered(60_000))
        result = sink.result()
        assert result.spilled is not None
        assert (result.spilled.path, result.truncated) == (None, True)
        assert result.spilled.problem

    def test_a_body_may_end_without_a_result(self, store: OutputStore) -> None:
        sink = store.sink("T", "1")
        sink.write(numbered(60_000))
        sink.close()
        sink.close()
        (path,) = store.folder.iterdir()
        assert read(path) == numbered(60_000)


class TestInTheSession:
    async def test_a_long_result_is_read_page_by_page(
        self, workspace: Path, tmp_path: Path
    ) -> None:
        text = numbered(200_000)

        @toolcrib.tool(accesses=toolcrib.Accesses.none())
        def Long() -> str:
            """Say much."""
            return text

        class Offers:
            @toolcrib.hookimpl
            def contribute_tool(self) -> toolcrib.ToolContribution:
                return toolcrib.ToolContribution(name="Long", factory=Long)

        async with ToolHarness(workspace, plugins=[Offers()]) as crib:
            done = await crib.call("Long")
            path = path_in(done.result)
            assert path.is_relative_to(tmp_path / "state")
            assert not list(workspace.iterdir())
            page = await crib.call("Read", path=str(path), line_offset=10_000, n_lines=2)
            assert "9999" in str(page.result.output) and not page.result.is_error
