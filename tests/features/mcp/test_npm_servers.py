"""Whole sessions with the reference servers of npm: filesystem, memory and everything."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import toolcrib

OWNER = "@modelcontextprotocol"
PACKAGES = {f"{OWNER}/server-{name}": "^2026.8" for name in ("filesystem", "memory", "everything")}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture of one pixel."""

Entry = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def entry(npm_install: Callable[[Mapping[str, str]], Path]) -> Entry:
    """The entry of a server by the end of its package's name."""
    modules = npm_install(PACKAGES) / "node_modules"

    def entry(name: str, *arguments: str, **more: Any) -> dict[str, Any]:
        package = modules / OWNER / f"server-{name}"
        (program,) = json.loads((package / "package.json").read_text())["bin"].values()
        return {"command": "node", "args": [str(package / program), *arguments], **more}

    return entry


@pytest.fixture
def opened(place: Any) -> Callable[..., toolcrib.Session]:
    """A session with one server, named `s`; the options are those of `open_session`."""

    def opened(entry: dict[str, Any], **options: Any) -> toolcrib.Session:
        session: toolcrib.Session = place.session(options=options, mcp={"servers": {"s": entry}})
        return session

    return opened


@pytest.fixture
def said(call: Any) -> Callable[..., Any]:
    """Calls a tool of the server, which must go well, and gives what it said."""

    async def said(session: toolcrib.Session, tool: str, /, **arguments: Any) -> Any:
        done = await call(session, f"mcp__s__{tool}", **arguments)
        assert not done.result.is_error, done.result.output
        return done.result.output

    return said


async def tools(session: toolcrib.Session) -> set[str]:
    """The names of the server's tools, without the prefix."""
    await session.settle_tools()
    names = [tool.name for tool in session.tools() if tool.source == "mcp"]
    return {name.removeprefix("mcp__s__") for name in names}


def kinds(output: Any) -> list[str]:
    return [getattr(part, "kind", "text") for part in output]


class TestFilesystem:
    @pytest.mark.parametrize("told_by", ["roots", "argument"])
    async def test_it_works_in_the_workspace_alone(
        self, place: Any, entry: Entry, opened: Any, said: Any, call: Any, told_by: str
    ) -> None:
        """Without an argument it has to ask for the folders of the workspace."""
        root = place.folder / "ws"
        (place.folder / "secret").write_text("hidden words")
        file = str(root / "notes.txt")
        folders = [str(root)] if told_by == "argument" else []
        async with opened(entry("filesystem", *folders)) as session:
            assert {"read_text_file", "write_file", "edit_file"} <= await tools(session)
            async with asyncio.timeout(20):  # it takes calls before it has made use of the answer
                while str(root) not in await said(session, "list_allowed_directories"):
                    await asyncio.sleep(0.02)
            await said(session, "write_file", path=file, content="one\ntwo\n")
            assert (root / "notes.txt").read_text() == "one\ntwo\n"
            assert "notes.txt" in await said(session, "list_directory", path=str(root))
            edits = [{"oldText": "two", "newText": "zwei"}]
            assert "+zwei" in await said(session, "edit_file", path=file, edits=edits)
            assert (root / "notes.txt").read_text() == "one\nzwei\n"
            for outside in (str(place.folder / "secret"), f"{root}/../secret"):
                done = await call(session, "mcp__s__read_text_file", path=outside)
                assert done.result.is_error and "hidden words" not in done.result.output
            new = str(place.folder / "new")
            done = await call(session, "mcp__s__write_file", path=new, content="x")
            assert done.result.is_error and not (place.folder / "new").exists()

    async def test_without_roots_it_works_in_the_folder_of_its_arguments(
        self, place: Any, entry: Entry, opened: Any, said: Any
    ) -> None:
        other = place.folder / "other"
        other.mkdir()
        async with opened(entry("filesystem", str(other), roots=False)) as session:
            allowed = await said(session, "list_allowed_directories")
            assert str(other) in allowed and str(place.folder / "ws") not in allowed

    async def test_what_it_reads_is_given_once(
        self, place: Any, entry: Entry, opened: Any, said: Any
    ) -> None:
        """It answers with everything twice: as content, and as structured content."""
        root = place.folder / "ws"
        (root / "a.txt").write_text("one\ntwo\n")
        (root / "a.png").write_bytes(PNG)
        async with opened(entry("filesystem", str(root))) as session:
            text = await said(session, "read_text_file", path=str(root / "a.txt"))
            assert text == "one\ntwo\n"
            shown = await said(session, "read_media_file", path=str(root / "a.png"))
            assert kinds(shown) == ["text", "image", "text"]
            assert shown[1].data == PNG
            assert "structured" not in shown[0].text + shown[2].text


async def test_memory_keeps_a_graph_in_the_file_that_its_environment_names(
    place: Any, entry: Entry, opened: Any, said: Any
) -> None:
    file = place.folder / "graph.jsonl"
    server = entry("memory", env={"MEMORY_FILE_PATH": str(file)})
    ada = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
    engine = {"name": "Engine", "entityType": "machine", "observations": ["of brass"]}
    relation = {"from": "Ada", "to": "Engine", "relationType": "programs"}
    async with opened(server) as session:
        assert {"create_entities", "read_graph", "search_nodes"} <= await tools(session)
        await said(session, "create_entities", entities=[ada, engine])
        await said(session, "create_relations", relations=[relation])
    assert "writes programs" in file.read_text()
    async with opened(server) as session:
        graph = json.loads(await said(session, "read_graph"))
        assert graph == {"entities": [ada, engine], "relations": [relation]}
        found = json.loads(await said(session, "search_nodes", query="brass"))
        assert [each["name"] for each in found["entities"]] == ["Engine"]


