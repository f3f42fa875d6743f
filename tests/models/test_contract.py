"""One contract for every model: the double, and each client over each API, streamed and whole."""

from __future__ import annotations

import pytest
from servers import APIS, CALLS, Server, error, reply

from nbagent.errors import ModelError
from nbagent.messages import ModelReply
from nbagent.models.anthropic import AnthropicModel
from nbagent.models.openai import OpenAIModel
from nbagent.testing import ScriptedLLM, TestModel, assert_model_contract


def test_scripted():
    assert_model_contract(
        lambda: ScriptedLLM(["Sunny."]),
        lambda: ScriptedLLM([ScriptedLLM.tool_call("get_weather", {"city": "Paris"})]),
        lambda: ScriptedLLM([ModelError("no", kind="server")]),
    )


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("api", APIS)
def test_client(api, streaming):
    opened = []

    def playing(answer):
        def make():
            opened.append(server := Server().__enter__())
            server.play(answer)
            options = {"base_url": server.url, "key": None, "streaming": streaming}
            return AnthropicModel("m", **options) if api == "anthropic" else OpenAIModel("m", api=api, **options)

        return make

    try:
        assert_model_contract(
            playing(reply(api, streaming, text="Sunny.")),
            playing(reply(api, streaming, text=None, calls=CALLS[:1])),
            playing(error(api, 500)),
        )
    finally:
        for server in opened:
            server.__exit__(None, None, None)


def test_what_breaks_the_contract_is_found():
    class Quiet(TestModel):
        def stream(self, request):
            yield "text"
            yield ModelReply("other text")

    with pytest.raises(AssertionError, match="the pieces of text are the reply's text"):
        assert_model_contract(Quiet, Quiet, Quiet)
