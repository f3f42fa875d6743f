"""Rules and policies: which calls run, which wait, which never run."""

from __future__ import annotations

import pytest

from nbagent import ApprovalPolicy, ToolRegistry, tool
from nbagent.approvals.policy import RUN, Ruling, strictest
from nbagent.approvals.rule import Rule
from nbagent.errors import ConfigError, ToolDefinitionError


def made(name, origin="function", **options):
    def function(amount: int = 1, to: str = "") -> str:
        """Do it."""
        return ""

    made = tool(name=name, **options)(function)
    made.origin = origin
    return made


READ, DELETE = made("read"), made("read_and_delete")
FILES, AGENT = made("read_file", "mcp:files"), made("translator", "agent:translator")


@pytest.mark.parametrize(
    ("rule", "about"),
    [
        ("read", [READ]),
        ("read_*", [DELETE, FILES]),
        ("r*d", [READ]),
        ("*", [READ, DELETE, FILES, AGENT]),
        ("all", [READ, DELETE, FILES, AGENT]),
        ("mcp:*", [FILES]),
        ("mcp:files", [FILES]),
        ("mcp:file", []),
        ("mcp:files/read_*", [FILES]),
        ("mcp:files/write_*", []),
        ("agent:*", [AGENT]),
        ("agent:translator", [AGENT]),
        ("READ", []),
        (" read (amount > 1) ", [READ]),
        ("read()", [READ]),
    ],
)
def test_which_tools_a_rule_is_about(rule, about):
    assert [one for one in (READ, DELETE, FILES, AGENT) if Rule(rule).names(one)] == about


@pytest.mark.parametrize(
    "rule", ["", "read me", "read(", "read(amount > )", "a.b", "pay(__import__('os'))", "mcp:files/", "=x", "read)"]
)
def test_what_is_no_rule_is_said_with_its_list(rule):
    with pytest.raises(ConfigError, match=r"^approve: "):
        ApprovalPolicy(approve=[rule])


@pytest.mark.parametrize("given", [5, [5], [None], {"a": 1}.items(), None])
def test_a_list_of_rules_is_texts(given):
    with pytest.raises(ConfigError, match=r"^auto: expected"):
        ApprovalPolicy(auto=given)


def test_one_text_is_one_rule():
    assert ApprovalPolicy(approve="pay(amount > 100)") == ApprovalPolicy(approve=["pay( amount  >  100 )"])


@pytest.mark.parametrize(
    ("policy", "arguments", "what"),
    [
        ({}, {}, "run"),
        ({"approve": ["pay"]}, {}, "ask"),
        ({"approve": ["pay(amount > 100)"]}, {"amount": 101}, "ask"),
        ({"approve": ["pay(amount > 100)"]}, {"amount": 100}, "run"),
        ({"approve": ["pay(amount > 0)"]}, {}, "ask"),  # the default, 1, counts
        ({"approve": ["all"]}, {}, "ask"),
        ({"approve": ["all"], "auto": ["pay"]}, {}, "run"),
        ({"approve": ["pay(amount > 100)"], "auto": ["all"]}, {"amount": 101}, "ask"),
        ({"approve": ["pay(amount > 100)"], "auto": ["all"]}, {"amount": 5}, "run"),
        ({"approve": ["pay"], "auto": ["pay"]}, {}, "ask"),
        ({"approve": ["pay"], "deny": ["pay"]}, {}, "deny"),
        ({"auto": ["all"], "deny": ["all"]}, {}, "deny"),
        ({"deny": ["pay(amount > 1000)"], "approve": ["pay(amount > 100)"]}, {"amount": 500}, "ask"),
        ({"deny": ["pay(amount > 1000)"], "approve": ["pay(amount > 100)"]}, {"amount": 5000}, "deny"),
        ({"approve": ["p*"], "auto": ["pay(amount < 10)"]}, {"amount": 5}, "ask"),
        # in doubt a person is asked
        ({"deny": ["pay(amount > 1000)"]}, {"amount": "many"}, "ask"),
        ({"approve": ["pay(amount > 1000)"]}, {"amount": None}, "ask"),
        ({"auto": ["pay(amount < 1000)"], "approve": ["all"]}, {"amount": "few"}, "ask"),
    ],
)  # fmt: skip
def test_the_first_rule_that_is_about_a_call_counts(policy, arguments, what):
    assert ApprovalPolicy(**policy).ruling(made("pay"), arguments).what == what


def test_a_ruling_says_why():
    policy = ApprovalPolicy(approve=["pay(amount > 100)"])
    assert policy.ruling(made("pay"), {"amount": 500}) == Ruling("ask", "approve: pay(amount > 100)")
    assert policy.ruling(made("pay"), {"amount": "x"}).why == "approve: pay(amount > 100), which cannot be decided"


