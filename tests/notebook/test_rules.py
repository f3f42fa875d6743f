"""Rules in a cell: which tool calls wait, which run, which never run."""

from __future__ import annotations

import pytest

from nbagent import AgentSpec, ApprovalPolicy, build_agent, read_spec
from nbagent.errors import CellError, ConfigError
from nbagent.notebook.cell import parse_cell

TOOLS = (
    "from nbagent import tool\n"
    "done = []\n"
    "@tool\n"
    "def pay(to: str, amount: int) -> str:\n"
    "    'Pay.'\n"
    "    done.append(amount)\n"
    "    return f'paid {amount}'\n"
    "@tool(approval=True)\n"
    "def search(query: str) -> str:\n"
    "    'Search.'\n"
    "    return 'found'\n"
)
PAYS = "script:\n- call: pay\n  args: {to: Ann, amount: 120}\n- Done.\n---\nGo"


def rules(header):
    spec = parse_cell("bot", f"{header}\n---\nGo").spec
    return [one.text for key in ("approve", "auto", "deny") for one in getattr(spec, key) or ()]


@pytest.mark.parametrize(
    ("header", "read"),
    [
        ("approve: [search, pay(amount > 100), mcp:*, all]", ["search", "pay(amount > 100)", "mcp:*", "all"]),
        ("approve: search, pay(amount  >  100),all", ["search", "pay(amount > 100)", "all"]),
        ("auto: [pay(amount in (1, 2)), b]", ["pay(amount in (1, 2))", "b"]),
        ("auto: pay(amount in (1, 2)), b", ["pay(amount in (1, 2))", "b"]),
        ('deny: pay(to == "a, b)"), c_*', ['pay(to == "a, b)")', "c_*"]),
        ('approve:\n- pay(to in ["a", "b"])\n- mcp:files/read_*', ['pay(to in ["a", "b"])', "mcp:files/read_*"]),
        ("deny: ['*_file', \"pay(to in ['a'])\"]", ["*_file", "pay(to in ['a'])"]),
        ("approve: all", ["all"]),
    ],
)
def test_rules_are_read_from_a_list_and_from_a_text(header, read):
    assert rules(header) == read


@pytest.mark.parametrize(
    ("header", "match"),
    [
        ("approve: []", "Cell line 2: `approve` must be a list of tools"),
        ("max_turns: 3\nauto: {pay: 1}", "Cell line 3: `auto` must be a list of tools"),
        ("approve:\n- search\n- pay(amount >)", "Cell line 4: `approve`: expected a condition"),
        ("approve: [pay(amount > 1]", "Cell line 2: `approve`: .*got 'pay.amount > 1'.*into quotes"),
        ("approve: [pay(a in [1, 2])]", "Cell line 2: .* needs quotes"),
        ('approve: pay(amount > 1, to == "Ann")', "Cell line 2: `approve`: .* with and, or"),
        ("deny: [read file]", "Cell line 2: `deny`: expected a tool by name"),
        ("approve: [[a], b]", "Cell line 2: `approve` must be a list"),
    ],
)
def test_a_wrong_rule_names_its_line(header, match):
    with pytest.raises(CellError, match=match):
        rules(header)


@pytest.mark.parametrize(
    ("header", "match"),
    [
        ("approve: [pya]", "Cell line 3: `approve`: the agent has no tool 'pya'; did you mean 'pay'"),
        (
            "approve:\n- search\n- pay(amont > 100)",
            "Cell line 5: `approve`: .*pay has no argument 'amont'; its arguments",
        ),
        ("auto: p*(sum > 3)", "Cell line 3: `auto`: .*pay has no argument 'sum'"),
        ("deny: [sarch(query == 'x')]", "Cell line 3: `deny`: the agent has no tool 'sarch'"),
    ],
)
def test_a_rule_about_what_there_is_not_is_an_error_before_anything_happens(header, match, shell):
    shell.run(TOOLS)
    with pytest.raises(CellError, match=match):
        shell.run(f"%%agent bot\ntools: [pay, search]\n{header}\n{PAYS}")
    assert "bot" not in shell.ns
    with pytest.raises(CellError, match="Magic line: `--approve`: the agent has no tool 'pya'"):
        shell.run("%%agent bot --approve pya --tools pay\nscript: [x]\n---\nGo")


def test_a_rule_may_be_about_a_tool_of_an_agent_inside(shell):
    shell.run(TOOLS)
    shell.run("%%agent inner\ntools: [pay]\nscript: [x]\n---\n")
    shell.run("%%agent bot\ntools: [agent:inner]\napprove: [pay(amount > 1)]\nscript: [x]\n---\n")
    with pytest.raises(CellError, match="pay has no argument 'sum'"):
        shell.run("%%agent bot\ntools: [agent:inner]\napprove: [pay(sum > 1)]\nscript: [x]\n---\n")


