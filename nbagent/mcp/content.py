"""Content: what servers send (texts, pictures, links, files), as text and images."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

from nbagent.tools.pictures import encoded
from nbagent.tools.response import ToolResponse
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_types import BlobResourceContents, CallToolResult, ContentBlock, ResourceLink

    from nbagent.messages import Image


class Content(Struct, frozen=True):
    """A text, and the images that it mentions."""

    text: str
    images: tuple[Image, ...] = ()


def content(blocks: Iterable[ContentBlock]) -> Content:
    """The blocks in order. A picture that is neither PNG nor JPEG is only mentioned, as is any other file."""
    parts = [_part(block) for block in blocks]
    return Content("\n".join(part.text for part in parts), tuple(image for part in parts for image in part.images))


def response(result: CallToolResult) -> ToolResponse:
    """The result of a tool call. Structured content is the data; where there is no other, it is the text as well."""
    came = content(result.content)
    structured: Any = result.structured_content
    data: Any = structured
    if came.images:
        data = [*came.images] if structured is None else [structured, *came.images]
    if result.is_error:
        return ToolResponse.error(came.text or "the tool failed and did not say why", data)
    if result.content or structured is None:
        return ToolResponse.ok(came.text or "(nothing came back)", data)
    return ToolResponse.ok(json.dumps(structured, ensure_ascii=False), data)


def _part(block: ContentBlock) -> Content:
    match block.type:
        case "text":
            return Content(block.text)
        case "image" | "audio":
            return _file(block.type, block.mime_type, block.data)
        case "resource_link":
            return Content(_link(block))
        case "resource":
            if hasattr(block.resource, "text"):
                return Content(f"{block.resource.uri}:\n{getattr(block.resource, 'text', '')}")
            return _blob(block.resource)  # pyright: ignore[reportArgumentType]  # the other of the two


def _blob(blob: BlobResourceContents) -> Content:
    return _file(blob.uri, blob.mime_type or "application/octet-stream", blob.blob)


def _file(what: str, mime_type: str, data: str) -> Content:
    try:
        raw = base64.b64decode(data, validate=True)
    except binascii.Error:
        return Content(f"{what}: {mime_type}, which cannot be read")
    # By its first bytes, and not by what the server calls it: a page that is called a picture must not be shown.
    image = encoded(raw)
    return Content(f"{what}: {mime_type}, {len(raw):,} bytes", () if image is None else (image,))


def _link(link: ResourceLink) -> str:
    kind = f" ({link.mime_type})" if link.mime_type else ""
    about = f": {link.description}" if link.description else ""
    return f"link to {link.title or link.name}{kind} {link.uri}{about}"