@pytest.mark.parametrize(
    ("approval", "policy", "amount", "what"),
    [
        (True, {}, 5, "ask"),
        (False, {}, 5, "run"),
        (None, {}, 5, "run"),
        ("amount > 100", {}, 5, "run"),
        ("amount > 100", {}, 500, "ask"),
        ("amount > 100", {}, "x", "ask"),
        (True, {"auto": ["pay"]}, 5, "run"),
        (True, {"auto": ["all"]}, 5, "ask"),
        (False, {"approve": ["pay"]}, 5, "ask"),
        (False, {"approve": ["all"]}, 5, "run"),
        (True, {"deny": ["pay"]}, 5, "deny"),
    ],
)
def test_what_a_tool_says_of_itself_counts_after_what_is_said_of_it_by_name(approval, policy, amount, what):
    assert ApprovalPolicy(**policy).ruling(made("pay", approval=approval), {"amount": amount}).what == what


@pytest.mark.parametrize("approval", [1, 0, "", " ", "amount >", "os.system('x')", [], "yes please"])
def test_approval_of_a_tool_is_checked_where_it_is_defined(approval):
    with pytest.raises(ToolDefinitionError, match="approval"):
        made("pay", approval=approval)


def test_effect_is_checked_where_it_is_defined():
    with pytest.raises(ToolDefinitionError, match="effect must be 'read' or 'write'"):
        made("pay", effect="both")


def test_a_condition_about_an_argument_that_is_not_there_is_said():
    with pytest.raises(
        ConfigError, match=r"approve: pay\(amuont > 1\): pay has no argument 'amuont'; its arguments: amount, to"
    ):
        ApprovalPolicy(approve=["pay(amuont > 1)"]).check(ToolRegistry([made("pay")]))


def test_the_strictest_ruling_counts():
    ask, deny = Ruling("ask", "a"), Ruling("deny", "d")
    assert strictest(RUN, ask, deny) is deny
    assert strictest(ask, RUN) is ask
    assert strictest(RUN, RUN) is RUN


def test_only_what_never_runs_is_hidden():
    policy = ApprovalPolicy(deny=["drop_*", "pay(amount > 5)"])
    assert policy.hides(made("drop_all"))
    assert not policy.hides(made("pay"))


def test_equal_policies_are_equal():
    assert ApprovalPolicy(["a"], ["b"], ["c"]) == ApprovalPolicy(["a"], ["b"], ["c"])
    assert ApprovalPolicy(["a"]) != ApprovalPolicy(auto=["a"])
    assert hash(ApprovalPolicy(["a"])) == hash(ApprovalPolicy(["a"]))
    assert repr(ApprovalPolicy(["a"], deny=["c(x > 1)"])) == "ApprovalPolicy(approve=['a'], deny=['c(x > 1)'])"
    assert (bool(ApprovalPolicy()), bool(ApprovalPolicy(deny=["a"]))) == (False, True)


@pytest.mark.parametrize(
    ("policy", "arguments", "what"),
    [
        ({"approve": ["pay"], "deny": ["all"]}, {}, "deny"),  # to deny all is to deny what others approve, too
        ({"auto": ["pay"], "deny": ["all"]}, {}, "deny"),
        ({"approve": ["all(amount > 100)"]}, {"amount": 101}, "ask"),
        ({"approve": ["all(amount > 100)"]}, {"amount": 100}, "run"),
        ({"approve": ["all(amount > 100)"], "auto": ["pay"]}, {"amount": 101}, "run"),
        ({"auto": ["pay(to > 1)", "pay"], "approve": ["all"]}, {"to": "Ann"}, "run"),  # a doubt lets nothing run
        ({"auto": ["pay(to > 1)"], "approve": ["all"]}, {"to": "Ann"}, "ask"),
        ({"deny": ["pay(amount < 2)"]}, {}, "deny"),  # the argument is left out, and has a default
        ({"deny": ["pay(amount > 2)"]}, {}, "run"),
    ],
)
def test_what_else_counts_for_a_call(policy, arguments, what):
    assert ApprovalPolicy(**policy).ruling(made("pay"), arguments).what == what


def test_a_condition_about_all_tools_is_about_those_that_have_the_argument():
    policy = ApprovalPolicy(approve=["all(amount > 1)"])

    @tool
    def look() -> str:
        """Look."""
        return ""

    policy.check(ToolRegistry([made("pay"), look]))
    assert policy.ruling(look, {}).what == "ask"  # in doubt a person is asked