def test_what_is_denied_by_name_is_hidden_and_by_rule_is_refused(shell):
    shell.run(TOOLS)
    shell.run(f"%%agent bot\ntools: [pay, search]\ndeny: [search, pay(amount > 100)]\n{PAYS}")
    bot = shell.ns["bot"]
    assert (bot.permissions, bot.approvals) == (None, ApprovalPolicy(deny=["search", "pay(amount > 100)"]))
    assert bot.tools.names == ("pay",)
    assert "not permitted here (deny: pay(amount > 100))" in bot.last.tool_calls[0].observation.text
    assert shell.ns["done"] == []


@pytest.mark.parametrize("rule", ["pay", "p*", "pay(amount > 1)"])
def test_what_is_denied_no_agent_inside_may_call_either(shell, rule):
    shell.run(TOOLS)
    shell.run(f"%%agent inner\ntools: [pay]\n{PAYS}")
    assert len(shell.ns["done"]) == 1
    shell.run("%agent reset inner")
    outer = "script:\n  - call: inner\n    args: {task: Pay}\n  - It is done.\n---\nGo"
    shell.run(f"%%agent bot\ntools: [agent:inner]\ndeny: [{rule}]\n{outer}")
    assert shell.ns["bot"].last.final_output == "It is done."
    assert len(shell.ns["done"]) == 1
    with pytest.raises(CellError, match="the agent has no tool 'pey'; did you mean 'pay'"):
        shell.run(f"%%agent bot\ntools: [agent:inner]\ndeny: [pey]\n{outer}")


def test_rules_stay_where_a_cell_does_not_speak_of_them(shell):
    shell.run(TOOLS)
    shell.run("%%agent bot\ntools: [pay, search]\napprove: [pay]\nauto: all\ndeny: [search]\nscript: [x]\n---\n")
    bot = shell.ns["bot"]
    bot.decide = decide = lambda pendings: True
    shell.run("%agent --max-turns 3 bot")
    assert bot.approvals == ApprovalPolicy(["pay"], ["all"], ["search"])
    assert bot.decide is decide
    shell.run("%agent --approve search bot")
    assert bot.approvals == ApprovalPolicy(["search"], ["all"], ["search"])
    shell.run("%agent --deny 'p*' bot")
    assert bot.approvals == ApprovalPolicy(["search"], ["all"], ["p*"])
    shell.run("%%agent bot\ntools: [pay]\nscript: [x]\n---\n")
    assert bot.approvals == ApprovalPolicy()


def test_a_spec_says_the_same():
    spec = AgentSpec("bot", tools=["pay"], approve=["pay(amount > 100)"], auto="all", deny=["x", "y_*"])
    assert (spec.approve, spec.auto, spec.deny) == (["pay(amount > 100)"], ["all"], ["x", "y_*"])
    assert read_spec(str(spec)) == spec
    assert read_spec(spec.to_yaml()) == spec
    assert "approve: [pay(amount > 100)]\n" in str(spec)

    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    made = build_agent(AgentSpec("bot", script=["Hi."], tools=[pay], approve=["pay(amount > 100)"], deny=["pay"]))
    assert made.approvals == ApprovalPolicy(["pay(amount > 100)"], deny=["pay"])
    assert (made.permissions, made.tools.names) == (None, ())
    for wrong, match in ((["pay(sum > 1)"], "approve: .* no argument 'sum'"), ([3], "approve: .*got 3")):
        with pytest.raises(ConfigError, match=match):
            build_agent(AgentSpec("bot", script=["Hi."], tools=[pay], approve=wrong))
    with pytest.raises(ConfigError, match="approve and approvals"):
        AgentSpec("bot", approve=["pay"], approvals=ApprovalPolicy())


def test_permissions_of_another_kind_are_not_lost_to_a_cell(shell):
    shell.run("def f() -> str:\n    'F.'\n    return 'x'\ndef g() -> str:\n    'G.'\n    return 'x'")
    shell.run(
        "from nbagent import Agent, ScriptedLLM, ToolPermissions\n"
        "class Mine:\n"
        "    permitted = ToolPermissions(deny=['g']).permitted\n"
        "    def __repr__(self):\n        return 'Mine'\n"
        "bot = Agent('bot', ScriptedLLM(['x', 'y']), tools=[f, g], permissions=Mine())"
    )
    with pytest.raises(CellError, match="permissions: the agent has Mine, which a cell cannot change"):
        shell.run("%%agent bot --allow f\nGo")
    shell.run("%%agent bot --deny f\nGo")
    assert [tool.name for tool in shell.ns["bot"].tools] == []
    assert repr(shell.ns["bot"].permissions) == "Mine"
