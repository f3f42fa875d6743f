"""Faults of servers: each ends in an outcome of ours, and no half reply is taken for a whole one."""

from __future__ import annotations

import asyncio
import base64
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from servers import APIS, FAULTS, Server, reply

from nbagent import Agent, tool
from nbagent.errors import TRANSIENT, ModelError
from nbagent.events import ArgumentsDelta, ModelFailed, ModelReplied, ReasoningDelta, TextDelta
from nbagent.models.anthropic import AnthropicModel
from nbagent.models.openai import OpenAIModel
from nbagent.runtime.patience import Retry

AT_ONCE = Retry(attempts=3, shortest=0, longest=0, longest_retry_after=0.5)
ran: list = []


@tool
def get_weather(city: str, days: int = 1) -> str:
    """Get the weather."""
    ran.append((city, days))
    return f"sunny in {city}"


def model_at(api, server, streaming=True, timeout=20.0):
    options = {"base_url": server.url, "key": None, "timeout": timeout, "streaming": streaming}
    return AnthropicModel("m", **options) if api == "anthropic" else OpenAIModel("m", api=api, **options)


def outcome(agent, asynchronous) -> str:
    """The status of a run, or the kind of the error it ended with. Any other exception fails the test."""
    error = None
    try:
        asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")
    except ModelError as raised:
        error = raised
    if error is None:
        return agent.last.status
    assert "\n" not in str(error)
    assert agent.last.status == "failed"
    return error.kind


NETWORK = {"network"}
BROKEN = {"incomplete", "bad_response"}
EXPECTED = {
    "http_400": {"bad_request"}, "http_401": {"auth"}, "http_403": {"permission"}, "http_404": {"not_found"},
    "http_408": {"timeout"}, "http_409": {"server"}, "http_413": {"bad_request"}, "http_422": {"bad_request"},
    "http_500": {"server"}, "http_503": {"overloaded"}, "http_529": {"overloaded"}, "quota_429": {"permission"},
    "http_502_html": {"server"}, "http_504_html": {"server"}, "redirect_307": {"bad_response"},
    "context_overflow": {"context_overflow"}, "context_overflow_other": {"context_overflow"},
    "html_200": {"bad_response"}, "not_json": {"bad_response"}, "cut_json": {"bad_response"},
    "empty_body": {"incomplete"}, "no_content_204": {"incomplete"}, "empty_stream": {"incomplete"},
    "shape_null": BROKEN, "shape_text": BROKEN, "json_list": BROKEN, "json_null": BROKEN, "no_done": BROKEN,
    "shape_empty": BROKEN, "shape_nulls": BROKEN, "gzip_garbage": {"bad_response"}, "gzip_cut": BROKEN,
    "bad_utf8": {"bad_response"}, "bad_json_event": {"bad_response"}, "long_body": {"bad_response"},
    "closed_before_any_byte": NETWORK, "reset_before_any_byte": NETWORK, "not_http": NETWORK,
    "closed_after_status_line": NETWORK, "closed_after_headers": NETWORK, "closed_in_middle": NETWORK,
    "reset_in_middle": NETWORK, "short_body": NETWORK, "cut_in_chunk": NETWORK, "cut_in_tool_call": NETWORK,
    "stall_before_first_byte": {"timeout"}, "stall_after_first_piece": {"timeout"},
    "no_finish": {"incomplete"}, "no_end": {"incomplete"}, "error_event": {"overloaded"},
    "error_event_nested": {"overloaded"}, "failed": {"incomplete", "server"}, "length": {"incomplete"},
    "length_in_tool_call": {"incomplete"}, "content_filter": {"filtered", "refused"}, "refusal": {"refused"},
    "unknown_finish": {"incomplete"}, "pause_turn": {"incomplete"}, "empty_reply": {"bad_response"},
    "model_context_window_exceeded": {"context_overflow"}, "blank_reply": {"bad_response"},
    "only_reasoning": {"bad_response"},
    # not wrong at all: the server did not do as it was asked, and the reply is whole
    "wrong_mode": {"completed"},
    # a whole reply with half a call: the model is told, again and again
    "cut_arguments": {"out_of_turns"},
}  # fmt: skip


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("api", APIS)
def test_every_fault_ends_in_an_outcome_of_ours(api, streaming, asynchronous, record_property):
    counts = Counter()
    for name, fault in FAULTS.items():
        ran.clear()
        with Server() as server:
            server.play(fault(api, streaming), repeat=True)
            model = model_at(api, server, streaming, timeout=0.15 if "stall" in name else 20)
            agent = Agent("a", model, tools=[get_weather], max_turns=3, retry=AT_ONCE)
            ended = outcome(agent, asynchronous)
            expected = EXPECTED.get(name, {"rate_limited"})
            assert ended in expected, f"{name}: {ended}"
            assert ran == [], f"{name}: a tool ran"
            attempts = len(server.requests) or server.connections
            if ended in TRANSIENT and "retry_after_121" not in name and "retry_after_1" not in name:
                assert attempts == (1 if "retry_after_date" in name else AT_ONCE.attempts), f"{name}: {attempts}"
            assert attempts <= AT_ONCE.attempts, f"{name}: {attempts} attempts"
            whole = [event for event in agent.last.events if isinstance(event, ModelReplied)]
            assert all(event.reply.finish_reason for event in whole)
            counts[ended] += 1
    record_property("faults", sum(counts.values()))
    print(f"{api}, {'streamed' if streaming else 'whole'}, {'async' if asynchronous else 'sync'}:", dict(counts))
    assert sum(counts.values()) >= 60  # twelve times that over all parameters


