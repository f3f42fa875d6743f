"""Texts: what nbagent itself says to a model: in two languages, with places, and each with its source."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys

import pytest

from nbagent import Agent, PlanAgent, ReflectionAgent, ScriptedLLM, Texts, tool
from nbagent.errors import ConfigError, ModelError
from nbagent.events import Noted, PromptAssembled
from nbagent.messages import ModelReply, Piece, Source, ToolCall
from nbagent.texts.chinese import CHINESE
from nbagent.texts.english import ENGLISH
from nbagent.texts.pack import DEFAULT, LANGUAGES, texts_of
from nbagent.texts.phrase import Phrase, phrase_of
from nbagent.texts.template import fields_in, parse

call = ScriptedLLM.tool_call


@tool
def look(place: str = "here") -> str:
    """Looks."""
    return f"nothing {place}"


def is_chinese(text):
    return any("\u4e00" <= char <= "\u9fff" for char in text)


# the packs


def test_both_languages_say_the_same_things():
    assert list(LANGUAGES) == ["english", "chinese"]
    assert list(CHINESE) == list(ENGLISH)
    assert Texts().keys == Texts("chinese").keys == tuple(ENGLISH)
    for key in ENGLISH:
        assert fields_in(parse(ENGLISH[key], key)) == fields_in(parse(CHINESE[key], key)), key
        assert ENGLISH[key].strip(), key
        assert not is_chinese(ENGLISH[key]), key
        assert is_chinese(CHINESE[key]), key


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("key", ENGLISH)
def test_every_place_is_filled(key, language):
    texts = Texts(language)
    places = {name: f"<{name}>" for name in fields_in(parse(ENGLISH[key], key))}
    said = texts.text(key, **places)
    assert all(value in said for value in places.values())
    assert not any(f"{{{name}}}" in said for name in places)
    # What is no place stays as it is: the JSON that a plan has to be.
    assert said.count('{"steps": [') == ENGLISH[key].count('{"steps": [')


def test_a_plan_is_asked_for_in_a_form_that_is_read():
    from nbagent.agents.plan_reading import read_plan

    for language in LANGUAGES:
        for key in ("plan.plan", "plan.replan"):
            said = Texts(language)[key]
            assert len(read_plan(said[said.index('{"steps"') :]).steps) == 2


def test_the_signal_of_a_language_is_a_verdict_in_it():
    from nbagent.agents.verdict import passes

    for language in LANGUAGES:
        signal = Texts(language)["reflection.signal"]
        assert passes(signal, (signal,))
        assert not passes(
            Texts(language).text("reflection.critique", question="q", answer="a", signal=signal), (signal,)
        )


def test_the_english_pack_is_all_that_is_imported():
    program = "import sys, nbagent; nbagent.PlanAgent; print('nbagent.texts.chinese' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("False\n", "")


# sources


def test_each_piece_says_where_it_comes_from():
    question = (Piece("How ", Source("template", "task")), Piece("long?", Source("variable", "n: int")))
    pieces = DEFAULT.pieces("plan.synthesize", failed="", question=question)
    assert pieces[-2:] == question
    assert pieces[0].source == Source("framework", "plan.synthesize")
    assert len(pieces) == 3
    assert "".join(piece.text for piece in pieces) == DEFAULT.text("plan.synthesize", failed="", question="How long?")


def test_a_value_is_never_read_as_a_template():
    said = DEFAULT.text("plan.step", failed="{step} ", number="{number}", step="{failed} {{x}}")
    assert said == "{step} Do step {number} now, and only that: {failed} {{x}}\nReply with its result."


def test_pieces_that_follow_each_other_from_one_source_are_one():
    [piece] = DEFAULT.pieces("loop.repeated", tool="look", times="3")
    assert piece.text == DEFAULT.text("loop.repeated", tool="look", times="3")
    assert Texts(overrides={"plan.tools": "{tools}"}).pieces("plan.tools", tools="") == ()


# other words


def test_single_texts_may_be_worded_differently():
    texts = Texts("chinese", {"loop.empty_reply": "Say {{something}}!"})
    assert texts.text("loop.empty_reply") == "Say {something}!"
    assert texts["loop.repeated"] == CHINESE["loop.repeated"]
    assert DEFAULT["loop.empty_reply"] == ENGLISH["loop.empty_reply"]
    assert Texts(overrides={"plan.step": "{step} ({number}) {failed}{step}"}).text(
        "plan.step", failed="", number="1", step="look"
    ) == "look (1) look"  # fmt: skip


def test_texts_are_values():
    made = Texts("chinese", given := {"loop.empty_reply": "x"})
    assert made == Texts("chinese", {"loop.empty_reply": "x"})
    assert hash(made) == hash(Texts("chinese", {"loop.empty_reply": "x"}))
    assert len({made, Texts("chinese"), Texts(), Texts("english", {"loop.empty_reply": "x"}), Texts()}) == 4
    assert made != "chinese"
    assert repr(made) == "Texts('chinese', {'loop.empty_reply': 'x'})"
    assert repr(Texts()) == "Texts('english')"
    given["loop.empty_reply"] = "changed"
    assert made["loop.empty_reply"] == "x"


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (None, Texts()),
        ("chinese", Texts("chinese")),
        (Texts("chinese"), Texts("chinese")),
        ({"loop.empty_reply": "x"}, Texts("english", {"loop.empty_reply": "x"})),
        ({"language": "chinese", "loop.empty_reply": "x"}, Texts("chinese", {"loop.empty_reply": "x"})),
    ],
)
def test_texts_may_be_given_in_short(given, made):
    assert texts_of(given) == made
    assert Agent("a", ScriptedLLM([]), texts=given).texts == made


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("german", "texts: expected the language english or chinese, got 'german'"),
        ({"language": "german"}, "texts: expected the language english or chinese, got 'german'"),
        ({"plan.plam": "{question}{tools}"}, "texts: there is no text 'plan.plam'; did you mean 'plan.plan'?"),
        ({"zzz": "x"}, "texts: there is no text 'zzz'; `Texts\\(\\).keys` has them all"),
        ({3: "x"}, "texts: there is no text 3"),
        (
            {"plan.step": "{step}{failed}"},
            r"texts: plan.step: the place \{number\} is missing; it has \{failed\}, \{number\}, \{step\}",
        ),
        (
            {"plan.tools": "{tools}{more}"},
            r"texts: plan.tools: there is no place \{more\}; it has \{tools\} \(a brace as text is doubled\)",
        ),
        ({"loop.empty_reply": "{x}"}, r"loop.empty_reply: there is no place \{x\}; it has none"),
        ({"loop.empty_reply": "  "}, "loop.empty_reply: expected a text that is not empty, got '  '"),
        ({"loop.empty_reply": 3}, "loop.empty_reply: expected a text that is not empty, got 3"),
        ({"loop.empty_reply": None}, "loop.empty_reply: expected a text that is not empty, got None"),
        (3, "texts: expected a language, or texts by their key; got int: 3"),
        (["chinese"], "texts: expected a language, or texts by their key; got list"),
    ],
)
def test_what_are_no_texts_is_refused(given, says):
    for made in (lambda: texts_of(given), lambda: PlanAgent("a", ScriptedLLM([]), texts=given)):
        with pytest.raises(ConfigError, match=says) as raised:
            made()
        assert "\n" not in str(raised.value)


# what an agent says


def spoken(agent):
    """Everything that nbagent itself said to the model, by the key of its text."""
    said: dict[str, str] = {}
    for prompt in [e.prompt for e in agent.last.events if isinstance(e, PromptAssembled)]:
        for segment in prompt.segments:
            if segment.source.kind == "framework":
                said[segment.source.detail] = said.get(segment.source.detail, "") + segment.text
    return said


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_hints_of_the_loop_are_in_the_language(language):
    script = ["", *[call("look")] * 3, "Done."]
    agent = Agent("a", ScriptedLLM(script), tools=[look], texts=language)
    agent.run("go")
    texts = Texts(language)
    notes = [e.text for e in agent.last.events if isinstance(e, Noted)]
    assert notes == [texts["loop.empty_reply"], texts.text("loop.repeated", tool="look", times="3")]
    assert [agent.model.requests[n].messages[-1].content for n in (1, 4)] == notes


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_plan_speaks_the_language(language):
    looking = [call("look"), call("look", {"place": "there"})]
    script = ['["z", "a", "b", "c"]', "z done", *looking, '["b", "c"]', "", "b done", "c done", "Done."]
    agent = PlanAgent("p", ScriptedLLM(script), tools=[look], max_turns=2, replan=True, texts=language)
    assert agent.run("go").final_output == "Done."
    said = spoken(agent)
    for key in ("plan", "begin", "replan", "failed", "revised", "step", "synthesize"):
        assert f"plan.{key}" in said
    assert all(is_chinese(text) == (language == "chinese") for key, text in said.items() if key.startswith("plan."))
    assert [e.text for e in agent.last.events if isinstance(e, Noted)] == [Texts(language)["loop.empty_reply"]]
    assert Texts(language).text("plan.tools", tools="look: Looks.") in agent.model.requests[0].messages[-1].content


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_reflection_speaks_the_language_and_passes_in_it(language):
    signal = Texts(language)["reflection.signal"]
    agent = ReflectionAgent("r", ScriptedLLM(["draft", "mend", "better", signal]), texts=language)
    result = agent.run("go")
    assert (result.final_output, result.stop_reason) == ("better", "passed in round 2")
    said = spoken(agent)
    assert set(said) == {"reflection.critic", "reflection.critique", "reflection.refine", "reflection.signal"}
    assert all(is_chinese(text) == (language == "chinese") for text in said.values())
    assert said["reflection.signal"] == signal * 2
    assert (signal == "已达最佳") == (language == "chinese")


UNFINISHED = ModelReply("so far", finish_reason="length")
TWICE = ModelReply("", (ToolCall("a", "look", "{}"), ToolCall("a", "look", "{}")), finish_reason="tool_calls")


@pytest.mark.parametrize(
    ("replies", "keys", "reason"),
    [
        ([call("look"), call("look", {"place": "there"})], ["loop.out_of_turns"], "no answer within max_turns=2"),
        (
            ["", ""], ["loop.unusable_twice", "loop.is_empty"],
            "the model gave no usable reply in turn 2, for the second time: its reply is empty",
        ),
        (
            [TWICE, TWICE], ["loop.unusable_twice", "loop.same_id"],
            "the model gave no usable reply in turn 2, for the second time: "
            + DEFAULT.text("loop.same_id", id="'a'"),
        ),
        (
            [UNFINISHED], ["loop.length"],
            DEFAULT.text("loop.length", turn="1", unrun=""),
        ),
        (
            [ModelReply("", (ToolCall("a", "look", "{}"),), finish_reason="pause")],
            ["loop.incomplete", "loop.unrun"],
            "the reply of turn 1 is incomplete (finish reason 'pause'); none of its 1 tool calls was run",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("language", LANGUAGES)
def test_why_a_step_has_no_result_is_told_in_the_language(language, replies, keys, reason):
    script = ['["a", "b"]', *replies, "b done", "Done."]
    agent = PlanAgent("p", ScriptedLLM(script), tools=[look], max_turns=2, texts=language)
    result = agent.run("go")
    # People read it in English, whatever the model speaks.
    assert (result.plan[0].reason, result.stop_reason) == (reason, f"step 1 failed: {reason}")
    said = spoken(agent)
    assert all(key in said for key in keys), said
    assert all(is_chinese(said[key]) == (language == "chinese") for key in keys)
    told = agent.model.requests[-2].messages[-1].content
    assert (reason in told) == (language == "english")


def test_a_limit_of_a_reply_is_told_in_the_language():
    agent = PlanAgent("p", ScriptedLLM(['["a", "b"]', UNFINISHED, "b", "Done."]), max_tokens=2_000, texts="chinese")
    result = agent.run("go")
    assert result.plan[0].reason == "the reply of turn 1 reached max_tokens=2,000"
    assert "第 1 轮的回复达到了 max_tokens=2,000" in agent.model.requests[2].messages[-1].content


def test_a_reason_may_be_worded_differently():
    agent = PlanAgent(
        "p", ScriptedLLM(['["a", "b"]', call("look"), "b done", "Done."]), tools=[look], max_turns=1,
        texts={"loop.out_of_turns": "it took more than {turns}"},
    )  # fmt: skip
    result = agent.run("go")
    assert "Step 1 (a) has no result: it took more than 1. " in agent.model.requests[2].messages[-1].content
    assert result.plan[0].reason == "no answer within max_turns=1"


BAD_ANSWERS = {
    "json": ["hello", "[1]", '{"mood": ', '{"mood": 1e999}', '{"mood": NaN}', '{"a": 1, "a": 2}', "{]", '{"other": 1}'],
    "lenient": ["hello", "{1: 2}"],
    "paragraph": ["hello"],
    "markdown": ["hello"],
    "tagged": ["hello"],
}


@pytest.mark.parametrize(("formatter", "answer"), [(name, bad) for name, some in BAD_ANSWERS.items() for bad in some])
def test_what_is_wrong_with_an_answer_is_told_in_the_language(formatter, answer):
    """With the rules of its form, which are told first."""
    good = '{"mood": "fine", "place": "here"}'
    good = {"paragraph": "mood: fine\nplace: here", "markdown": "# mood\nfine\n# place\nhere"}.get(formatter, good)
    name = {"lenient": "lenient json"}.get(formatter, formatter)
    told = {}
    for language in LANGUAGES:
        agent = Agent(
            "a", ScriptedLLM([answer, good]), output={"mood": "", "place": ""}, formatters=["paragraph", name],
            texts=language,
        )  # fmt: skip
        assert agent.run("go")["mood"] == "fine"
        [note] = [e.text for e in agent.last.events if isinstance(e, Noted) and e.told]
        rules = next(s.text for s in agent.last.prompt.segments if s.source.kind == "format")
        assert agent.model.requests[1].messages[-1].content == note
        told[language] = (rules, note)
    for english, chinese in zip(told["english"], told["chinese"], strict=True):
        assert not is_chinese(english)
        assert is_chinese(chinese)
        # Names, the answer and what Python's reader of JSON says are all that is left of the English.
        left = re.sub(r"`[^`]*`|<[^>]*>|答案是：.*|(?<=问题在于：)(?:Expecting|Extra)[^：]*", "", chinese)
        known = {"JSON", "Markdown", "Python", "name", "value", "mood", "place", "answer", "n", "NaN", "e", "a"}
        assert set(re.findall("[A-Za-z]+", left)) <= known, chinese


def test_a_plan_that_cannot_be_read_is_asked_for_again_in_the_language():
    for bad in ("hello", '{"steps": 3}', '{"stages": []}', '["a" "b"]', "1. a\n2. b\n\nthen\n\n1. c\n2. d", "[[1]]"):
        agent = PlanAgent("p", ScriptedLLM([bad, '["a"]', "a done", "Done."]), texts="chinese")
        agent.run("go")
        told = agent.model.requests[1].messages[-1].content
        assert told.startswith("答案无法读取。应为："), bad
        assert not re.search("Expected|Answer|wrong|there is|is no", told), told


def test_a_phrase_is_an_error_for_people_and_a_text_for_models():
    phrase = Phrase("loop.unusable", turn="3", what=Phrase("loop.is_empty"))
    error = ModelError(phrase, kind="bad_response")
    assert str(error) == "the model gave no usable reply in turn 3: its reply is empty"
    assert Texts("chinese").said(phrase_of(error)) == "模型在第 3 轮没有给出可用的回复：它的回复是空的"
    assert phrase_of(ValueError("x", 3)) == "('x', 3)"
    assert phrase == Phrase("loop.unusable", turn="3", what=Phrase("loop.is_empty"))
    assert hash(phrase) == hash(Phrase("loop.unusable", turn="4", what=""))
    assert repr(phrase) == repr(str(phrase))
    assert str(copy.deepcopy(error)) == str(pickle.loads(pickle.dumps(error))) == str(error)


def test_other_words_reach_the_model():
    agent = PlanAgent(
        "p", ScriptedLLM(['["a"]', "a done", "Done."]),
        texts={"plan.plan": "PLAN {question}{tools}", "plan.synthesize": "NOW {failed}{question}"},
    )  # fmt: skip
    agent.run("go")
    assert [request.messages[-1].content for request in agent.model.requests][::2] == ["PLAN go", "NOW go"]


def test_the_words_of_a_run_belong_to_its_requests():
    """Replayed in another language it is another run."""
    from nbagent.errors import DriftError

    result = PlanAgent("p", ScriptedLLM(['["a"]', "a done", "", "Done."])).run("go")
    with pytest.raises(DriftError):
        PlanAgent("p", ScriptedLLM([]), texts="chinese").replay(result.events)
