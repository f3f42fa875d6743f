"""An agent with memories and retrievers: what goes in, what the model may ask, what is remembered."""

from __future__ import annotations

import asyncio

import pytest

from nbagent import Agent, ContextBlock, HistoryMemory, ScriptedLLM, tool
from nbagent.errors import ConfigError, MemoryFailed
from nbagent.events import PromptAssembled
from nbagent.messages import Message


class Source:
    def __init__(self, label, *blocks, passive=True, active=False):
        self.context_label, self.blocks, self.passive, self.active = label, blocks, passive, active
        self.queries = []

    def get_blocks(self, query, *, top_k=8):
        self.queries.append((query, top_k))
        return list(self.blocks)


class Broken(Source):
    def get_blocks(self, query, *, top_k=8):
        raise KeyError("x")


def agent(script=(), **options):
    return Agent("a", ScriptedLLM(script), **options)


def test_providers_are_asked_with_all_that_is_known():
    source = Source("DOCS")
    bot = agent(["ok", "ok"], prompt_template="On {topic}.", attributes={"city": "Oslo"}, retrievers=[source],
                formatters=["paragraph", "text"])  # fmt: skip
    bot.run({"topic": "DAGs", "words": 3})
    bot.run({"topic": "trees"})
    [(first, top_k), (second, _)] = source.queries
    assert (first.query_text, top_k, first.node_name, first.messages) == ("On DAGs.", 8, "a", ())
    assert (dict(first.inputs), dict(first.attributes)) == (
        {"topic": "DAGs", "words": 3, "city": "Oslo"},
        {"city": "Oslo"},
    )
    assert [m.content for m in second.messages] == ["On DAGs.", "ok"]


def test_blocks_are_chosen_visibly_and_every_one_is_in_the_record():
    many = [ContextBlock(f"passage {n}", uri=f"docs/{n}.md", score=n / 10, title="T") for n in range(10)]
    prompt = agent(memories=[Source("MEM", "said before")], retrievers=[Source("DOCS", *many), Broken("WEB")]).observe(
        "Hi."
    )
    kept = [s for s in prompt.segments if s.source.kind == "context" and s.kept]
    left = [(s.source.detail, s.text, s.reason) for s in prompt.segments if not s.kept]
    assert [s.text for s in kept] == ["said before", *(f"passage {n}" for n in range(9, 2, -1))]
    assert (kept[1].source.uri, kept[1].source.score) == ("docs/9.md", 0.9)
    assert left[0] == ("WEB", "", "failed: KeyError: 'x'")
    assert {text: reason for _, text, reason in left[1:]} == {
        "passage 2": "over the limit of 8 blocks",
        "passage 1": "more than the 8 asked for",
        "passage 0": "more than the 8 asked for",
    }
    assert "(DOCS) passage 9\n  source: T, docs/9.md\n" in prompt.user


def test_a_run_asks_once_and_a_replay_asks_nobody():
    source = Source("DOCS", "a fact")
    bot = agent([ScriptedLLM.tool_call("nothing"), "ok"], retrievers=[source])
    result = bot.run("Hi.")
    assert len(source.queries) == 1
    source.blocks = ("another fact",)
    assert bot.replay(result.events).prompt == result.prompt
    assert len(source.queries) == 1
    cut = [event for event in result.events if not isinstance(event, PromptAssembled)][:1]
    assert "another fact" in bot.replay(cut).prompt.user


def test_the_model_asks_an_active_source_and_its_errors_are_observations():
    source = Source("RAG", ContextBlock("a fact", score=0.5), passive=False, active=True)
    script = [
        ScriptedLLM.tool_call("list_context_sources"),
        ScriptedLLM.tool_call("retrieve_context", {"source": "RAG"}),
        ScriptedLLM.tool_call("retrieve_context", {"source": "NOPE", "query": "x"}),
        ScriptedLLM.tool_call("retrieve_context", {"source": "BROKEN", "query": "x"}),
        "done",
    ]
    result = agent(script, retrievers=[source, Broken("BROKEN", passive=False, active=True)]).run("What is it?")
    texts = [exchange.observation.text for exchange in result.tool_calls]
    assert '"name": "RAG"' in texts[0]
    assert '"rendered": "[Context]\\n(RAG) a fact"' in texts[1]
    assert source.queries[0][0].query_text == "What is it?"
    assert "Unknown context source: NOPE" in texts[2]
    assert "KeyError" in texts[3]
    assert [e.observation.status for e in result.tool_calls] == ["success", "success", "error", "error"]


