"""Resources: what a server has to read, as context for prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.mcp.listing import every
from nbagent.prompt.context.block import ContextBlock
from nbagent.prompt.context.provider import TOP_K
from nbagent.values import Struct

if TYPE_CHECKING:
    from mcp import Client

    from nbagent.mcp.session import Session
    from nbagent.prompt.context.block import ContextQuery

_BINARY = ("audio/", "font/", "image/", "video/", "application/octet-stream", "application/pdf", "application/zip")


class _Place(Struct, frozen=True):
    """Something to read."""

    uri: str
    title: str | None
    is_search: bool = False
    """Made of a template: that nothing is there is an answer too."""


class MCPResources:
    """A context provider: the text resources of a server. Made by `MCPServer.resources`.

    - With URIs, these are read, in their order; one with `{query}` in it is filled with the text of the query.
    - Without, first the server's templates that need nothing but `query`, then all that it lists, in its order.

    What is no text is left out. `context_label` is the server's name where nothing else is said.
    """

    supports_passive = True
    supports_active = True

    def __init__(
        self, session: Session, uris: tuple[str, ...], *, passive: bool, active: bool, context_label: str | None
    ) -> None:
        self._session = session
        self.uris = uris
        self.passive = passive
        self.active = active
        self.context_label = session.label if context_label is None else context_label
        self.skipped: dict[str, str] = {}
        """What could not be read by the newest query, with the reason."""

    def get_blocks(self, query: ContextQuery, *, top_k: int = TOP_K) -> list[ContextBlock]:
        """At most `top_k` blocks; nothing is read that would be too many.

        A resource that cannot be read is in `skipped`, with the reason. Raises ConfigError where the server cannot
        start, and MCPCallFailed where it does not answer, or where none of the given URIs can be read.
        """
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        skipped: dict[str, str] = {}
        failed: list[MCPError] = []

        async def request(client: Client) -> list[ContextBlock]:
            blocks: list[ContextBlock] = []
            for place in await self._places(client, query.query_text):
                if len(blocks) >= top_k:
                    break
                try:
                    blocks += await _read(client, place)
                except MCPError as error:
                    if error.code == CONNECTION_CLOSED:
                        raise
                    skipped[place.uri] = f"failed: {error}"
                    failed.append(error)
            self.skipped = skipped
            if self.uris and not blocks and failed:
                raise failed[0]
            return blocks[: max(top_k, 0)]

        return self._session.ask(" and ".join(self.uris) or "its resources", request)

    def available(self) -> list[str]:
        """The URIs that are read, and the templates that are filled, in order."""
        if self.uris:
            return list(self.uris)

        async def request(client: Client) -> list[str]:
            return [*(template for template, _ in await _templates(client)), *(p.uri for p in await _listed(client))]

        return self._session.ask("its resources", request)

    async def _places(self, client: Client, text: str) -> list[_Place]:
        if not self.uris:
            searches = [(_filled(template, text), title) for template, title in await _templates(client)]
            return [*(_Place(uri, title, True) for uri, title in searches if uri), *await _listed(client)]
        titles = {place.uri: place.title for place in await _listed(client)}
        titles |= dict(await _templates(client))
        asked = [(uri, _filled(uri, text) if "{" in uri else uri) for uri in self.uris]
        return [_Place(filled, titles.get(uri), filled != uri) for uri, filled in asked if filled]

    def __repr__(self) -> str:
        uris = "".join(f", {uri!r}" for uri in self.uris)
        return f"MCPResources({self._session.label!r}{uris}, passive={self.passive}, active={self.active})"


async def _listed(client: Client) -> list[_Place]:
    found = await every(lambda cursor: client.list_resources(cursor=cursor), lambda page: page.resources)
    return [
        _Place(each.uri, each.title or each.name) for each in found if not (each.mime_type or "").startswith(_BINARY)
    ]


async def _templates(client: Client) -> list[tuple[str, str]]:
    """The templates that can be filled with a query, with their titles."""
    found = await every(
        lambda cursor: client.list_resource_templates(cursor=cursor), lambda page: page.resource_templates
    )
    return [(each.uri_template, each.title or each.name) for each in found if _is_search(each.uri_template)]


def _is_search(template: str) -> bool:
    from mcp import InvalidUriTemplate, UriTemplate

    try:
        parsed = UriTemplate.parse(template)
    except InvalidUriTemplate:
        return False
    needed = set(parsed.variable_names) - parsed.query_variable_names
    return "query" in parsed.variable_names and needed <= {"query"}


def _filled(template: str, text: str) -> str:
    """The URI, or nothing where there is nothing to fill it with."""
    from mcp import UriTemplate

    return UriTemplate.parse(template).expand({"query": text.strip()}) if text.strip() else ""


async def _read(client: Client, place: _Place) -> list[ContextBlock]:
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED, TextResourceContents

    try:
        result = await client.read_resource(place.uri)
    except MCPError as error:
        if place.is_search and error.code != CONNECTION_CLOSED:
            return []
        raise
    texts = [each for each in result.contents if isinstance(each, TextResourceContents) and each.text.strip()]
    return [
        ContextBlock(
            each.text,
            uri=each.uri,
            chunk_id=str(number) if len(texts) > 1 else None,
            title=place.title,
            metadata={"mime_type": each.mime_type} if each.mime_type else {},
        )
        for number, each in enumerate(texts, 1)
    ]
