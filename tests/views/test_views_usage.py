import re

from page import Page
from views_samples import long_run, weather_run
from work_samples import nested_run

from nbagent.events import ModelReplied
from nbagent.messages import ModelReply
from nbagent.views.bundle import bundle
from nbagent.views.growth import BARS
from nbagent.views.html_usage import usage_html
from nbagent.views.trace import Trace
from nbagent.views.usage import TurnUsage


def test_each_turn_has_a_bar_of_what_was_read_and_written():
    usage = TurnUsage.of(Trace.of(weather_run()))
    assert usage.bars == ({"history": 30, "reply": 10}, {"history": 20, "reply": 8})
    assert usage.line == "50 tokens read, 18 written (estimated)"
    html = bundle(weather_run())["text/html"]
    assert f"<b>Tokens per turn</b> <small>{usage.line}</small>" in html
    assert f"turn by turn: {usage.line}.</title>" in html


def test_of_many_turns_each_bar_is_several():
    usage = TurnUsage.of(Trace.of(long_run(1_000)))
    assert (len(usage.bars), usage.group) == (BARS, 25)
    assert sum(sum(bar.values()) for bar in usage.bars) == 25_000
    html = usage_html(Trace.of(long_run(1_000)))
    assert len(html) < 4_000
    assert len(re.findall("M", re.search('d="(.*?)"', html)[1])) == BARS
    Page(html)


def test_there_is_none_where_there_is_nothing_to_say():
    uncounted = [ModelReplied(e.turn, ModelReply("x")) if isinstance(e, ModelReplied) else e for e in weather_run()]
    for events in (weather_run()[:6], uncounted):
        assert usage_html(Trace.of(events)) == ""


def test_it_has_a_legend_and_counts_the_runs_inside():
    html = usage_html(Trace.of(weather_run()))
    assert "read <small>50</small>" in html
    assert "written <small>18</small>" in html
    assert "with the runs inside it" not in html
    trace = Trace.of(nested_run().events)
    assert TurnUsage.of(trace).total == trace.usage
    assert "each bar is a turn, with the runs inside it" in usage_html(trace)
