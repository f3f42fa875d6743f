"""A tool retriever chooses the tools that fit a run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from nbagent.agents.tool_retriever import ToolRetriever
from nbagent.errors import ConfigError
from nbagent.prompt.context.block import ContextBlock
from nbagent.prompt.context.retrievers import KeywordRetriever, VectorRetriever
from nbagent.tools.permissions import ToolPermissions
from nbagent.tools.registry import ToolRegistry
from nbagent.tools.tool import tool


@tool
def get_weather(city: str) -> str:
    """Looks up how warm it is."""
    return city


@tool
def send_mail(address: str, body: str) -> str:
    """Writes to somebody."""
    return address


@tool(name="createIssue")
def create_issue(repository: str, longTitle: str) -> str:
    """Reports a bug."""
    return repository


@tool
def pay(amount: int) -> str:
    """Transfers money."""
    return f"{amount}"


@tool
def ask_user(question: str) -> str:
    """Asks a person."""
    return question


TOOLS = (get_weather, send_mail, create_issue, pay, ask_user)
ALL = tuple([one.name for one in TOOLS])


def selected(query, *arguments, tools=TOOLS, **options):
    return ToolRetriever(*arguments, **options).select(ToolRegistry(tools), query).names


class Fixed:
    """A provider that finds these names, with these scores."""

    def __init__(self, *found):
        self.found, self.asked, self.texts = found, [], []

    def __call__(self, texts):
        self.texts.append(dict(texts))
        return self

    def get_blocks(self, query, *, top_k=8):
        self.asked.append((query.query_text, top_k))
        return [ContextBlock("x", uri=name, score=score) for name, score in self.found]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("What is the weather?", "get_weather"),
        ("how warm", "get_weather"),
        ("in which cities", "get_weather"),
        ("mails", "send_mail"),
        ("open an issue", "createIssue"),
        ("call createIssue", "createIssue"),
        ("a title", "createIssue"),
        ("money", "pay"),
    ],
)
def test_a_tool_is_found_by_its_name_its_description_and_its_parameters(query, name):
    assert selected(query, 1) == (name,)


def test_the_best_are_taken_and_stay_in_their_order():
    query = "mail the weather, and again the weather in the city"
    assert selected(query, 1) == ("get_weather",)
    assert selected(query, 2) == ("get_weather", "send_mail")
    assert selected("money by mail for the weather", 3, tools=TOOLS[::-1]) == ("pay", "send_mail", "get_weather")


def test_of_equal_ones_the_first_are_taken():
    same = [tool(name=f"look_{tree}", description="Looks.")(lambda: 1) for tree in ("oak", "fir", "elm")]
    assert selected("look", 2, tools=same) == ("look_oak", "look_fir")


def test_some_are_always_included_besides_the_best():
    assert selected("weather", 1, ["ask_user", "pay"]) == ("get_weather", "pay", "ask_user")
    assert selected("weather", 1, ["get_weather"]) == ("get_weather",)
    assert selected("how warm the weather is, and money", 1, ["get_weather"]) == ("get_weather", "pay")


@pytest.mark.parametrize("query", ["", "  ", "zebra", "the of and"])
def test_where_nothing_fits_all_or_none_are_taken(query):
    registry = ToolRegistry(TOOLS)
    assert ToolRetriever(1, ["pay"]).select(registry, query) is registry
    assert selected(query, 1, ["pay"], on_empty="none") == ("pay",)
    assert selected(query, 1, on_empty="none") == ()


@pytest.mark.parametrize("top_k", [5, 8])
def test_where_all_may_be_taken_nobody_is_asked(top_k):
    registry, retriever = ToolRegistry(TOOLS), Fixed()
    assert ToolRetriever(top_k, retriever=retriever, on_empty="none").select(registry, "weather") is registry
    assert retriever.texts == []
    assert ToolRetriever(1).select(empty := ToolRegistry(), "weather") is empty


def test_what_is_always_included_has_to_be_there():
    for top_k in (1, 8):
        with pytest.raises(ConfigError, match=f"no tool 'nope'; there are: {', '.join(ALL)}"):
            selected("weather", top_k, ["pay", "nope"])


def test_the_selection_is_a_view():
    registry = ToolRegistry(TOOLS)
    chosen = ToolRetriever(1).select(registry, "weather")
    assert chosen.schemas is chosen.schemas
    assert chosen.get("pay") is None
    assert chosen.refusal("pay") is None
    assert str(chosen.unknown("pay")) == 'there is no tool "pay"; your tools are: get_weather'
    registry.remove("get_weather")
    assert chosen.names == ()


def test_what_is_not_permitted_is_not_found_and_stays_refused():
    view = ToolPermissions(deny=["get_weather"]).permitted(ToolRegistry(TOOLS))
    chosen = ToolRetriever(1).select(view, "the weather, by mail")
    assert chosen.names == ("send_mail",)
    assert str(chosen.refusal("get_weather")) == (
        "the tool 'get_weather' is not permitted here; your tools are: send_mail"
    )


def test_the_index_is_made_anew_only_for_other_tools():
    registry, found = ToolRegistry(TOOLS), Fixed(("pay", 1.0))
    retriever = ToolRetriever(2, retriever=found)
    for _ in range(3):
        retriever.select(registry, "a")
        retriever.select(ToolRegistry(TOOLS), "b")  # as an agent with active providers makes them for each run
    assert len(found.texts) == 1
    registry.remove("ask_user")
    retriever.select(registry, "c")
    assert [list(texts) for texts in found.texts] == [list(ALL), list(ALL[:-1])]


def test_another_retriever_is_given_the_texts_and_asked_for_all():
    found = Fixed(("pay", 0.1), ("send_mail", 0.9), ("send_mail", 0.8), ("createIssue", 0.5))
    assert selected("a question", 2, retriever=found) == ("send_mail", "createIssue")
    assert found.asked == [("a question", 5)]
    assert found.texts[0]["get_weather"] == "get_weather\nLooks up how warm it is.\ncity"
    assert found.texts[0]["createIssue"] == (
        "createIssue create Issue\nReports a bug.\nrepository\nlongTitle long Title"
    )


def test_any_provider_of_ours_will_do():
    def letters(text):
        return [text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"]

    assert selected(
        "get_weather looks up how warm it is city", 1, retriever=lambda texts: VectorRetriever(texts, letters)
    ) == ("get_weather",)
    assert selected("geld", 1, tools=[*TOOLS, tool(name="zahlen", description="Zahlt Gelder.")(lambda: 1)],
                    retriever=lambda texts: KeywordRetriever(texts, language="german")) == ("zahlen",)  # fmt: skip


@pytest.mark.parametrize("uri", ["nope", None])
def test_a_retriever_that_finds_something_else_is_an_error(uri):
    with pytest.raises(ConfigError, match="expected blocks whose uri is a tool's name, got"):
        selected("x", 1, retriever=Fixed((uri, 1.0)))


def test_what_a_retriever_raises_is_raised():
    class Broken(Fixed):
        def get_blocks(self, query, *, top_k=8):
            raise OSError("no network")

    with pytest.raises(OSError, match="no network"):
        selected("x", 1, retriever=Broken())
    with pytest.raises(ConfigError, match="expected a context provider"):
        selected("x", 1, retriever=lambda texts: texts)


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((0,), {}, "top_k: expected a whole number of at least 1, got int: 0"),
        ((True,), {}, "top_k"),
        ((1, "pay"), {}, r"always_include: expected a list of names, got str: 'pay'; write \['pay'\]"),
        ((1, [pay]), {}, "always_include: expected names, got Tool"),
        ((1,), {"on_empty": "some"}, "on_empty: expected 'all' or 'none', got str: 'some'"),
        ((1,), {"retriever": KeywordRetriever([])}, "retriever: expected a function of texts by name, got Keyword"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, options, said):
    with pytest.raises(ConfigError, match=f"ToolRetriever: {said}"):
        ToolRetriever(*arguments, **options)


def test_its_repr_says_how_it_chooses():
    assert repr(ToolRetriever(always_include=("pay",))) == "ToolRetriever(8, ['pay'], on_empty='all')"


def test_a_missing_library_is_named_where_the_retriever_is_made():
    code = """
import sys
sys.modules["bm25s"] = sys.modules["Stemmer"] = None
from nbagent.agents.tool_retriever import ToolRetriever
ToolRetriever(retriever=lambda texts: None)
try:
    ToolRetriever()
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == 'ToolRetriever needs bm25s and Stemmer: pip install "jupyter-nbagent[context]"\n'
