"""What a server gives back, turned into what a model reads."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol

from attrs import define, evolve, field

from toolcrib import MediaPart, TextPart, ToolResult
from toolcrib_features.mcp.pictures import (
    LONGEST_EDGE,
    MAX_EDGE,
    SUFFIXES,
    Picture,
    picture,
    scaled_down,
)
from toolcrib_features.mcp.plain import line
from toolcrib_features.mcp.structured import is_data, structured_text

MAX_MEDIA_BYTES = 10 << 20
"""Of one picture, sound or video."""
MAX_ALL_MEDIA_BYTES = 30 << 20
"""Of all of one result: a request to a model has its limits too."""
MAX_MEDIA = 20
MAX_FILES = 50
"""What one result may leave on the disk."""

Medium = Literal["image", "audio", "video"]
_DEFAULT_TYPES: dict[Medium, str] = {"image": "image/png", "audio": "audio/mpeg", "video": ""}
_FILE_SUFFIXES = {
    **SUFFIXES,
    "application/json": ".json",
    "application/pdf": ".pdf",
    "application/zip": ".zip",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "image/svg+xml": ".svg",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/plain": ".txt",
    "video/mp4": ".mp4",
}


class Save(Protocol):
    """Keeps bytes in a file of a name of its own; returns the path, raises OSError."""

    def __call__(self, data: bytes, *, suffix: str) -> str: ...


def to_result(
    result: object, *, tool: str, save: Save | None, reader: str | None = None
) -> ToolResult:
    """What a `tools/call` gave back, for the model; no answer of a server makes it raise.

    Args:
        result: an `mcp_types.CallToolResult`, or the same as JSON data.
        tool: the name that the model knows the tool by.
        save: keeps what is no text and no medium for models.
        reader: the tool that reads a resource which the result only links to.
    """
    data = as_data(result)
    content = Content(save=save, reader=reader)
    blocks = data.get("content")
    content.add_all(blocks)
    structured, meta = data.get("structuredContent"), data.get("_meta")
    said = structured_text(structured, meta, content.texts, blocks)
    if said:
        content.text(said)
    made = content.result(tool, is_error=data.get("isError") is True)
    return evolve(made, structured=structured) if is_data(structured) else made


def as_data(result: object) -> Mapping[str, Any]:
    """A model of `mcp_types` as the JSON data that it came from."""
    dump = getattr(result, "model_dump", None)
    data = dump(by_alias=True, exclude_none=True, warnings=False) if callable(dump) else result
    return data if isinstance(data, Mapping) else {}


@define
class Content:
    """Takes the blocks of an answer one by one and makes a result of them.

    Attributes:
        texts: the texts of the server so far, without notices.
    """

    save: Save | None = None
    reader: str | None = None
    texts: list[str] = field(factory=list, init=False)
    _parts: list[TextPart | MediaPart] = field(factory=list, init=False)
    _notes: list[str] = field(factory=list, init=False)
    _media_bytes: int = field(default=0, init=False)
    _media: int = field(default=0, init=False)
    _files: int = field(default=0, init=False)
    _truncated: bool = field(default=False, init=False)

    def add_all(self, blocks: object) -> None:
        if blocks is None:
            return
        for block in blocks if isinstance(blocks, list | tuple) else [blocks]:
            self.add(block)

    def add(self, block: object) -> None:
        """Take a content block, whatever it is."""
        if not isinstance(block, Mapping):
            self.notice("content that is no object was left out", {})
            return
        match block.get("type"):
            case "text" if isinstance(text := block.get("text"), str):
                self.texts.append(text)
                self.text(text)
            case "image" | "audio" as kind:
                self._base64(block.get("data"), block, kind)
            case "resource" if isinstance(resource := block.get("resource"), Mapping):
                self.resource(resource)
            case "resource_link":
                how = f"read it with {self.reader}" if self.reader else "it was not read"
                self.notice(f"a link to a resource, {how}", block)
            case kind:
                named = line(kind, 100) or "no known type"
                self.notice(f"content of {named!r} that cannot be shown was left out", block)

    def resource(self, contents: Mapping[str, Any]) -> None:
        """Take the contents of a resource: text, or bytes."""
        text = contents.get("text")
        if isinstance(text, str):
            self.texts.append(text)
            self.text(text)
        elif "blob" in contents:
            self._base64(contents["blob"], contents, _medium(contents.get("mimeType")))
        else:
            self.notice("a resource without contents", contents)

    def text(self, text: str) -> None:
        """Add a text of its own lines."""
        last = self._parts[-1] if self._parts else None
        if isinstance(last, TextPart):
            gap = "" if last.text.endswith("\n") or not last.text else "\n"
            self._parts[-1] = TextPart(last.text + gap + text)
        else:
            self._parts.append(TextPart(text))

    def notice(self, what: str, block: Mapping[str, Any], size: int | None = None) -> None:
        """A line that stands for a block, with what the server says of it."""
        bytes_ = block.get("size") if size is None else size
        facts = [
            line(block.get("name"), 200),
            line(block.get("uri"), 1_000),
            line(block.get("mimeType"), 100),
            f"{bytes_:,} bytes" if isinstance(bytes_, int) else "",
        ]
        self.text(f"[{': '.join([what, *filter(None, [', '.join(filter(None, facts))])])}]")

    def result(self, tool: str, *, is_error: bool = False) -> ToolResult:
        """All that was taken; media alone are put between tags that name the tool."""
        parts = [part for part in self._parts if not isinstance(part, TextPart) or part.text]
        note = "\n".join(self._notes) or None
        if all(isinstance(part, TextPart) for part in parts):
            text = "".join(part.text for part in parts if isinstance(part, TextPart))
            return ToolResult(text, is_error, truncated=self._truncated, note=note)
        if not any(isinstance(part, TextPart) for part in parts):
            opened = TextPart(f'<mcp_tool_result tool="{tool}">')
            parts = [opened, *parts, TextPart("</mcp_tool_result>")]
        return ToolResult(tuple(parts), is_error, truncated=self._truncated, note=note)

    def _base64(self, text: object, block: Mapping[str, Any], medium: Medium | None) -> None:
        data = _decoded(text)
        if data is None:
            self.notice(f"{medium or 'a resource'} whose base64 is broken was left out", block)
        elif medium == "image":
            self._image(data, block)
        elif medium:
            media_type = line(block.get("mimeType"), 100) or _DEFAULT_TYPES[medium]
            self._medium(MediaPart(medium, media_type, data), block)
        else:
            self._file("a file", data, block)

    def _image(self, data: bytes, block: Mapping[str, Any]) -> None:
        found = picture(data)
        if found is None:
            self._file("an image of a kind that models do not take", data, block)
            return
        if found.longest > LONGEST_EDGE:
            smaller = scaled_down(found)
            if smaller is None and found.longest > MAX_EDGE:
                self._truncated = True
                self._file(f"an image of {found.dimensions}, too large to be shown", data, block)
                return
            self._notes.append(self._about_size(found, smaller))
            found = smaller or found
        self._medium(MediaPart("image", found.media_type, found.data), block)

    def _about_size(self, original: Picture, smaller: Picture | None) -> str:
        if smaller is None:
            return f"An image has {original.dimensions}; models may see it scaled down."
        kept = self._saved(original.data, SUFFIXES[original.media_type])
        return (
            f"An image of {original.dimensions} was scaled down to {smaller.dimensions}; "
            f"the original is {kept}."
        )

    def _medium(self, part: MediaPart, block: Mapping[str, Any]) -> None:
        size = len(part.data)
        fits = self._media < MAX_MEDIA and self._media_bytes + size <= MAX_ALL_MEDIA_BYTES
        if not size:
            self.notice(f"empty {part.kind}", block)
        elif size > MAX_MEDIA_BYTES or not fits:
            self._truncated = True
            self._file(f"{part.kind}, too much to be shown", part.data, block)
        else:
            self._media += 1
            self._media_bytes += size
            self._parts.append(part)

    def _file(self, what: str, data: bytes, block: Mapping[str, Any]) -> None:
        suffix = _FILE_SUFFIXES.get(str(block.get("mimeType")).partition(";")[0].lower(), ".bin")
        self.notice(f"{what}, {self._saved(data, suffix)}", block, len(data))

    def _saved(self, data: bytes, suffix: str) -> str:
        if self.save is None or self._files >= MAX_FILES:
            return "not saved"
        self._files += 1
        try:
            return f"saved as {self.save(data, suffix=suffix)}"
        except OSError as error:
            return f"not saved ({error.strerror or error})"


def has_media(blocks: Iterable[object]) -> bool:
    """Whether anything has to be decoded, which can take a while."""
    return any(isinstance(b, Mapping) and b.get("type") != "text" for b in blocks)


def _decoded(text: object) -> bytes | None:
    if not isinstance(text, str):
        return None
    if text.startswith("data:"):  # some servers give a whole data URL
        text = text.partition(",")[2]
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        return None


def _medium(media_type: object) -> Medium | None:
    kind = str(media_type).partition("/")[0].lower()
    return kind if kind in ("image", "audio", "video") else None  # type: ignore[return-value]
