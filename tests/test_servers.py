"""The scripted server: its bytes are what was written, and its good bodies are what the SDKs take."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import replace

import anthropic
import openai
import pytest
import servers
from servers import (
    ANTHROPIC_OVERFLOW,
    APIS,
    BUILDERS,
    CALLS,
    FAULTS,
    OPENAI_OVERFLOW,
    PATHS,
    TEXT,
    Answer,
    Close,
    Cut,
    Pause,
    Raw,
    Server,
    chat_sse,
    error,
    error_event,
    event,
    events,
    json_answer,
    reply,
    stream_answer,
)

server = servers.server
EACH = [(api, stream) for api in APIS for stream in (True, False)]
MESSAGES = [{"role": "user", "content": "go"}]


@contextmanager
def connected(server, timeout=5.0):
    host, port = server.url.removeprefix("http://").split(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=timeout)) as connection:
        yield connection


def ask(server, body=b"{}", headers=None):
    """One request on its own connection: the status, the headers and the body."""
    with connected(server) as connection:
        connection.request("POST", "/v1/x", body, headers or {"content-type": "application/json"})
        with connection.getresponse() as response:
            return response.status, dict(response.getheaders()), response.read()


def wire(server, silent_after=None):
    """All the bytes that one request gets, and how it ended; `silent_after` is what comes before a stall."""
    host, port = server.url.removeprefix("http://").split(":")
    got = b""
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(b"POST /v1/x HTTP/1.1\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        try:
            while True:
                if silent_after is not None and silent_after in got:
                    connection.settimeout(0.02)
                if not (piece := connection.recv(65536)):
                    return got, "closed"
                got += piece
        except ConnectionResetError:
            return got, "reset"
        except TimeoutError:
            return got, "silent"


def body_of(answer):
    """What the server sends after the headers."""
    with Server() as server:
        server.play(answer)
        return wire(server)[0].partition(b"\r\n\r\n")[2]


# --- requests


def test_a_request_is_recorded(server):
    server.play(Answer(b"one"), Answer(b"two", 418, {"x-said": "yes"}))
    assert ask(server, b'{"a": [1]}', {"X-Key": "k"})[::2] == (200, b"one")
    status, headers, body = ask(server, b"\xff\x00")
    assert (status, headers["x-said"], headers["content-length"], body) == (418, "yes", "3", b"two")
    first, second = server.requests
    assert (first.method, first.path, first.headers["x-key"], first.body) == ("POST", "/v1/x", "k", {"a": [1]})
    assert (second.body, first.connection, second.connection) == (b"\xff\x00", 1, 2)


def test_a_connection_stays_for_more_requests(server):
    server.play(Answer(b"one"), Answer([b"t", b"wo"], chunked=True), Answer(b"three", until_close=True))
    with connected(server) as connection:
        for expected in (b"one", b"two", b"three"):
            connection.request("GET", "/")
            with connection.getresponse() as response:
                assert response.read() == expected
    assert ([request.connection for request in server.requests], server.connections) == ([1, 1, 1], 1)


def test_the_last_answer_repeats_only_when_asked():
    with Server() as server:
        server.play(Answer(b"one"), Answer(b"two"), repeat=True)
        assert [ask(server)[2] for _ in range(4)] == [b"one", b"two", b"two", b"two"]
        server.play(Answer(b"three"))
        assert ask(server)[2] == b"three"
        assert server.unexpected == []
    with Server() as server:
        server.play(Answer(b"one"))
        assert [ask(server)[0] for _ in range(3)] == [200, 599, 599]
        assert server.unexpected == ["POST /v1/x came and no answer was left"] * 2


def test_the_fixture_fails_a_test_that_asks_too_much():
    running = servers.running()
    ask(next(running))
    with pytest.raises(pytest.fail.Exception, match="no answer was left"):
        next(running)


def test_nothing_listens_and_no_thread_is_left_after_the_block():
    before = set(threading.enumerate())
    with Server() as server:
        server.play(Answer(b"one"))
        with connected(server) as connection:
            connection.request("GET", "/")
            assert connection.getresponse().read() == b"one"
            assert set(threading.enumerate()) > before
            server.__exit__()
    assert set(threading.enumerate()) == before
    with pytest.raises(ConnectionRefusedError):
        ask(server)


def test_bytes_that_are_no_request_are_noted():
    with Server() as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(b"nonsense\r\n\r\n")
            assert connection.recv(100) == b""
    assert ["the server failed" in note for note in server.unexpected] == [True]


# --- bytes


def test_each_part_is_a_chunk():
    assert body_of(Answer([b"ab", b"", b"c" * 17], chunked=True)) == b"2\r\nab\r\n11\r\n" + b"c" * 17 + b"\r\n0\r\n\r\n"


def test_a_body_is_split_into_pieces():
    answer = Answer([b"ab", b"cde", Pause(0.001), b"fg"], chunked=True)
    assert list(replace(answer, split=2).pieces()) == [
        *(b"2\r\nab\r\n", b"2\r\ncd\r\n", b"1\r\ne\r\n"),
        *(Pause(0.001), b"2\r\nfg\r\n", b"0\r\n\r\n"),
    ]
    assert list(replace(answer, split_at=6).pieces()) == [
        *(b"5\r\nabcde\r\n", Pause(0.001), b"1\r\nf\r\n", b"1\r\ng\r\n", b"0\r\n\r\n")
    ]
    assert list(replace(answer, split_at=3, chunked=False).pieces()) == [b"abc", b"de", Pause(0.001), b"fg"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"chunked": True}, {"transfer-encoding": "chunked"}),
        ({}, {"content-length": "7"}),
        ({"until_close": True}, {"connection": "close"}),
    ],
)
@pytest.mark.parametrize("split", [{}, {"split": 1}, {"split_at": 5}, {"split_at": 0}, {"split_at": 99}])
def test_a_split_body_is_the_same_body(server, options, said, split):
    server.play(Answer([b"abc", b"defg"], **options, **split))
    assert ask(server) == (200, said, b"abcdefg")


def test_a_length_can_lie(server):
    server.play(Answer(b"abc", content_length=5), Answer(b"abc", content_length=2))
    with pytest.raises(http.client.IncompleteRead) as read:
        ask(server)
    assert (read.value.partial, read.value.expected) == (b"abc", 2)
    assert ask(server)[2] == b"ab"


@pytest.mark.parametrize("chunked", [True, False])
def test_a_connection_is_cut_or_closed_in_the_middle(server, chunked):
    server.play(*(Answer([b"abc", end, b"def"], chunked=chunked) for end in (Cut(), Close())))
    said = b"transfer-encoding: chunked" if chunked else b"content-length: 6"
    for expected in ("reset", "closed"):
        got, end = wire(server)
        assert end == expected
        assert said in got
        assert got.endswith(b"3\r\nabc\r\n" if chunked else b"\r\n\r\nabc")


def test_a_head_and_raw_bytes_are_sent_as_they_are(server):
    server.play(Answer([Raw(b"\xff\xfe"), Close()], head=b"HTTP/1.1 2"), Answer([b"a", Raw(b"5\r\nb")], chunked=True))
    assert wire(server) == (b"HTTP/1.1 2\xff\xfe", "closed")
    assert wire(server)[0].endswith(b"\r\n\r\n1\r\na\r\n5\r\nb0\r\n\r\n")


def test_a_pause_ends_by_itself(server):
    server.play(Answer([b"a", Pause(0.01), b"b"], delay=0.01))
    assert ask(server)[2] == b"ab"


@pytest.mark.parametrize("answer", [Answer([b"a", Pause(60), b"b"]), Answer(b"ab", delay=60)])
def test_a_stall_ends_when_the_server_closes(answer):
    started = time.monotonic()
    with Server() as server:
        server.play(answer)
        got, end = wire(server, silent_after=b"" if answer.delay else b"\r\n\r\na")
        assert (end, got[-1:]) == ("silent", b"" if answer.delay else b"a")
        with connected(server) as connection:  # and one that does not go by itself
            server.play(answer)
            connection.request("GET", "/")
            while len(server.requests) < 2:
                time.sleep(0.001)
    assert time.monotonic() - started < 5


def test_a_client_that_leaves_in_the_middle_is_seen(server):
    server.play(Answer([b"a", Pause(60), b"b"]))
    assert not server.hangup.is_set()
    assert wire(server, silent_after=b"\r\n\r\na")[1] == "silent"
    assert server.hangup.wait(5)


# --- bodies


def openai_client(server):
    return openai.OpenAI(base_url=server.url, api_key="x", max_retries=0, timeout=5)


def anthropic_client(server):
    return anthropic.Anthropic(base_url=server.url, api_key="x", max_retries=0, timeout=5)


def chat(server, stream):
    """Text, reasoning, calls, finish and usage as the SDK gives them."""
    with openai_client(server) as client:
        if not stream:
            got = client.chat.completions.create(model="m", messages=MESSAGES)
            message = got.choices[0].message
            calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()]
            reasoning = getattr(message, "reasoning_content", None)
            return message.content, reasoning, calls, got.choices[0].finish_reason, got.usage
        with client.chat.completions.create(model="m", messages=MESSAGES, stream=True) as chunks:
            return added_up(list(chunks))


def added_up(chunks):
    """The deltas of a chat put together."""
    *told, last = chunks
    assert last.choices == []
    deltas = [chunk.choices[0].delta for chunk in told]
    calls = {}
    for delta in (call for given in deltas for call in given.tool_calls or ()):
        call = calls.setdefault(delta.index, [delta.id, delta.function.name, ""])
        call[2] += delta.function.arguments
    text, reasoning = (
        "".join(getattr(delta, name, None) or "" for delta in deltas) or None
        for name in ("content", "reasoning_content")
    )
    return text, reasoning, [tuple(call) for call in calls.values()], told[-1].choices[0].finish_reason, last.usage


def responses(server, stream):
    with openai_client(server) as client:
        if not stream:
            return response_parts(client.responses.create(model="m", input="go"))
        with client.responses.create(model="m", input="go", stream=True) as coming:
            told = list(coming)
    assert [each.sequence_number for each in told] == list(range(len(told)))
    assert told[0].type == "response.created"
    parts = response_parts(told[-1].response)
    for kind, expected in {
        "response.output_text.delta": parts[0] or "",
        "response.reasoning_summary_text.delta": parts[1] or "",
        "response.function_call_arguments.delta": "".join(call[2] for call in parts[2]),
    }.items():
        assert "".join(each.delta for each in told if each.type == kind) == expected
    done = [each.item for each in told if each.type == "response.output_item.done"]
    assert done == told[-1].response.output
    return parts


def response_parts(got):
    calls = [(item.call_id, item.name, item.arguments) for item in got.output if item.type == "function_call"]
    reasoning = [part.text for item in got.output if item.type == "reasoning" for part in item.summary]
    return got.output_text or None, "".join(reasoning) or None, calls, got.status, got.usage


def messages(server, stream):
    with anthropic_client(server) as client:
        asked = {"model": "m", "max_tokens": 100, "messages": MESSAGES}
        if not stream:
            return message_parts(client.messages.create(**asked))
        with client.messages.create(**asked, stream=True) as told:
            assert [each.type for each in told][-2:] == ["message_delta", "message_stop"]
        with client.messages.stream(**asked) as told:
            return message_parts(told.get_final_message())


def message_parts(got):
    text, thinking = (
        "".join(getattr(block, kind) for block in got.content if block.type == kind) or None
        for kind in ("text", "thinking")
    )
    calls = [
        (block.id, block.name, json.dumps(block.input, ensure_ascii=False))
        for block in got.content
        if block.type == "tool_use"
    ]
    return text, thinking, calls, got.stop_reason, got.usage


CLIENTS = {"chat": chat, "responses": responses, "anthropic": messages}
FINISH = {
    "chat": ("stop", "tool_calls"),
    "responses": ("completed", "completed"),
    "anthropic": ("end_turn", "tool_use"),
}


@pytest.mark.parametrize("split", [None, 1])
@pytest.mark.parametrize(("api", "stream"), EACH)
def test_the_sdk_takes_a_text(server, api, stream, split):
    server.play(replace(reply(api, stream), split=split), repeat=True)
    text, reasoning, calls, finish, usage = CLIENTS[api](server, stream)
    assert (text, reasoning, calls, finish) == (TEXT, None, [], FINISH[api][0])
    counted = usage.model_dump(exclude_none=True)
    expected = {
        "chat": servers.CHAT_USAGE,
        "responses": servers.RESPONSES_USAGE,
        "anthropic": servers.ANTHROPIC_USAGE,
    }[api]
    assert counted == expected
    assert server.requests[0].path == PATHS[api]
    assert server.requests[0].body["model"] == "m"


@pytest.mark.parametrize(("api", "stream"), EACH)
def test_the_sdk_takes_reasoning_and_two_calls(server, api, stream):
    reasoning = {"thinking" if api == "anthropic" else "reasoning": "Two cities."}
    server.play(reply(api, stream, text="I look.", calls=CALLS, **reasoning), repeat=True)
    got = CLIENTS[api](server, stream)
    assert got[:4] == ("I look.", "Two cities.", list(CALLS), FINISH[api][1])


@pytest.mark.parametrize("stream", [True, False])
def test_anthropic_blocks_keep_their_signature_and_what_is_redacted(server, stream):
    server.play(reply("anthropic", stream, thinking="Hm.", signature="sig", redacted="secret"))
    with anthropic_client(server) as client:
        asked = {"model": "m", "max_tokens": 100, "messages": MESSAGES}
        if stream:
            with client.messages.stream(**asked) as told:
                message = told.get_final_message()
        else:
            message = client.messages.create(**asked)
    thinking, redacted, text = message.content
    assert (thinking.signature, redacted.data, text.text) == ("sig", "secret", TEXT)


@pytest.mark.parametrize("stream", [True, False])
def test_a_reasoning_item_keeps_its_encrypted_content(server, stream):
    server.play(reply("responses", stream, encrypted="secret"))
    with openai_client(server) as client:
        got = client.responses.create(model="m", input="go", stream=stream)
        if stream:
            with got as told:
                got = list(told)[-1].response
    assert (got.output[0].summary, got.output[0].encrypted_content) == ([], "secret")


def call_deltas(**options):
    """Each delta of a call in a stream, as index, id, name and arguments; "-" is for what is not there."""
    told = [json.loads(line[6:]) for line in chat_sse(None, CALLS, **options).decode().splitlines() if "{" in line]
    calls = [call for chunk in told for choice in chunk["choices"] for call in choice["delta"].get("tool_calls", ())]
    return [
        (
            call.get("index", "-"),
            call.get("id", "-"),
            call["function"].get("name", "-"),
            call["function"]["arguments"],
        )
        for call in calls
    ]


def test_the_deltas_of_a_chat_can_be_odd():
    name, (one, two) = "get_weather", (call[2] for call in CALLS)
    assert call_deltas(size=99) == [
        (0, "call_1", name, ""),
        (0, "-", "-", one),
        (1, "call_2", name, ""),
        (1, "-", "-", two),
    ]
    assert call_deltas(size=None, index="missing", ids="empty") == [("-", "", name, one), ("-", "", name, two)]
    assert [delta[0] for delta in call_deltas(size=99, index="late")] == ["-", 0, "-", 1]
    assert [delta[0] for delta in call_deltas(size=None, index="same")] == [0, 0]
    assert [delta[0] for delta in call_deltas(size=None, index="reversed")] == [1, 0]
    assert [delta[0] for delta in call_deltas(size=None, index="null")] == [None, None]
    assert [delta[1] for delta in call_deltas(size=99, ids="repeated")] == ["call_1", "call_1", "call_2", "call_2"]
    assert [delta[1] for delta in call_deltas(size=99, ids="missing")] == ["-"] * 4
    assert [delta[0] for delta in call_deltas(size=99, interleaved=True)] == [0, 1, 0, 1]


def test_the_end_of_a_stream_can_be_left_out():
    for api in APIS:
        whole = events(BUILDERS[api, True](done=True))
        assert b"".join(whole) == BUILDERS[api, True](done=True)
        assert events(BUILDERS[api, True](done=False)) == whole[:-1]
    assert b"finish_reason" not in events(chat_sse(finish=None))[-2]
    assert events(chat_sse(finish=None, usage=None, done=False)) == events(chat_sse())[:-3]
    assert b'"usage": {' in events(chat_sse(usage_at="finish"))[-2]
    assert events(servers.responses_sse(finish=None)) == events(servers.responses_sse())[:-1]
    assert event("x", "y") == b"event: y\ndata: x\n\n"
    assert b"message_delta" not in servers.anthropic_sse(finish=None, usage=None)
    assert b'"stop_reason": null' in events(servers.anthropic_sse(finish=None))[-2]


# --- errors and faults


@pytest.mark.parametrize("kind", servers.OPENAI_ERRORS)
@pytest.mark.parametrize("api", APIS)
def test_the_sdk_raises_its_own_error(server, api, kind):
    server.play(error(api, kind))
    with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)) as raised:
        CLIENTS[api](server, False)
    assert raised.value.status_code == servers.STATUS.get(kind, kind)
    expected = (servers.ANTHROPIC_ERRORS if api == "anthropic" else servers.OPENAI_ERRORS)[kind][-1]
    assert expected in str(raised.value)


def test_both_forms_of_a_context_overflow():
    for api, own, other in (("chat", OPENAI_OVERFLOW, ANTHROPIC_OVERFLOW), ("anthropic", ANTHROPIC_OVERFLOW, "8192")):
        assert own.encode() in servers.error_body(api, "context_overflow")
        assert other.encode() in servers.error_body(api, "context_overflow_other")
    assert json.loads(servers.error_body("responses", "context_overflow"))["error"]["code"] == "context_length_exceeded"


def test_an_error_in_a_stream_reaches_the_sdk(server):
    for api, kind in (("chat", openai.APIError), ("anthropic", anthropic.APIStatusError)):
        server.play(stream_answer(error_event(api)))
        with pytest.raises(kind, match="Overloaded"):
            CLIENTS[api](server, True)
    with openai_client(server) as client:
        server.play(stream_answer(error_event("responses")), stream_answer(error_event("responses", nested=True)))
        with client.responses.create(model="m", input="go", stream=True) as told:
            assert [(each.type, each.message) for each in told] == [("error", "Overloaded")]
        with (
            client.responses.create(model="m", input="go", stream=True) as told,
            pytest.raises(openai.APIError, match="Overloaded"),
        ):
            list(told)


SILENT = {"stall_before_first_byte", "stall_after_first_piece"}
RESET = {"reset_before_any_byte", "reset_in_middle", "cut_in_tool_call"}


def test_each_fault_plays_for_each_api(server):
    assert len(FAULTS) >= 32
    for name, fault in FAULTS.items():
        for api, stream in EACH:
            answer = fault(api, stream)
            assert answer == fault(api, stream)
            server.play(answer)
            first = None
            if name in SILENT:
                first = b"" if answer.head is not None else answer.parts[0]
            got, end = wire(server, silent_after=first)
            assert (name, end) == (name, "silent" if name in SILENT else "reset" if name in RESET else "closed")
            assert got.startswith(b"HTTP/1.1") or answer.head is not None
    assert len(server.requests) == len(FAULTS) * len(EACH)


def test_no_fault_is_a_good_answer():
    for api, stream in EACH:
        good = reply(api, stream)
        for name, fault in FAULTS.items():
            assert fault(api, stream) != good, name


def test_some_faults_are_what_they_say():
    for api, stream in EACH:
        answer = FAULTS["short_body"](api, stream)
        assert 0 < answer.length < answer.content_length == len(BUILDERS[api, stream]())
        assert "ö".encode() not in (bad := body_of(FAULTS["bad_utf8"](api, stream)))
        assert b"\xff\xfe" in bad
        sent = body_of(FAULTS["cut_in_tool_call"](api, stream))
        assert b"get_weather" in sent
        assert b"Paris" not in sent
        if not stream:
            with pytest.raises(json.JSONDecodeError):
                json.loads(FAULTS["cut_json"](api, stream).body)
        kept = list(FAULTS["bad_json_event"](api, stream).parts)
        assert sum(b"'" in part for part in kept) == 1
    assert json.loads(json_answer(b"[]").body) == []
