import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from views_samples import PLACES, full_run, weather_run

from nbagent.views.bundle import agent_bundle, bundle
from nbagent.views.card import Card
from nbagent.views.safe import visible

WEATHER = """\
weather · scripted · completed · 2 turns · 1 tool call · 68 tokens (estimated)

prompt
  system
    You are a careful meteorologist.
  user
    What's the weather in Copenhagen?
  sources
    variable role: str (system, character 19 to 31): meteorologist
    variable city: str (user, character 23 to 32): Copenhagen
  tool get_weather(city: string)
    Look up the weather.
    schema {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

prompt growth: 52 → 64 tokens (estimated)

turn 1
  call get_weather {"city": "Copenhagen"}
  observation: sunny, 24C

turn 2
  reply: the answer below

answer
  It's sunny and 24C in Copenhagen today."""

FULL = """\
traveller · maker:thinker · live · completed: because it had to · 2 turns · 2 tool calls · 40 tokens (some unknown) · \
cost unknown

prompt
  system · notes
    You are a helper.value of a variable
  examples, 2 messages
    user
      asked for example
    assistant
      answered for example
  history, 3 messages
    user
      said before
    assistant call earlier_tool {"earlier": 1}
    tool earlier_tool
      seen before
  user
    Where to go?
  sources
    variable city: str (system, character 18 to 36): value of a variable
  left out: framework web page (system): over the budget
    text that was left out
  tool find_place(country: any = …)
    Finds a place.
    parameter country
      Where to look.
    schema {"type": "object", "properties": {"country": {"description": "Where to look."}}}

prompt growth: 65 → 97 tokens (estimated)

turn 1
  reasoning
    They may like the sea.
  reply
    Let me look.
  call find_place_now {"country": "Denmark"}
  ran instead find_place_now
    {"country": "Norway"}
  observation, partial
    a long
    observation
  printed
    looking around
  figure 1: a map of the place (image/x-map)
  call find_place_now {}
  observation, error: exception
    ValueError
  error message
    what went wrong

turn 2
  incomplete reply, none of its tool calls ran: length
  reply
    cut short

answer
  You should go **north**."""


def test_the_transcript_of_a_short_run():
    assert bundle(weather_run())["text/plain"] == WEATHER


def test_the_transcript_of_everything():
    assert bundle(full_run())["text/plain"] == FULL


@pytest.mark.parametrize("place", PLACES)
def test_any_text_that_changes_changes_the_transcript(place):
    changed = full_run(**{place: "quite another text"})
    assert bundle(changed)["text/plain"] != FULL
    assert "quite another text" in bundle(changed)["text/plain"]
    assert "quite another text" in bundle(changed)["text/markdown"]


@given(st.sampled_from(sorted(PLACES)), st.text(min_size=1))
def test_every_piece_is_carried(place, text):
    plain = _spelled(bundle(full_run(**{place: text}))["text/plain"])
    assert all(line in plain for line in _spelled(visible(text)).split("\n"))


def _spelled(text):
    return text.replace("\t", "⟦U+0009⟧")


@given(st.text())
def test_text_from_outside_never_begins_a_line(text):
    """So nothing that a model or a tool says looks like a title of ours."""
    heads, usual = (
        [re.sub(r"→ \d+ tokens", "→ 97 tokens", line) for line in shown.split("\n") if line[:1].strip()]
        for shown in (bundle(full_run(reply=text))["text/plain"], FULL)
    )
    assert heads == usual


def test_it_is_the_same_each_time():
    assert bundle(full_run()) == bundle(full_run())


def test_the_prompt_is_shown_as_it_is_sent():
    shown = bundle(full_run(system="a\n", variable="b\n" * 21, user="c"))["text/plain"]
    assert "  system · notes\n    a\n" + "    b\n" * 21 in shown
    assert "    variable city: str (system, character 3 to 44)\n" in shown


def test_a_declared_agent():
    from views_samples import WEATHER as TOOL

    card = agent_bundle(Card("weather", "scripted", "scripted", "You are <b>careful</b>.", (TOOL,), 2))
    assert card["text/plain"].split("\n")[:3] == [
        "weather · scripted · 1 tool · 2 messages",
        "  system",
        "    You are <b>careful</b>.",
    ]
    assert "You are &lt;b&gt;careful&lt;/b&gt;." in card["text/html"]
    assert set(card) == {"text/html", "text/markdown", "text/plain"}
