"""Sessions: conversations that are kept apart by scope, kept on disk, taken back."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from nbagent import Agent, ScriptedLLM
from nbagent.agents.exchange import Exchange
from nbagent.agents.marks import Marks
from nbagent.agents.sessions import SessionStore
from nbagent.errors import ConfigError, MemoryFailed
from nbagent.messages import Image, Message
from nbagent.store.line import Lines, Place, framed


def said(*texts):
    return tuple(Message(("user", "assistant")[n % 2], text) for n, text in enumerate(texts))


def exchange(*texts, key=None):
    return Exchange(key, Marks(), Marks(), said(*texts))


def texts(conversation):
    return [message.content for message in conversation.messages]


def test_what_is_said_is_there_again_for_another_store(tmp_path):
    conversation = SessionStore(tmp_path).conversation("bot", "ada")
    conversation.add("Hi", "Hello")
    conversation.put(1, exchange("More?", "Yes"))
    assert texts(SessionStore(tmp_path).conversation("bot", "ada")) == ["Hi", "Hello", "More?", "Yes"]
    assert texts(SessionStore(tmp_path).conversation("bot", "bo")) == []
    assert texts(SessionStore(tmp_path).conversation("bob", "ada")) == []


def test_an_exchange_that_is_made_again_and_what_is_taken_back_are_so_after_a_restart(tmp_path):
    conversation = SessionStore(tmp_path).conversation("bot", None)
    for number in range(4):
        conversation.put(number, exchange(f"q{number}", f"a{number}", key=("cell", number)))
    conversation.put(1, exchange("q", "a", key=("cell", 1)))
    conversation.take_back()
    again = SessionStore(tmp_path).conversation("bot", None)
    assert texts(again) == ["q0", "a0", "q", "a", "q2", "a2"]
    assert [one.key for one in again.exchanges] == [("cell", 0), ("cell", 1), ("cell", 2)]
    assert [message.content for message in again.before(("cell", 1))] == ["q0", "a0"]
    again.clear()
    assert texts(SessionStore(tmp_path).conversation("bot", None)) == []


def test_a_line_that_was_not_written_to_its_end_is_as_if_it_were_not_there(tmp_path):
    conversation = SessionStore(tmp_path).conversation("bot", None)
    conversation.add("Hi", "Hello")
    [file] = tmp_path.rglob("*.jsonl")
    whole = file.read_text()
    file.write_text(whole + '{"at": 1, "key": nul')
    again = SessionStore(tmp_path).conversation("bot", None)
    assert texts(again) == ["Hi", "Hello"]
    again.add("And?", "Fine")
    assert texts(SessionStore(tmp_path).conversation("bot", None)) == ["Hi", "Hello", "And?", "Fine"]
    assert file.read_text().startswith(whole)


@pytest.mark.parametrize("line", ["{", "[]", '{"at": 0}', '{"at": 0, "key": null, "said": [{"role": "nobody"}]}'])
def test_a_file_that_is_no_session_is_an_error_that_names_it(line, tmp_path):
    SessionStore(tmp_path).conversation("bot", "ada").add("Hi", "Hello")
    [file] = tmp_path.rglob("*.jsonl")
    file.write_text(f"{line}\n{file.read_text()}")
    with pytest.raises(ConfigError, match=r"ada\.jsonl, line 1: not a line of a session"):
        SessionStore(tmp_path).conversation("bot", "ada")


@pytest.mark.parametrize("line", ["[]", '{"at": 0}', '{"at": 0, "key": null, "said": [{"role": "nobody"}]}'])
def test_a_line_that_is_whole_and_says_nothing_of_a_session_is_an_error_that_names_it(line, tmp_path):
    SessionStore(tmp_path).conversation("bot", "ada").add("Hi", "Hello")
    [file] = tmp_path.rglob("*.jsonl")
    lines = Lines(file.read_bytes())
    list(lines)
    file.write_bytes(file.read_bytes() + framed(line.encode(), lines.place)[0])
    with pytest.raises(ConfigError, match=r"ada\.jsonl, line 2: not a line of a session"):
        SessionStore(tmp_path).conversation("bot", "ada")


def test_a_line_that_was_changed_is_an_error_that_names_it(tmp_path):
    conversation = SessionStore(tmp_path).conversation("bot", "ada")
    conversation.add("Hi", "Hello")
    conversation.add("And?", "Fine")
    [file] = tmp_path.rglob("*.jsonl")
    for said, line in (("Hello", 1), ("Fine", 2)):
        data = file.read_text()
        file.write_text(data.replace(said, said.upper()))
        with pytest.raises(ConfigError, match=rf"ada\.jsonl, line {line}: not a line of a session \(it was changed"):
            SessionStore(tmp_path).conversation("bot", "ada")
        file.write_text(data)


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_folders_and_files_are_for_the_user_alone(tmp_path):
    SessionStore(tmp_path / "s").conversation("bot", "ada").add("Hi", "Hello")
    made = list((tmp_path / "s").rglob("*"))
    assert {(path.is_dir(), path.stat().st_mode & 0o777) for path in made} == {(True, 0o700), (False, 0o600)}


def test_of_several_who_go_on_at_the_same_time_one_is_heard(tmp_path):
    conversations = [SessionStore(tmp_path).conversation("bot", "ada") for _ in range(8)]

    def add(number):
        try:
            conversations[number].add(f"q{number}", "x" * 100_000)
        except ConfigError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(add, range(8)))
    assert said.count("") == 1
    assert all("another agent goes on with this conversation" in one for one in said if one)
    assert texts(SessionStore(tmp_path).conversation("bot", "ada"))[0] == f"q{said.index('')}"


def test_the_file_grows_by_one_line_for_each_exchange(tmp_path):
    conversation = SessionStore(tmp_path).conversation("bot", None)
    for number in range(20):
        conversation.add(f"q{number}", f"a{number}")
    [file] = tmp_path.rglob("*.jsonl")
    lines = file.read_text().splitlines()
    assert len(lines) == 20
    assert len({len(line) for line in lines[:9]}) == 1  # and none holds those before it


@pytest.mark.parametrize(
    "scope", ["ada", "Ada", "../x", "a/b", "a b", "Ä", "日本", "CON", "a.b", "_default", "~", "%41"]
)
def test_each_scope_has_a_file_of_its_own_inside_the_folder(scope, tmp_path):
    store = SessionStore(tmp_path / "s")
    store.conversation("bot", scope).add("Hi", scope)
    store.conversation("bot", "other").add("Hi", "other")
    store.conversation("bot", None).add("Hi", "none")
    assert texts(SessionStore(tmp_path / "s").conversation("bot", scope)) == ["Hi", scope]
    assert set(store.scopes("bot")) == {scope, "other", None}
    assert len(list(tmp_path.rglob("*.jsonl"))) == 3
    assert all(path.is_relative_to(tmp_path / "s") for path in tmp_path.rglob("*.jsonl"))


def test_files_of_names_that_differ_in_capitals_differ_where_a_disk_takes_them_for_the_same(tmp_path):
    store = SessionStore(tmp_path)
    for scope in ("ada", "Ada", "ADA"):
        store.conversation("bot", scope).add("Hi", scope)
    assert len({path.name.lower() for path in tmp_path.rglob("*.jsonl")}) == 3


@pytest.mark.parametrize("scope", ["", 1, ("a",), b"x"])
def test_a_scope_on_disk_is_a_text(scope, tmp_path):
    with pytest.raises(ConfigError, match="scope: in a session store it is a text"):
        SessionStore(tmp_path).conversation("bot", scope)


def test_images_and_keys_come_back_as_they_were(tmp_path):
    message = Message("user", "See", images=(Image(b"\x89PNG", caption="c"),))
    key = ("cell", 3)
    SessionStore(tmp_path).conversation("bot", None).put(0, Exchange(key, Marks(), Marks(), (message,)))
    [again] = SessionStore(tmp_path).conversation("bot", None).exchanges
    assert (again.messages, again.key) == ((message,), key)


def test_a_key_that_json_cannot_hold_names_nothing_after_a_restart(tmp_path):
    SessionStore(tmp_path).conversation("bot", None).put(0, exchange("q", "a", key=frozenset()))
    [again] = SessionStore(tmp_path).conversation("bot", None).exchanges
    assert again.key is None


def test_a_key_is_masked_on_disk(tmp_path):
    from nbagent.redact import forget, know

    secret = "sk-proj-" + "a1B2c3D4" * 5
    know(secret, "KEY")
    try:
        SessionStore(tmp_path).conversation("bot", None).add(f"my key is {secret}", "ok")
    finally:
        forget()
    [file] = tmp_path.rglob("*.jsonl")
    assert secret not in file.read_text()
    assert json.loads(file.read_text())["said"][1]["content"] == "ok"


def test_nothing_is_made_on_disk_before_something_is_said(tmp_path):
    store = SessionStore(tmp_path / "sessions")
    store.conversation("bot", None)
    assert store.scopes("bot") == ()
    assert not (tmp_path / "sessions").exists()


def test_a_name_that_is_too_long_for_a_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="at most 200 characters"):
        SessionStore(tmp_path).conversation("bot", "x" * 201)


def agent_of(store, *replies, name="bot"):
    return Agent(name, ScriptedLLM(replies), session_store=store)


def test_of_two_agents_that_go_on_with_one_conversation_the_second_is_refused_and_nothing_is_lost(tmp_path):
    one, two = [agent_of(SessionStore(tmp_path), *replies) for replies in (["a1", "a2", "a3"], ["b1"])]
    assert (one.history, two.history) == ((), ())
    one.run("A1")
    one.run("A2")
    with pytest.raises(ConfigError, match="session_store: bot/_default: another agent goes on with this conversation"):
        two.run("B1")
    assert two.model.requests == ()
    one.run("A3")
    loaded = agent_of(SessionStore(tmp_path), "b1")
    assert [message.content for message in loaded.history] == ["A1", "a1", "A2", "a2", "A3", "a3"]
    assert loaded.run("B1").final_output == "b1"


def test_one_that_was_written_to_during_the_run_is_refused_too(tmp_path):
    one, two = [SessionStore(tmp_path).conversation("bot", None) for _ in range(2)]
    one.add("A1", "a1")
    with pytest.raises(ConfigError, match="another agent goes on with this conversation"):
        two.add("B1", "b1")
    one.add("A2", "a2")
    assert texts(SessionStore(tmp_path).conversation("bot", None)) == ["A1", "a1", "A2", "a2"]


def test_a_run_during_which_another_agent_went_on_is_complete_all_the_same(tmp_path):
    def meanwhile(request):
        agent_of(SessionStore(tmp_path), "b1").run("B1")
        return "a1"

    agent = agent_of(SessionStore(tmp_path), meanwhile)
    with pytest.raises(MemoryFailed, match=r"the run is complete, .*; but session_store: .* another agent"):
        agent.run("A1")
    assert agent.last.final_output == "a1"
    assert texts(SessionStore(tmp_path).conversation("bot", None)) == ["B1", "b1"]


def test_a_fork_has_all_conversations_on_disk_and_leaves_those_of_others_alone(tmp_path):
    first = agent_of(SessionStore(tmp_path), "1", "2")
    first.run("one", scope="ada")
    first.run("two")
    again = agent_of(SessionStore(tmp_path), "3")
    fork = again.fork("other")
    assert [[m.content for m in fork.get_history(scope)] for scope in ("ada", None)] == [["one", "1"], ["two", "2"]]
    stored = SessionStore(tmp_path)
    assert (stored.scopes("other"), texts(stored.conversation("other", "ada"))) == ((None, "ada"), ["one", "1"])
    with pytest.raises(ConfigError, match="fork: the session store holds conversations of an agent 'other'"):
        again.fork("other")
    assert texts(SessionStore(tmp_path).conversation("other", "ada")) == ["one", "1"]


def test_a_reply_that_utf8_cannot_carry_is_kept_as_it_is(tmp_path):
    SessionStore(tmp_path).conversation("bot", None).add("Hi \ud800!", "日本 😀")
    assert texts(SessionStore(tmp_path).conversation("bot", None)) == ["Hi \ud800!", "日本 😀"]


def test_a_session_that_was_written_in_utf8_is_read(tmp_path):
    (tmp_path / "bot").mkdir()
    said = json.dumps({"at": 0, "key": None, "said": [{"role": "user", "content": "日本 😀"}]}, ensure_ascii=False)
    (tmp_path / "bot" / "_default.jsonl").write_bytes(framed(said.encode(), Place())[0])
    assert texts(SessionStore(tmp_path).conversation("bot", None)) == ["日本 😀"]


def test_a_line_that_ends_inside_a_character_is_as_if_it_were_not_there(tmp_path):
    SessionStore(tmp_path).conversation("bot", None).add("Hi", "Hello")
    [file] = tmp_path.rglob("*.jsonl")
    file.write_bytes(file.read_bytes() + '{"at": 1, "key": "日'.encode()[:-1])
    assert texts(SessionStore(tmp_path).conversation("bot", None)) == ["Hi", "Hello"]


def test_a_folder_that_cannot_be_written_to_is_named_and_what_was_said_is_written_later(tmp_path):
    folder = tmp_path / "bot"
    agent = agent_of(SessionStore(tmp_path), "1", "2")
    assert agent.history == ()
    folder.write_text("in the way")
    with pytest.raises(MemoryFailed, match=r"the run is complete, its result is `last`; but .* session store .*bot"):
        agent.run("one")
    assert agent.last.final_output == "1"
    folder.unlink()
    agent.run("two")
    assert texts(SessionStore(tmp_path).conversation("bot", None)) == ["one", "1", "two", "2"]


def test_a_disk_that_does_not_take_a_run_that_fails_does_not_hide_why(tmp_path):
    agent = agent_of(SessionStore(tmp_path), RuntimeError("no"))
    assert agent.history == ()
    (tmp_path / "bot").write_text("in the way")
    with pytest.raises(Exception, match="no"):
        agent.run("one", key=1)


def test_a_folder_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "bot").write_text("in the way")
    with pytest.raises(MemoryFailed, match=r"session store .*bot cannot be read"):
        SessionStore(tmp_path).conversation("bot", None)


@pytest.mark.parametrize("folder", [None, 5, "", " ", b"x", ["x"]])
def test_what_is_no_path_is_refused(folder):
    with pytest.raises(ConfigError, match="SessionStore: expected the path of a folder"):
        SessionStore(folder)