def test_their_schemas_have_types_and_their_names_are_free():
    @tool
    def retrieve_context(city: str) -> str:
        """Mine."""
        return city

    bot = agent(tools=[retrieve_context], retrievers=[Source("RAG", active=True)])
    assert [t.name for t in bot.observe("Hi.").tools] == [
        "retrieve_context", "list_context_sources", "nbagent_retrieve_context",
    ]  # fmt: skip
    schema = bot.observe("Hi.").tools[-1].parameters
    assert {n: p["type"] for n, p in schema["properties"].items()} == {
        "source": "string",
        "query": "string",
        "top_k": "integer",
    }
    assert schema["required"] == ["source"]
    assert bot.own_tools.names == ("retrieve_context",)


def test_one_provider_may_be_both_and_a_flag_may_change():
    source = Source("RAG", "a fact", active=True)
    bot = agent(retrievers=[source])
    prompt = bot.observe("Hi.")
    assert prompt.user.endswith("(RAG) a fact")
    assert len(prompt.tools) == 2
    source.passive = source.active = False
    prompt = bot.observe("Hi.")
    assert (prompt.user, prompt.tools) == ("Hi.", ())


def test_many_runs_of_one_agent_at_once_each_have_their_own_query():
    source = Source("RAG", "x", passive=False, active=True)
    call = ScriptedLLM.turns(ScriptedLLM.tool_call("retrieve_context", {"source": "RAG"}), "done")
    bot = Agent("a", ScriptedLLM(fallback=call), retrievers=[source])

    async def both():
        return await asyncio.gather(*[bot.arun(f"question {n}") for n in range(5)])

    results = asyncio.run(both())
    assert [f'"query": "question {n}"' in r.tool_calls[0].observation.text for n, r in enumerate(results)] == [True] * 5


# memory


def test_history_memory_keeps_plain_questions_and_repeated_turns():
    memory = HistoryMemory()
    bot = agent(
        ["ok"] * 3, prompt_template="Q: {task}", memories=[memory, Source("MEM", "x")], formatters=["paragraph", "text"]
    )
    for task in ("hi", "hi", "bye"):
        bot.run(task)
    said = [(m.role, m.content) for m in bot.model.requests[-1].messages]
    assert said[:4] == [("user", "Q: hi"), ("assistant", "ok"), ("user", "Q: hi"), ("assistant", "ok")]
    assert "CONTEXT" in said[-1][1]
    assert memory.get_messages() == bot.history
    assert [m.content for m in memory.get_messages()] == ["Q: hi", "ok", "Q: hi", "ok", "Q: bye", "ok"]


def test_agents_share_a_history_memory():
    memory = HistoryMemory()
    one, other = agent(["from one"], memories=[memory]), agent(["from other"], memories=[memory])
    one.run("first")
    other.run("second")
    assert [m.content for m in other.model.requests[-1].messages] == ["first", "from one", "second"]
    memory.reset()
    assert one.history == ()


def test_how_much_of_it_a_prompt_takes():
    memory = HistoryMemory(top_k=3, memory_size=6)
    for n in range(5):
        memory.insert(f"q{n}", f"a{n}")
    assert [m.content for m in memory.conversation.messages] == ["q2", "a2", "q3", "a3", "q4", "a4"]
    assert [m.content for m in memory.get_messages()] == ["q4", "a4"]  # never an answer without its question
    assert [m.content for m in memory.get_messages(top_k=0)] == ["q2", "a2", "q3", "a3", "q4", "a4"]
    assert [m.content for m in memory.get_messages(top_k=4)] == ["q3", "a3", "q4", "a4"]
    bot = agent(memories=[memory])
    assert [m.content for m in bot.observe("now").history] == ["q4", "a4"]
    for wrong in (-1, "3", True):
        with pytest.raises(ConfigError, match="top_k: expected a whole number"):
            HistoryMemory(top_k=wrong)


def test_a_cell_that_runs_again_takes_its_old_place_in_a_memory_too():
    memory = HistoryMemory()
    bot = agent(["a", "b", "c"], memories=[memory])
    bot.run("one", key="cell 1")
    bot.run("two", key="cell 2")
    bot.run("one more", key="cell 1")
    assert [m.content for m in memory.get_messages()][::2] == ["one more", "two"]


def test_any_object_with_get_messages_may_hold_the_history_and_only_one():
    class Mine:
        def get_messages(self, query=None, *, top_k=-1):
            return [{"role": "user", "content": "before"}, Message("assistant", "yes")]

    bot = agent(["ok"], memories=[Mine()])
    bot.run("now")
    assert [m.content for m in bot.model.requests[-1].messages] == ["before", "yes", "now"]
    with pytest.raises(ConfigError, match="one of them may hold the history, not 2"):
        agent(memories=[Mine(), HistoryMemory()])


