"""Decisions: explicit ones only, and each about a call that waits."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from nbagent import Answer, Approve, Reject, Stop
from nbagent.approvals.asking import ByDigest, Decided, Listed, matched, written_of
from nbagent.approvals.decision import decision_of, read_decision
from nbagent.approvals.pending import PendingAction, canonical, digest_of
from nbagent.errors import DecisionError
from nbagent.messages import ToolCall

ONE, TWO = PendingAction("pay", '{"amount": 1}', "c1", "d1"), PendingAction("pay", '{"amount": 2}', "c2", "d2")


def test_true_and_false_are_decisions():
    assert (decision_of(True), decision_of(False)) == (Approve(), Reject())


@pytest.mark.parametrize("given", [None, "yes", "approve", 1, 0, 1.0, [], {}, object, Approve, "true", b"1"])
def test_nothing_else_is(given):
    with pytest.raises(DecisionError, match="expected True, False, Approve"):
        decision_of(given)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Approve(arguments="x"),
        lambda: Approve(arguments=[1]),
        lambda: Approve(note=None),
        lambda: Approve(always=True),
        lambda: Approve(always="ever"),
        lambda: Reject(reason=None),
        lambda: Reject(5),
        lambda: Answer(5),
        lambda: Stop(None),
        lambda: Approve(arguments={"x": object()}).edited,
        lambda: Approve(arguments={"x": float("nan")}).edited,
    ],
)
def test_what_a_decision_holds_is_checked(make):
    with pytest.raises(DecisionError):
        make()


@pytest.mark.parametrize(
    ("said", "decision"),
    [
        ("approve", Approve()),
        ("reject", Reject()),
        ("stop", Stop()),
        (True, Approve()),
        (False, Reject()),
        ({"reject": "too risky"}, Reject("too risky")),
        ({"answer": "42"}, Answer("42")),
        ({"stop": "enough"}, Stop("enough")),
        ({"approve": {"amount": 5}}, Approve({"amount": 5})),
        ({"approve": "hurry"}, Approve(note="hurry")),
    ],
)
def test_how_a_cell_writes_them(said, decision):
    assert read_decision(said) == decision


@pytest.mark.parametrize(
    "said",
    [
        "yes",
        "answer",
        None,
        1,
        {"reject": 5},
        {"approve": None},
        {"approve": {}, "stop": ""},
        {},
        {"allow": "x"},
        ["approve"],
    ],
)
def test_what_a_cell_may_not_write(said):
    with pytest.raises(DecisionError, match="expected approve, reject, stop"):
        read_decision(said)


def test_one_decision_is_for_all_that_wait():
    assert matched(True, [ONE, TWO]) == {"d1": Approve(), "d2": Approve()}


def test_a_list_is_in_the_order_of_the_calls():
    assert matched([True, Reject("no")], [ONE, TWO]) == {"d1": Approve(), "d2": Reject("no")}
    assert matched([True], [ONE, TWO]) == {"d1": Approve()}
    assert matched([], [ONE]) == {}


def test_a_dict_is_by_call_id_or_digest_and_may_leave_calls_out():
    assert matched({"c2": False}, [ONE, TWO]) == {"d2": Reject()}
    assert matched({"d1": True}, [ONE, TWO]) == {"d1": Approve()}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"c3": True}, "no call 'c3' waits for a decision; these do: 'c1' "),
        ({"c1": None}, "expected True, False"),
        ({"c1": 1}, "expected True, False"),
        ([True, True, True], "got 3 decisions about 2 calls"),
        ([None], "expected True, False"),
        ("yes", "expected True, False"),
        (Approve({"amount": 3}), "arguments are for one call"),
    ],
)
def test_decisions_about_nothing_that_waits_are_refused(answer, why):
    with pytest.raises(DecisionError, match=why):
        matched(answer, [ONE, TWO])


def test_a_call_id_that_two_agents_use_needs_its_digest():
    other = PendingAction("pay", "{}", "c1", "d3", agent="worker")
    with pytest.raises(DecisionError, match="2 calls have the id 'c1'; name one by its digest: 'd1'"):
        matched({"c1": True}, [ONE, other])
    assert matched({"d3": True}, [ONE, other]) == {"d3": Approve()}


def test_written_decisions_are_used_once_each():
    listed = Listed([True, False, Stop()])
    assert listed((ONE,)) == {"d1": Approve()}
    assert listed((ONE, TWO)) == {"d1": Approve(), "d2": Reject()}  # what is asked again does not get the next
    assert (listed.used, listed.left) == (2, ["stop (no. 3)"])
    assert listed((replace(ONE, digest="d4"),)) == {"d4": Stop()}
    assert listed((replace(ONE, digest="d5"),)) == {}
    assert (listed.used, listed.left) == (3, [])


def test_written_decisions_stay_with_their_question():
    by_digest = ByDigest({"d1": True, "d9": False})
    assert by_digest((ONE, TWO)) == by_digest((ONE,)) == {"d1": Approve()}
    assert by_digest.left == ["reject (d9)"]


@pytest.mark.parametrize("given", [True, "approve", 5, {"c1": "yes"}.values()])
def test_written_decisions_are_a_list(given):
    with pytest.raises(DecisionError, match="decisions: expected a list"):
        written_of(given)


def test_a_decision_is_consumed():
    given = Decided({"c1": True}, [ONE, TWO])
    assert given((ONE, TWO)) == {"d1": Approve()}
    assert given((ONE, TWO)) == {}


@pytest.mark.parametrize(("decision", "pendings"), [(True, []), (None, [ONE])])
def test_a_decision_needs_something_to_decide(decision, pendings):
    with pytest.raises(DecisionError):
        Decided(decision, pendings)


def test_a_digest_changes_with_everything_it_binds():
    call = ToolCall("c", "pay", '{"amount": 1, "to": "Ann"}')
    base = ("run-1", 1, call, "function", "s")
    digest = digest_of(*base)
    assert digest == digest_of("run-1", 1, ToolCall("c", "pay", '{"to":"Ann","amount":1}'), "function", "s")
    others = [
        ("run-2", *base[1:]),
        ("run-1", 2, *base[2:]),
        ("run-1", 1, ToolCall("d", "pay", call.arguments), "function", "s"),
        ("run-1", 1, ToolCall("c", "give", call.arguments), "function", "s"),
        ("run-1", 1, ToolCall("c", "pay", '{"amount": 2, "to": "Ann"}'), "function", "s"),
        ("run-1", 1, ToolCall("c", "pay", '{"amount": 1, "to": "Ann", "x": null}'), "function", "s"),
        ("run-1", 1, ToolCall("c", "pay", '{"amount": "1", "to": "Ann"}'), "function", "s"),
        ("run-1", 1, ToolCall("c", "pay", '{"amount": true, "to": "Ann"}'), "function", "s"),
        ("run-1", 1, call, "mcp:x", "s"),
        ("run-1", 1, call, "function", "t"),
    ]
    assert len({digest, *[digest_of(*other) for other in others]}) == len(others) + 1


def test_what_is_no_json_is_its_own_form():
    assert canonical("{broken") == "{broken"
    assert PendingAction("f", "{broken", "c").shown == "f({broken)"
    assert PendingAction("f", '{"a": "ä", "b": [1]}', "c").shown == 'f(a="ä", b=[1])'
