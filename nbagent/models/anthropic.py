"""Anthropic: models behind the Messages API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from nbagent.models.remote import PLACEHOLDER, RemoteModel, with_params
from nbagent.models.wires import anthropic as wire

if TYPE_CHECKING:
    from nbagent.models.exchange import Reader
    from nbagent.request import ModelRequest


class AnthropicModel(RemoteModel):
    """A model of Anthropic. Made by `open_model`."""

    package = "anthropic"
    ours: ClassVar = {
        "messages", "system", "tools", "stream", "model", "timeout", "extra_headers", "max_tokens", "self",
    }  # fmt: skip

    def _method(self) -> Any:
        from anthropic.resources import Messages

        return Messages.create

    def _open(self, http: Any, *, asynchronous: bool) -> Any:
        import anthropic

        kind = anthropic.AsyncAnthropic if asynchronous else anthropic.Anthropic
        return kind(api_key=PLACEHOLDER, base_url=self.base_url, max_retries=0, http_client=http)

    def _reader(self) -> Reader:
        return wire.Reader(self.provider)

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body = with_params(
            wire.payload(request, self.provider, structured=self.structured), self._params(request), "output_config"
        )
        return body | {"model": self.model, "stream": self.streaming}

    def _send(self, client: Any, body: dict[str, Any], timeout: Any) -> Any:
        return client.messages.with_streaming_response.create(**body, timeout=timeout)
