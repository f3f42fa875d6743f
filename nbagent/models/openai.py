"""OpenAI: models behind the Chat Completions or the Responses API, OpenAI's own or a compatible server's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from nbagent.errors import ConfigError
from nbagent.models.remote import PLACEHOLDER, RemoteModel, with_params
from nbagent.models.wires import chat, responses

if TYPE_CHECKING:
    from nbagent.models.exchange import Reader
    from nbagent.request import ModelRequest

Api = Literal["chat", "responses"]


class OpenAIModel(RemoteModel):
    """A model of OpenAI, or of a server that speaks its language. Made by `open_model`."""

    package = "openai"
    ours: ClassVar = {
        "messages", "input", "instructions", "tools", "stream", "stream_options", "model", "store", "include", "n",
        "timeout", "extra_headers", "max_tokens", "max_completion_tokens", "max_output_tokens", "self",
    }  # fmt: skip

    def __init__(self, model: str, *, api: Api = "chat", quirks: frozenset[str] = frozenset(), **options: Any) -> None:
        """options: what `RemoteModel` takes."""
        self.api: Api = api
        self._quirks = quirks
        super().__init__(model, **options)
        self._origin = f"{self.provider}/{api}"  # reasoning of the one API is nothing to the other

    def _method(self) -> Any:
        from openai.resources.chat import Completions
        from openai.resources.responses import Responses

        return Responses.create if self.api == "responses" else Completions.create

    def _open(self, http: Any, *, asynchronous: bool) -> Any:
        import openai

        kind = openai.AsyncOpenAI if asynchronous else openai.OpenAI
        return kind(api_key=PLACEHOLDER, base_url=self.base_url, max_retries=0, http_client=http)

    def _reader(self) -> Reader:
        if self.api == "responses":
            return responses.Reader(self._origin)
        return chat.Reader(self._origin, says_done="no_done" not in self._quirks)

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        structured = self.structured and not (request.tools and "schema_or_tools" in self._quirks)
        if self.api == "responses":
            body = responses.payload(request, self._origin, structured=structured)
        else:
            old = "max_tokens" in self._quirks
            body = chat.payload(request, self._origin, old_max_tokens=old, structured=structured)
            if self.streaming and "no_stream_options" not in self._quirks:
                body["stream_options"] = {"include_usage": True}
        return with_params(body, self._params(request), "text") | {"model": self.model, "stream": self.streaming}

    def _send(self, client: Any, body: dict[str, Any], timeout: Any) -> Any:
        resource = client.responses if self.api == "responses" else client.chat.completions
        return resource.with_streaming_response.create(**body, timeout=timeout)


def chosen_api(api: str) -> Api:
    if api == "chat":
        return "chat"
    if api == "responses":
        return "responses"
    raise ConfigError(f"api: expected chat or responses, got {api!r}")