def test_memories_with_insert_are_told_of_completed_runs_only():
    class Notes(Source):
        def insert(self, key, value):
            self.blocks = (*self.blocks, f"{key} -> {value}")

    notes = Notes("NOTES")
    bot = agent(
        [ValueError("broken"), "ok"], memories=[notes], prompt_template="Q: {task}", formatters=["paragraph", "text"]
    )
    with pytest.raises(Exception, match="broken"):
        bot.run("first")
    assert notes.blocks == ()
    bot.run("second")
    assert notes.blocks == ("Q: second -> ok",)
    assert bot.observe("third").user.endswith("(NOTES) Q: second -> ok")


def test_a_memory_that_fails_says_so_and_the_result_is_kept():
    class Full(Source):
        def insert(self, question, answer):
            raise OSError("disk full")

    class Lost:
        def get_messages(self, query=None, *, top_k=-1):
            raise KeyError("x")

    bot = agent(["ok"], memories=[Full("F")])
    with pytest.raises(MemoryFailed, match=r"the run is complete.*Full could not be told of it: OSError: disk full"):
        bot.run("hi")
    assert (bot.last.status, bot.last.final_output) == ("completed", "ok")
    lost = agent(["never"], memories=[Lost()])
    for call in (lost.observe, lost.run):
        with pytest.raises(MemoryFailed, match="the memory Lost gives no messages: KeyError: 'x'"):
            call("hi")
    assert lost.model.requests == ()


@pytest.mark.parametrize("where", ["insert", "get_messages"])
def test_an_interrupt_in_a_memory_is_an_interrupt_and_a_cancellation_where_it_is_awaited(where):
    class Slow:
        def get_messages(self, query=None, *, top_k=-1):
            if where == "get_messages":
                raise KeyboardInterrupt
            return []

        def insert(self, question, answer):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        agent(["ok"], memories=[Slow()]).run("hi")

    async def awaited():
        task = asyncio.ensure_future(agent(["ok"], memories=[Slow()]).arun("hi"))
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(awaited())


def test_a_replay_with_an_active_source_needs_no_template():
    source = Source("RAG", "x", passive=False, active=True)
    lang = {"lang": "da"}
    bot = agent(
        [ScriptedLLM.tool_call("retrieve_context", {"source": "RAG"}), "ok"],
        instructions="Speak {lang}.", attributes=lang, retrievers=[source],
    )  # fmt: skip
    result = bot.run("hi")
    del lang["lang"]
    assert bot.replay(result.events).events == result.events


def test_a_tool_that_is_registered_later_is_the_agents_own():
    def more() -> str:
        """More."""
        return "more"

    bot = agent(retrievers=[Source("RAG", passive=False, active=True)])
    bot.tools.register(more)
    assert bot.own_tools.names == ("more",)
    assert bot.tools.names == ("more", "list_context_sources", "retrieve_context")


def test_errors_of_our_own_tools_hold_no_line_of_ours():
    bot = agent(retrievers=[Source("RAG", passive=False, active=True)])
    [message] = bot.act([{"name": "retrieve_context", "arguments": {"source": "X"}}])
    assert message.content == "ValueError: Unknown context source: X. Available: ['RAG']"


def test_pushed_fields_are_no_input_of_the_next_run_and_attributes_are_nobodys_words():
    bot = agent(['{"mood": "gay"}'] * 2, attributes={"city": "Oslo"}, push_keys=["mood"])
    bot.run({"topic": "T"})
    prompt = bot.observe({"topic": "T"})
    assert "mood:" not in prompt.user
    assert "city:\nOslo" in prompt.user
    assert [m.content for m in bot.history] == ["topic: T", '{"mood": "gay"}']


def test_a_run_that_cannot_begin_leaves_script_and_conversation_where_they_are():
    class Mine:
        broken = False

        def get_messages(self, query=None, *, top_k=-1):
            if self.broken:
                raise OSError("gone")
            return []

    mine = Mine()
    bot = agent(["a", "b", "c"], memories=[mine])
    bot.run("one", key="cell 1")
    bot.run("two", key="cell 2")
    before = (bot.model.position, bot.history, list(bot.results))
    mine.broken = True
    with pytest.raises(MemoryFailed):
        bot.run("one again", key="cell 1")
    assert (bot.model.position, bot.history, list(bot.results)) == before
    mine.broken = False
    assert (bot.run("three").final_output, list(bot.results)) == ("c", [1, 2, 3])


def test_a_run_makes_no_schema_of_its_own_of_the_tools_that_ask_sources(monkeypatch):
    from nbagent.tools import tool as tools

    source = Source("RAG", "x", passive=False, active=True)
    bot = Agent("a", ScriptedLLM(["x", "y"]), retrievers=[source], texts="chinese")
    bot.run("go")
    made = []
    monkeypatch.setattr(tools, "interface", lambda *given: made.append(given))
    bot.run("go")
    assert made == []
