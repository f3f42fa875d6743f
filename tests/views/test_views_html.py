import re
import subprocess
import sys

import pytest
from hostile import TEXTS
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from page import Page
from views_samples import PLACES, full_run, long_run, weather_run

from nbagent.events import PromptAssembled, RunFinished
from nbagent.messages import Prompt, Segment, Source
from nbagent.views.bundle import agent_bundle, bundle
from nbagent.views.card import Card
from nbagent.views.safe import visible
from nbagent.views.style import ROOT, STYLE


def html(events):
    return bundle(events)["text/html"]


STRUCTURE = re.findall(r"<(\w+)", html(full_run()))


@pytest.mark.parametrize("place", PLACES)
def test_hostile_text_stays_text(place):
    for text in TEXTS:
        check_text(place, text)


def check_text(place, text):
    shown = bundle(full_run(**{place: text}))
    page = Page(shown["text/html"])
    if place != "answer":
        assert all(line in page.text for line in visible(text).split("\n"))
    for each in shown.values():
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff\ud800-\udfff]", each)
        each.encode()


@pytest.mark.parametrize("place", sorted(PLACES.keys() - {"answer"}))
def test_hostile_text_adds_no_element(place):
    for text in TEXTS:
        tags = re.findall(r"<(\w+)", html(full_run(**{place: text})))
        assert sorted(set(tags)) == sorted(set(STRUCTURE))
        assert len(tags) <= len(STRUCTURE) + 3  # a label, a fold more or less, never what the text says


@given(st.sampled_from(sorted(PLACES)), st.text())
def test_any_text_stays_text(place, text):
    Page(bundle(full_run(**{place: text}))["text/html"])


def test_all_of_a_run_is_in_the_html():
    text = Page(bundle(full_run())["text/html"]).text
    hidden = {"answer", "arguments"}
    assert [place for place, said in PLACES.items() if place not in hidden and said not in text] == []
    assert '{"country": "Denmark"}' in text
    assert "You should go north." in text


def test_each_rule_of_the_style_is_about_us():
    rules = re.sub(r"@(?:media|supports)[^{]*\{((?:[^{}]*\{[^}]*\})*)\}", r"\1", STYLE)
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", rules)
    assert len(selectors) > 30
    for selector in selectors:
        assert all(each.strip().startswith(".nbagent-") for each in re.split(r",(?![^(]*\))", selector)), selector
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    assert "<" not in STYLE


def test_jupyterlabs_colours_win():
    assert STYLE.count("--n-bg:var(--jp-layout-color0,var(--vscode-editor-background,var(--nd-bg,#fff)))") == 1
    assert STYLE.count("@media(prefers-color-scheme:dark){.nbagent-run{--nd-bg:#") == 1


def test_mathjax_keeps_out():
    assert ROOT.split()[1:] == ["tex2jax_ignore", "mathjax_ignore"]
    assert bundle(weather_run())["text/html"].startswith(f'<div class="{ROOT}" ')


def opened(events):
    """The titles of the open folds."""
    found = re.findall(r"<details[^>]* open><summary>(.*?)</summary>", html(events))
    return [re.sub("<.*?>", "", title) for title in found]


def test_what_is_open():
    assert opened(weather_run()) == ["Prompt 1 tool", "Turn 1 get_weather", "Turn 2"]
    assert opened(long_run(8))[1:] == [f"Turn {n} get_weather" for n in range(1, 9)]
    assert opened(long_run(9)) == ["Prompt 1 tool"]
    assert "observation partial" in opened(full_run(observation="x" * 1_999))
    long = full_run(observation="x" * 2_000)
    assert not any(title.startswith("observation partial") for title in opened(long))
    assert "observation</i> <small>" in html(long)
    assert "2,000 characters" in html(long)


def test_a_long_prompt_is_closed():
    prompt = Prompt((Segment("system", "", "x" * 1_500, Source("template")),))
    assert opened([PromptAssembled(prompt)]) == []


def test_many_turns_are_in_one_fold_but_for_the_first_and_the_last():
    shown = html(long_run(100))
    before, _, folded = shown.partition("<b>Turns 4 to 96</b> <small>93 turns</small>")
    assert [n for n in range(1, 101) if f"<b>Turn {n}</b>" in before] == [1, 2, 3]
    inside, _, after = folded.partition("</details></div></details>")
    assert re.findall(r"<b>Turn (\d+)</b>", inside) == [str(n) for n in range(4, 97)]
    assert re.findall(r"<b>Turn (\d+)</b>", after) == ["97", "98", "99", "100"]
    Page(shown)


def test_error_and_partial_are_marked_in_words_and_in_colour():
    shown = bundle(full_run("failed"))["text/html"]
    assert '<span class="nbagent-toned nbagent-bad">error: exception</span>' in shown
    assert '<span class="nbagent-toned nbagent-warn">partial</span>' in shown
    assert '<pre class="nbagent-say nbagent-toned">because it had to</pre>' in shown
    assert '<div class="nbagent-end nbagent-bad"><b>The run failed.</b>' in shown


def test_a_declared_agent_is_safe():
    for text in TEXTS:
        Page(agent_bundle(Card(text, text, text, text, (), 1, "plan"))["text/html"])


def test_a_run_without_an_answer_loads_no_markdown():
    code = """
import sys
from nbagent.views.bundle import bundle
from nbagent.events import RunFinished, RunStarted
heavy = lambda: sorted({"markdown_it", "nh3", "markupsafe", "IPython"} & set(sys.modules))
assert not heavy(), heavy()
bundle([RunStarted("a-1", "a", "m", "live", 1), RunFinished("failed", None, "x")])
assert heavy() == ["markupsafe"], heavy()
bundle([RunFinished("completed", "x")])
assert heavy() == ["markdown_it", "markupsafe", "nh3"], heavy()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_formulas_are_those_of_the_answer_alone():
    formula = "$$x$$"
    plain = full_run(**dict.fromkeys(PLACES, formula))
    shown = html([structs.replace(plain[0], math=True), *plain[1:]])
    assert shown.count("mathjax_process") == 1
    assert "mathjax_process" not in html(plain)


def test_the_answer_is_markdown():
    shown = html([RunFinished("completed", "go **north**")])
    assert '<div class="nbagent-answer"><p>go <strong>north</strong></p></div>' in shown


def test_text_from_right_to_left_keeps_its_direction_and_moves_none_of_our_words():
    assert ".nbagent-run pre,.nbagent-answer>*{unicode-bidi:plaintext;text-align:start}" in STYLE
    assert ".nbagent-run code,.nbagent-run b,.nbagent-run :is(td,th){unicode-bidi:isolate}" in STYLE