PASSING = ["http_429", "http_500", "http_503", "http_529", "http_502_html", "closed_before_any_byte", "reset_in_middle",
    "closed_in_middle", "short_body", "cut_in_chunk", "cut_in_tool_call", "error_event", "http_408"]  # fmt: skip
TURNS = 10


@pytest.mark.parametrize("api", APIS)
def test_every_side_effect_happens_exactly_once_wherever_faults_are(api):
    chosen = random.Random(api)
    good = [
        *(reply(api, True, text=None, calls=[(f"c{i}", "get_weather", f'{{"city": "{i}"}}')]) for i in range(TURNS)),
        reply(api, True, text="Done."),
    ]
    for placement in range(34):
        ran.clear()
        places = chosen.sample(range(TURNS + 1), 3)
        faults = {place: [chosen.choice(PASSING) for _ in range(chosen.randint(1, 2))] for place in places}
        answers = []
        for place, answer in enumerate(good):
            answers += [FAULTS[name](api, True) for name in faults.get(place, ())]
            answers.append(answer)
        with Server() as server:
            server.play(*answers)
            agent = Agent("a", model_at(api, server), tools=[get_weather], max_turns=20, retry=AT_ONCE)
            result = asyncio.run(agent.arun("go")) if placement % 2 else agent.run("go")
            assert not server.unexpected
        assert result.final_output == "Done."
        assert ran == [(str(i), 1) for i in range(TURNS)]
        failed = [event for event in result.events if isinstance(event, ModelFailed)]
        assert len(failed) == sum(map(len, faults.values()))
        assert {event.kind for event in failed} <= TRANSIENT


@pytest.mark.parametrize("api", APIS)
def test_streamed_and_not_the_same_run_takes_the_same_tokens(api):
    totals = []
    for streaming in (True, False):
        with Server() as server:
            call = [("c1", "get_weather", '{"city": "Paris"}')]
            server.play(reply(api, streaming, text=None, calls=call), reply(api, streaming, text="Sunny."))
            agent = Agent("a", model_at(api, server, streaming), tools=[get_weather])
            totals.append((agent.run("go").usage, agent.last.final_output))
    assert totals[0] == totals[1]
    assert totals[0][0].cache_read_tokens == 10


def test_reasoning_goes_back_with_the_results_of_the_tools_it_led_to(server):
    call = [("c1", "get_weather", '{"city": "Paris"}')]
    for api, options in (("anthropic", {"thinking": "Hm.", "signature": "sig/+="}), ("responses", {"reasoning": "Hm.",
            "encrypted": "enc=="}), ("chat", {"reasoning": "Hm."})):  # fmt: skip
        server.play(reply(api, True, text=None, calls=call, **options), reply(api, True, text="Sunny."))
        agent = Agent("a", model_at(api, server), tools=[get_weather])
        assert agent.run("go").final_output == "Sunny."
        body = server.requests[-1].body
        match api:
            case "anthropic":
                block = {"type": "thinking", "thinking": "Hm.", "signature": "sig/+="}
                assert body["messages"][1]["content"][0] == block
            case "responses":
                [item] = [item for item in body["input"] if item["type"] == "reasoning"]
                assert item["encrypted_content"] == "enc=="
            case _:
                assert body["messages"][1]["reasoning_content"] == "Hm."
        assert "reasoning\n    Hm." in agent.last._repr_mimebundle_()["text/plain"]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_text_reasoning_and_arguments_stream_in(api, asynchronous):
    thought = {"thinking": "Let me see."} if api == "anthropic" else {"reasoning": "Let me see."}
    call = [("c1", "get_weather", '{"city": "Paris", "days": 2}')]
    with Server() as server:
        answers = reply(api, True, text="One moment.", calls=call, size=3, **thought), reply(api, True, text="Sunny.")
        server.play(*answers)
        agent = Agent("a", model_at(api, server), tools=[get_weather])

        async def collect():
            return [event async for event in agent.astream("go")]

        events = asyncio.run(collect()) if asynchronous else list(agent.stream("go"))
    kinds = (TextDelta, ReasoningDelta, ArgumentsDelta)
    said = ["".join(e.text for e in events if isinstance(e, kind) and e.turn == 1) for kind in kinds]
    assert said == ["One moment.", "Let me see.", call[0][2]]
    assert sum(isinstance(event, ArgumentsDelta) for event in events) > 2
    assert {event.name for event in events if isinstance(event, ArgumentsDelta)} == {"get_weather"}


@pytest.mark.parametrize("api", APIS)
def test_an_image_is_in_the_form_of_each_api(api, server):
    png = b"\x89PNG\r\n\x1a\nrest"
    server.play(reply(api, True))
    Agent("a", model_at(api, server)).run("What is this?", images=[png])
    body = server.requests[0].body
    content = (body["input"] if api == "responses" else body["messages"])[0]["content"]
    data = base64.b64encode(png).decode()
    assert (
        content[-1 if api != "anthropic" else 0]
        == {
            "chat": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
            "responses": {"type": "input_image", "image_url": f"data:image/png;base64,{data}", "detail": "auto"},
            "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        }[api]
    )


@pytest.mark.parametrize("api", APIS)
def test_many_runs_of_one_model_in_several_loops_and_threads(api):
    with Server() as server:
        server.play(reply(api, True), repeat=True)
        model = model_at(api, server)

        async def several():
            return await asyncio.gather(*(Agent("a", model).arun("go") for _ in range(5)))

        for _ in range(3):
            assert {result.status for result in asyncio.run(several())} == {"completed"}
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda _: Agent("a", model).run("go").status, range(8)))
        assert set(results) == {"completed"}
