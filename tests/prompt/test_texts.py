"""Texts: what nbagent itself says to a model: in two languages, with places, and each with its source."""

from __future__ import annotations

import subprocess
import sys

import pytest

from nbagent import Agent, PlanAgent, ReflectionAgent, ScriptedLLM, Texts, tool
from nbagent.errors import ConfigError
from nbagent.events import Noted, PromptAssembled
from nbagent.messages import Piece, Source
from nbagent.prompt.template import fields_in, parse
from nbagent.prompt.texts.chinese import CHINESE
from nbagent.prompt.texts.english import ENGLISH
from nbagent.prompt.texts.pack import DEFAULT, LANGUAGES, texts_of

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
    program = "import sys, nbagent; nbagent.PlanAgent; print('nbagent.prompt.texts.chinese' in sys.modules)"
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
        ({"zzz": "x"}, "texts: there is no text 'zzz'; there are loop.empty_reply, "),
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
    assert set(said) == {"reflection.critic", "reflection.critique", "reflection.refine"}
    assert all(is_chinese(text) == (language == "chinese") for text in said.values())
    assert signal in said["reflection.critique"]
    assert (signal == "已达最佳") == (language == "chinese")


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
