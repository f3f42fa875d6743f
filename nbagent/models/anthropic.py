"""Anthropic: models behind the Messages API."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from nbagent.models.remote import PLACEHOLDER, TIMEOUT, RemoteModel, checked_params
from nbagent.models.wires import anthropic as wire

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbagent.messages import ModelRequest
    from nbagent.models.exchange import Reader
    from nbagent.models.keys import Key
    from nbagent.models.prices import Price

_OURS = {"messages", "system", "tools", "stream", "model", "timeout", "extra_headers", "max_tokens", "self"}


class AnthropicModel(RemoteModel):
    """A model of Anthropic. Made by `open_model`."""

    package = "anthropic"

    def __init__(
        self,
        model: str,
        *,
        provider: str = "anthropic",
        base_url: str,
        key: Key | None,
        params: Mapping[str, Any] | None = None,
        timeout: float = TIMEOUT,
        streaming: bool = True,
        price: Price | None = None,
    ) -> None:
        super().__init__(
            model, provider=provider, base_url=base_url, key=key, params=params, timeout=timeout,
            streaming=streaming, price=price,
        )  # fmt: skip
        from anthropic.resources import Messages

        accepted = set(inspect.signature(Messages.create).parameters) - _OURS
        checked_params(self.params, accepted, _OURS, self.package)

    def _open(self, http: Any, *, asynchronous: bool) -> Any:
        import anthropic

        kind = anthropic.AsyncAnthropic if asynchronous else anthropic.Anthropic
        return kind(api_key=PLACEHOLDER, base_url=self.base_url, max_retries=0, http_client=http)

    def _reader(self) -> Reader:
        return wire.Reader(self.provider)

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        return wire.payload(request, self.provider) | self.params | {"model": self.model, "stream": self.streaming}

    def _send(self, client: Any, body: dict[str, Any], timeout: Any) -> Any:
        return client.messages.with_streaming_response.create(**body, timeout=timeout)