class TestEverything:
    async def test_answers_of_all_kinds(
        self, place: Any, entry: Entry, opened: Any, said: Any, call: Any
    ) -> None:
        async with opened(entry("everything")) as session:
            assert {"echo", "get-sum", "get-tiny-image"} <= await tools(session)
            assert await said(session, "echo", message="grüezi") == "Echo: grüezi"
            assert "5" in await said(session, "get-sum", a=2, b=3)
            wrong = await call(session, "mcp__s__get-sum", a=2, b="three")
            assert wrong.result.is_error
            image = await said(session, "get-tiny-image")
            assert kinds(image) == ["text", "image", "text"]
            assert image[1].data.startswith(b"\x89PNG")
            annotated = await said(
                session, "get-annotated-message", messageType="error", includeImage=True
            )
            assert kinds(annotated) == ["text", "image"]
            weather = await said(session, "get-structured-content", location="Chicago")
            assert {"temperature", "conditions"} <= json.loads(weather).keys()
            roots = await said(session, "get-roots-list")
            assert (place.folder / "ws").as_uri() in roots

    async def test_resources_and_links_to_them(
        self, entry: Entry, opened: Any, said: Any, call: Any
    ) -> None:
        async with opened(entry("everything")) as session:
            await session.settle_tools()
            listed = await said(session, "list_resources")
            document = re.findall(r"^demo://\S+\.md", listed, re.M)[0]
            assert await said(session, "read_resource", uri=document)
            assert "demo://resource/dynamic/text/{" in listed
            links = await said(session, "get-resource-links", count=2)
            assert links.count("read it with mcp__s__read_resource") == 2
            uris = re.findall(r"demo://resource/dynamic/(?:text|blob)/\d", links)
            answers = [await said(session, "read_resource", uri=uri) for uri in uris]
            (saved,) = [
                found for text in answers if (found := re.search(r"saved as ([^:]+):", text))
            ]
            assert b"base64 blob" in Path(saved[1]).read_bytes()
            inside = await said(
                session, "get-resource-reference", resourceType="Text", resourceId=1
            )
            assert "plaintext resource" in inside
            missing = await call(session, "mcp__s__read_resource", uri="demo://nowhere")
            assert missing.result.is_error and "demo://nowhere" in missing.result.output

    async def test_prompts(self, entry: Entry, opened: Any, said: Any, call: Any) -> None:
        async with opened(entry("everything")) as session:
            await session.settle_tools()
            listed = await said(session, "list_prompts")
            assert "simple-prompt" in listed and "city: Name of the city (required)" in listed
            assert await said(session, "get_prompt", name="simple-prompt")
            arguments = {"city": "Bern", "state": "BE"}
            asked = await said(session, "get_prompt", name="args-prompt", arguments=arguments)
            assert "Bern" in asked and "BE" in asked
            without = await call(session, "mcp__s__get_prompt", name="args-prompt")
            assert without.result.is_error and "city" in without.result.output

    async def test_progress_of_a_long_operation(self, entry: Entry, opened: Any, said: Any) -> None:
        events: list[Any] = []
        async with opened(entry("everything")) as session:
            (name,) = [name for name in await tools(session) if "long-running" in name]
            session.subscribe(events.append)
            await said(session, name, duration=1, steps=4)
        updates = [event.update for event in events if isinstance(event, toolcrib.ToolProgress)]
        shares = [u.percent for u in updates if u.percent is not None]
        assert len(shares) > 1 and shares[-1] == 100
        assert shares == sorted(set(shares)) and set(shares) <= {25, 50, 75, 100}

    async def test_a_form_is_filled_in_by_the_user(
        self, entry: Entry, opened: Any, said: Any
    ) -> None:
        """What is not required can be left out; the server's own values stand in for it."""
        asked: list[str] = []

        async def fill_in(request: Any) -> Any:
            assert isinstance(request, toolcrib.QuestionRequest)
            asked.extend(each.question for each in request.questions)
            answers = {each.question: "-" for each in request.questions}
            answers[request.questions[0].question] = "Ada Lovelace"
            return toolcrib.QuestionAnswer(answers=answers)

        async with opened(entry("everything"), interact=fill_in) as session:
            (name,) = [name for name in await tools(session) if "elicitation-request" in name]
            answer = await said(session, name)
        assert len(asked) > 5 and "'s' asks" in asked[0]
        assert "accept" in answer and "Ada Lovelace" in answer

    async def test_a_form_is_put_away(self, entry: Entry, opened: Any, said: Any) -> None:
        async def put_away(request: Any) -> Any:
            return toolcrib.QuestionAnswer(answers=None)

        async with opened(entry("everything"), interact=put_away) as session:
            (name,) = [name for name in await tools(session) if "elicitation-request" in name]
            answer = await said(session, name)
        assert '"cancel"' in answer and "accept" not in answer

    async def test_nothing_is_offered_that_cannot_work(
        self, entry: Entry, opened: Any, call: Any
    ) -> None:
        """Nobody can be asked, and neither a model to sample nor tasks are there."""
        async with opened(entry("everything")) as session:
            offered = await tools(session)
            assert not [name for name in offered if "sampling" in name or "elicitation" in name]
            assert not [name for name in offered if "research" in name]
            for name in ("trigger-sampling-request", "trigger-elicitation-request"):
                done = await call(session, f"mcp__s__{name}", prompt="hello")
                assert done.result.is_error
