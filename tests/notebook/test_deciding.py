"""Approvals in cells and lines: what is decided beforehand, by whom, and how a run that waits goes on."""

from __future__ import annotations

import json

import nbformat
import pytest

from nbagent import Answer, Approve, Reject, Stop
from nbagent.approvals.pending import PendingAction
from nbagent.errors import CellError, ConfigError, DecisionError, DecisionsLeftOver, RunInterrupted
from nbagent.notebook.cell import parse_cell
from nbagent.notebook.deciding import who_decides
from nbagent.notebook.in_words import in_words
from nbagent.redact import know_environment
from nbagent.views.approval import approval_text

PAY = (
    "from nbagent import tool\n"
    "done = []\n"
    "@tool\n"
    "def pay(to: str, amount: int) -> str:\n"
    "    'Pay.'\n"
    "    done.append((to, amount))\n"
    "    return f'paid {amount}'\n"
)
TWICE = (
    "tools: [pay]\napprove: [pay(amount > 100)]\nscript:\n"
    "- call: pay\n  args: {to: Ann, amount: 120}\n"
    "- call: pay\n  args: {to: Bob, amount: 130}\n"
    "- Done.\n"
)
AT_ONCE = (
    "tools: [pay]\napprove: all\nscript:\n"
    "- calls: [{call: pay, args: {to: Ann, amount: 1}}, {call: pay, args: {to: Bob, amount: 2}}]\n"
    "- Done.\n---\nGo"
)


def cell(more="", name="buyer"):
    return f"%%agent {name}\n{TWICE}{more}\n---\nGo"


@pytest.fixture
def waiting(shell):
    """A shell in which `buyer` waits for a decision about its first call."""
    shell.run(PAY)
    with pytest.raises(RunInterrupted):
        shell.run(cell())
    return shell


def verdicts(shell, name="buyer"):
    events = shell.ns[name].last.events
    return [(one.verdict, one.text, one.by) for one in events if type(one).__name__ == "ApprovalDecided"]


# decided beforehand


@pytest.mark.parametrize(
    ("header", "decisions"),
    [
        ("decisions: [approve, reject, stop]", [Approve(), Reject(), Stop()]),
        ('decisions: [approve, reject: "too risky"]', [Approve(), Reject("too risky")]),
        ("decisions:\n- answer: 42\n- reject: no\n- stop: 1.0", [Answer("42"), Reject("no"), Stop("1.0")]),
        ("decisions:\n- approve: {amount: 5, to: no}", [Approve({"amount": 5, "to": "no"})]),
        ("decisions: [{approve: be quick}, true, false]", [Approve(note="be quick"), Approve(), Reject()]),
        ("decisions: approve", [Approve()]),
        ("decisions: approve, reject", [Approve(), Reject()]),
        ('decisions: \'["approve", {"reject": "x"}]\'', [Approve(), Reject("x")]),
    ],
)
def test_decisions_are_read(header, decisions):
    assert list(parse_cell("bot", f"{header}\n---\nGo").spec.decisions.listed) == decisions


@pytest.mark.parametrize(
    ("header", "match"),
    [
        ("decisions: []", "Cell line 2: `decisions` must be a list of decisions"),
        ("decisions: {reject: x}", "Cell line 2: `decisions` must be a list"),
        ("decisions:\n- approve\n- yes", "Cell line 4: a decision: expected approve, .*got 'yes'"),
        ("decisions: [1]", "Cell line 2: a decision: .*got 1"),
        ("decisions: [approve: [1]]", "Cell line 2: a decision: .*got {'approve': "),
        ("decisions: [answer: {a: 1}]", "Cell line 2: a decision: expected"),
        ("decisions: '[approve'", "Cell line 2: .*this is not JSON"),
        ("on_approval: maybe", "`on_approval` must be `wait`, `suspend`, `input` or `deny`; got `maybe`"),
    ],
)
def test_what_is_no_decision_names_its_line(header, match):
    with pytest.raises(CellError, match=match):
        parse_cell("bot", f"{header}\n---\nGo")


def test_decisions_of_the_cell_are_taken_in_their_order(shell):
    shell.run(PAY)
    text = shell.text(cell('decisions: [approve, reject: "too risky"]'))
    assert verdicts(shell) == [("approved", "", "cell"), ("rejected", "too risky", "cell")]
    assert shell.ns["done"] == [("Ann", 120)]
    assert "The reason: too risky" in text


def test_a_header_that_only_decides_leaves_the_agent_as_it_is(shell):
    shell.run(PAY)
    shell.run("%%agent buyer\n" + TWICE + "---\n")
    shell.run("%%agent buyer\ndecisions: [approve, approve]\n---\nGo")
    assert shell.ns["done"] == [("Ann", 120), ("Bob", 130)]
    shell.run("%agent reset buyer")
    shell.run("%agent --decisions approve,stop buyer Go")
    assert shell.ns["buyer"].last.status == "cancelled"


def test_too_few_decisions_leave_the_run_waiting_and_too_many_are_an_error_after_it(shell):
    shell.run(PAY)
    with pytest.raises(RunInterrupted, match=r'about pay\(to="Bob", amount=130\)'):
        shell.run(cell("decisions: [approve]"))
    shell.run("%agent approve buyer")
    with pytest.raises(DecisionsLeftOver, match=r'reject: "x" \(no. 3\)'):
        shell.run(cell("decisions: [approve, approve, reject: x]"))
    assert "Done." in shell.outputs[0]["text/plain"]
    assert len(shell.ns["done"]) == 4


def test_a_file_decides_by_digest(shell, tmp_path):
    shell.run(PAY)
    with pytest.raises(RunInterrupted):
        shell.run(cell(name="other"))
    digest = shell.ns["other"].last.interrupt.pending.digest
    path = tmp_path / "ci.json"
    path.write_text(json.dumps({digest: {"reject": "too risky"}}))
    with pytest.raises(RunInterrupted, match="Ann"):  # another run
        shell.run(cell(f"decisions: {path}", name="third"))
    del shell.ns["other"]
    with pytest.raises(RunInterrupted, match="Bob"):
        shell.run(cell(f"decisions: {path}", name="other"))
    assert verdicts(shell, "other") == [("rejected", "too risky", "file")]
    path.write_text("{")
    with pytest.raises(CellError, match=r"Cell line 10: `decisions`: .*ci.json: this is not JSON"):
        shell.run(cell(f"decisions: {path}", name="fourth"))
    assert "fourth" not in shell.ns


def test_decisions_about_a_plan(shell):
    plan = (
        "%%plan p\ntools: [pay]\napprove: all\nscript:\n- '[\"Pay\"]'\n"
        "- call: pay\n  args: {to: A, amount: 1}\n- Paid.\n- Done.\n"
    )
    shell.run(PAY)
    shell.run(plan + "decisions: [approve]\npropose: yes\n---\nGo")
    shell.run("%plan p --run")
    assert shell.ns["p"].last.final_output == "Done."
    shell.run(plan + "propose: yes\n---\nGo")
    with pytest.raises(CellError, match="waits with its plan: run it with `%plan p --run`"):
        shell.run("%agent approve p")
    assert "%plan p --run" in shell.text("%agent pending")
    shell.run("%plan --decisions approve --run p")
    assert verdicts(shell, "p") == [("approved", "", "cell")]
    shell.run(plan + "propose: yes\n---\nGo")
    with pytest.raises(DecisionsLeftOver, match=r"stop \(no. 2\)"):
        shell.run("%plan --decisions approve,stop --run p")
    shell.run(plan + "propose: yes\n---\nGo")
    with pytest.raises(RunInterrupted):
        shell.run("%plan p --run")
    shell.run("%plan approve p")
    assert shell.ns["p"].last.final_output == "Done."


# nobody is there


def test_without_anybody_the_cell_shows_the_run_and_ends_with_an_error_of_one_line(waiting):
    [data] = waiting.outputs
    assert "waits for a decision" in data["text/plain"]
    with pytest.raises(RunInterrupted) as error:
        waiting.run(cell(name="other"))
    [line] = error.value._render_traceback_()
    assert line == (
        'RunInterrupted: other waits for a decision about pay(to="Ann", amount=120). Decide with `%agent approve '
        "other` or `%agent reject other --reason '…'`, or beforehand in the cell: `decisions: [approve]` "
        "(`%agent pending` shows all of it)"
    )
    assert waiting.ns["done"] == []


def test_deny_rejects_what_nobody_has_decided(shell):
    shell.run(PAY)
    shell.run(cell("on_approval: deny\ndecisions: [approve]"))
    assert verdicts(shell) == [("approved", "", "cell"), ("rejected", "nobody could be asked", "policy")]
    shell.run("%agent reset buyer\n%agent --on-approval deny buyer Go")
    assert [one[0] for one in verdicts(shell)] == ["rejected", "rejected"]


def test_a_result_that_waits_is_kept_under_its_name(shell):
    shell.run(PAY)
    with pytest.raises(RunInterrupted):
        shell.run(cell("out: result\nquiet: yes"))
    assert shell.ns["result"].interrupted
    assert shell.outputs == []


@pytest.mark.parametrize(
    "line", ["%agent buyer Go on", "%%agent buyer\nGo on", "%%agent buyer\nscript: [x]\n---\nGo on"]
)
def test_another_run_while_one_waits_is_refused_before_anything_changes(line, waiting):
    model = waiting.ns["buyer"].model
    with pytest.raises(ConfigError, match=r"buyer waits for a decision about pay.*%agent approve buyer"):
        waiting.run(line)
    assert waiting.ns["buyer"].model is model
    waiting.run("%%agent lead\ntools: [agent:buyer]\nscript:\n- call: buyer\n  args: {task: x}\n- ok\n---\n")
    waiting.run("%agent discard buyer\n%agent reset buyer")
    with pytest.raises(RunInterrupted, match=r"lead waits for a decision about pay.*%agent approve lead"):
        waiting.run("%agent lead Go")


# who decides


@pytest.mark.parametrize(
    ("said", "quiet", "there", "who"),
    [
        (None, False, False, "nobody"), (None, False, True, "person"), (None, True, True, "nobody"),
        ("wait", False, True, "person"), ("suspend", False, True, "nobody"), ("deny", False, True, "deny"),
        ("input", True, False, "words"),
    ],
)  # fmt: skip
def test_who_decides(said, quiet, there, who, monkeypatch):
    monkeypatch.setattr("sys.stdin", type("Terminal", (), {"isatty": lambda self: there})())
    assert who_decides(object(), said, quiet=quiet) == who


@pytest.fixture
def typed(monkeypatch):
    """What is typed, line by line; and what was printed before each."""
    lines, prompts = [], []

    def answer(prompt=""):
        prompts.append(prompt)
        line = lines.pop(0)
        if isinstance(line, BaseException):
            raise line
        return line

    monkeypatch.setattr("builtins.input", answer)
    return lines, prompts


def test_a_person_decides_in_words(shell, typed):
    lines, prompts = typed
    lines += ["what", "e {", 'edit {"to": "Ann"}', 'edit {"to": "Ann", "amount": 101}', "r", "too much"]
    shell.run(PAY)
    shell.run(cell("on_approval: input"))
    assert shell.ns["done"] == [("Ann", 101)]
    assert [(verdict, text) for verdict, text, _ in verdicts(shell)] == [("approved", ""), ("rejected", "too much")]
    assert "\n  amount: 120\n" in prompts[0]
    assert "this is not JSON" in prompts[2]
    assert "expected a value of type integer" in prompts[3]
    assert len(prompts) == 6


def test_an_interrupt_leaves_the_run_waiting(shell, typed):
    typed[0].append(KeyboardInterrupt())
    shell.run(PAY)
    with pytest.raises(KeyboardInterrupt):
        shell.run(cell("on_approval: input"))
    assert "waits for a decision" in shell.outputs[0]["text/plain"]
    typed[0].append(EOFError())
    with pytest.raises(RunInterrupted, match="Bob"):
        shell.run("%agent --on-approval input approve buyer")


def test_the_words():
    one, other = [
        PendingAction("pay", f'{{"amount": {n}}}', f"call_{n}", f"d{n}", "buyer", "mcp:bank", "why") for n in (1, 2)
    ]
    started = PendingAction("pay", "{}", "call_3", "d3", "buyer", kind="unknown")

    def said(*lines, about=(one,)):
        left = list(lines)
        found = in_words(about, lambda prompt: left.pop(0))
        assert left == []
        return found

    assert said("a") == said("Approve") == said("nonsense", "", "y") == {"d1": Approve()}
    assert said("approve be quick") == {"d1": Approve(note="be quick")}
    assert said('e {"amount": 3}') == said("edit", '{"amount": 3}') == said("e [1]", 'e {"amount": 3}')
    assert said("reject no, thanks") == said("r", "no, thanks") == {"d1": Reject("no, thanks")}
    assert said("answer 5") == said("answer", "5") == said("answer", "", "answer", "5") == {"d1": Answer("5")}
    assert said("a", "r x", about=(one, other)) == {"d1": Approve(), "d2": Reject("x")}
    assert said("s", about=(one, other)) == {"d1": Stop(), "d2": Stop()}
    assert said("e {}", "answer ran", about=(started,)) == {"d3": Answer("ran")}


def test_what_is_asked_in_words_shows_what_is_not_seen_and_no_secret(monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", secret := "tell-nobody-of-it")
    know_environment()
    said = json.dumps({"path": "a\u200db\u2800", "to": "x\ufe0f\u00a0y", "key": secret}, ensure_ascii=False)
    asked = PendingAction("pay", said, "call_1", "d1", "buyer", "mcp:bank", "why")
    prompts, lines = [], ['edit {"key": "‹redacted key›"}', "stop"]
    in_words([asked], lambda prompt: prompts.append(prompt) or lines.pop(0), f"key: \u202e{secret} is wrong")
    said, *text, choice = prompts[0].split("\n")
    assert said.startswith("key: ⟦U+202E⟧")
    assert "\n".join(text) == approval_text([asked])
    assert choice == prompts[1] == "approve (with the secret that is masked), reject REASON, answer TEXT or stop? "
    assert all(marker in prompts[0] for marker in ("⟦U+200D⟧", "⟦U+2800⟧", "⟦U+FE0F⟧", "⟦U+00A0⟧"))
    assert secret not in prompts[0]


# lines


def test_pending_shows_everything_that_waits(waiting):
    digest = waiting.ns["buyer"].last.interrupt.pending.digest
    assert waiting.text("%agent pending") == (
        "buyer waits for 1 decision\n"
        "  buyer wants to run pay (approve: pay(amount > 100))\n"
        '    to: "Ann"\n    amount: 120\n    as sent: {"to": "Ann", "amount": 120}\n'
        f"    digest: {digest}"
    )
    waiting.run("%agent discard buyer")
    assert waiting.text("%agent pending") == "nothing waits"


def test_a_line_goes_on_and_waits_again(waiting):
    with pytest.raises(RunInterrupted, match="Bob"):
        waiting.run("%agent approve buyer --note 'be quick'")
    [data] = waiting.outputs
    assert "A note on this: be quick" in data["text/plain"]
    text = waiting.text("%agent reject buyer call_2 --reason 'too risky'")
    assert "The reason: too risky" in text
    assert text.startswith("buyer · scripted · completed · 3 turns")
    assert waiting.ns["done"] == [("Ann", 120)]


def test_edited_arguments_always_answers_and_stop(waiting):
    with pytest.raises(DecisionError, match="amount"):
        waiting.run("""%agent approve buyer --args '{"to": "Eve"}'""")
    waiting.run("""%agent approve buyer --args '{"to": "Eve", "amount": 500}' --always tool""")
    assert waiting.ns["done"] == [("Eve", 500), ("Bob", 130)]
    for line, text in [("It is paid.", "It is paid."), ("'a b'", "a b"), ("call_1 5", "5"), ('"it\'s"', "it's")]:
        with pytest.raises(RunInterrupted):
            waiting.run(cell())
        with pytest.raises(RunInterrupted, match="Bob"):
            waiting.run(f"%agent answer buyer {line}")
        assert waiting.ns["buyer"].last.tool_calls[0].observation.text == text
        assert "enough" in waiting.text("%agent stop buyer --reason enough")
        assert waiting.ns["buyer"].last.status == "cancelled"
    assert len(waiting.ns["done"]) == 2


def paying(*calls):
    """A cell whose agent makes these calls, one in each turn."""
    script = [f"- call: pay\n  args: {{to: {to}, amount: {amount}}}\n" for to, amount in calls]
    return f"%%agent buyer\ntools: [pay]\napprove: [pay]\nscript:\n{''.join(script)}- Done.\n---\n"


def test_always_is_about_equal_calls_or_about_all_of_the_tool(shell):
    shell.run(PAY)
    four = paying(("Ann", 1), ("Ann", 1), ("Bob", 2), ("Ann", 1), ("Bob", 2))
    with pytest.raises(RunInterrupted, match="Ann"):
        shell.run(f"{four}Go")
    with pytest.raises(RunInterrupted, match="Bob"):
        shell.run("%agent approve buyer --always arguments")
    with pytest.raises(RunInterrupted, match="Bob"):
        shell.run("%agent approve buyer")
    shell.run("%agent reject buyer")
    assert [(verdict, by) for verdict, _, by in verdicts(shell)] == [
        ("approved", "person"), ("approved", "always"), ("approved", "person"), ("approved", "always"),
        ("rejected", "person"),
    ]  # fmt: skip
    # Of edited ones those count that ran.
    with pytest.raises(RunInterrupted, match="Ann"):
        shell.run(f"{four}Go")
    with pytest.raises(RunInterrupted, match="Ann"):
        shell.run("""%agent approve buyer --always arguments --args '{"amount": 2, "to": "Bob"}'""")
    with pytest.raises(RunInterrupted, match="Ann"):
        shell.run("%agent approve buyer")
    assert [by for _, _, by in verdicts(shell)] == ["person", "person", "always"]
    shell.run("%agent approve buyer --always tool")
    assert [by for _, _, by in verdicts(shell)] == ["person", "person", "always", "person", "always"]


def test_always_is_not_about_a_tool_that_was_changed_since(shell):
    look = "def look(at: str) -> str:\n    'Look.'\n    return at\n"
    shell.run(PAY + look)
    described = (
        "%%agent buyer\ntools: [pay, look]\napprove: [pay, look]\nscript:\n"
        "- call: pay\n  args: {to: Ann, amount: 1}\n- call: look\n  args: {at: shop}\n"
        "- call: pay\n  args: {to: Ann, amount: 1}\n- call: pay\n  args: {to: Ann, amount: 1}\n- Done.\n---\n"
    )
    with pytest.raises(RunInterrupted, match="pay"):
        shell.run(f"{described}Go")
    with pytest.raises(RunInterrupted, match="look"):
        shell.run("%agent approve buyer --always tool")
    done = shell.ns["done"]
    shell.run(PAY.replace("done = []\n", "").replace("paid {amount}", "paid twice"))  # the cell with the tool
    shell.run(described)  # and that which describes the agent
    with pytest.raises(RunInterrupted, match="pay"):
        shell.run("%agent approve buyer")
    assert [by for _, _, by in verdicts(shell)] == ["person", "person"]
    assert done == [("Ann", 1)]
    shell.run("%agent approve buyer --always tool")
    assert [by for _, _, by in verdicts(shell)] == ["person", "person", "person", "always"]
    assert shell.ns["buyer"].last.tool_calls[-1].observation.text == "paid twice"


def test_one_of_several_calls(shell):
    shell.run(PAY)
    with pytest.raises(RunInterrupted, match=r'pay\(to="Ann", amount=1\), pay\(to="Bob", amount=2\)'):
        shell.run(f"%%agent buyer\n{AT_ONCE}")
    one, other = shell.ns["buyer"].last.interrupt.pendings
    for line, match in [
        ("approve buyer --args '{}'", "arguments of one call; say of which: call_1"),
        ("answer buyer paid", "an answer is one call's; say to which"),
        ("approve buyer call_9", "no call 'call_9' waits"),
        ("stop buyer call_1", "ends the whole run"),
    ]:
        with pytest.raises(CellError, match=match):
            shell.run(f"%agent {line}")
    with pytest.raises(RunInterrupted, match=r'about pay\(to="Ann", amount=1\)\.'):
        shell.run(f"%agent reject buyer {other.digest[:6]} --reason no")
    shell.run(f"%agent answer buyer {one.call_id} paid already")
    assert shell.ns["buyer"].last.tool_calls[0].observation.text == "paid already"
    assert shell.ns["done"] == []


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("approve buyer --note 'x' {}", "got '{}', which is too much; say the call before the options"),
        ("approve buyer --note x {} --always tool", "got '{}', which is too much; say the call before"),
        ("approve buyer --note=x {}", "got '{}', which is too much; say the call before the options"),
        ("""approve buyer --args '{{"to": "Eve", "amount": 1}}' {}""", "say the call before the options"),
        ("approve buyer --always tool {}", "say the call before the options"),
        ("reject buyer --reason too risky {}", "got 'risky', .*put a text of several words into quotes"),
        ("reject buyer --reason 'too risky' {}", "say the call before the options"),
        ("stop buyer --reason enough {}", "got '{}', which is too much"),
        ("answer buyer 'paid' {}", "an answer is one call's; say to which"),
        ("answer buyer paid {}", "an answer is one call's; say to which"),
    ],
)
@pytest.mark.parametrize("which", ["call_1", "call_9", "digest"])
def test_a_call_behind_the_options_is_no_part_of_a_text(line, match, which, shell):
    shell.run(PAY)
    with pytest.raises(RunInterrupted):
        shell.run(f"%%agent buyer\n{AT_ONCE}")
    word = shell.ns["buyer"].last.interrupt.pending.digest[:8] if which == "digest" else which
    with pytest.raises(CellError, match=match.format(word)):
        shell.run(f"%agent {line.format(word)}")
    assert (len(shell.ns["buyer"].waiting[None].pendings), shell.ns["done"]) == (2, [])


def test_an_answer_that_names_a_call_is_about_no_other(waiting):
    digest = waiting.ns["buyer"].last.interrupt.pending.digest
    for text in ("call_1", "'it is' call_1", f"paid {digest[:6]}", "''", '" "'):
        with pytest.raises(CellError, match=r"say the call before the text; got|TEXT is what the model reads"):
            waiting.run(f"%agent answer buyer {text}")
    with pytest.raises(RunInterrupted, match="Bob"):
        waiting.run("%agent answer buyer call_1 paid")
    with pytest.raises(CellError, match="no call 'call_1' waits for a decision; these do: call_2"):
        waiting.run("%agent answer buyer call_1 paid")  # the cell was started once more
    waiting.run("%agent answer buyer 'call_1 paid'")
    assert [one.observation.text for one in waiting.ns["buyer"].last.tool_calls] == ["paid", "call_1 paid"]


def test_a_call_id_that_two_calls_have_is_ambiguous(shell):
    shell.run(PAY)
    for name, to in (("one", "Ann"), ("two", "Bob")):
        script = f"script:\n- call: pay\n  id: x\n  args: {{to: {to}, amount: 1}}\n- ok\n"
        shell.run(f"%%agent {name}\ntools: [pay]\napprove: all\n{script}---\n")
    with pytest.raises(RunInterrupted):
        shell.run(
            "%%agent lead\ntools: [agent:one, agent:two]\nscript:\n"
            "- calls: [{call: one, args: {task: a}}, {call: two, args: {task: b}}]\n- ok\n---\nGo"
        )
    with pytest.raises(CellError, match="2 calls are meant by 'x'; name one by its digest"):
        shell.run("%agent approve lead x")
    assert "one wants to run pay (approve: all), call " in shell.text("%agent pending")
    shell.run("%agent approve lead")
    assert sorted(shell.ns["done"]) == [("Ann", 1), ("Bob", 1)]


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("approve", "`%agent approve` needs the name of an agent"),
        ("approve nobody", "no agent 'nobody'; there are: buyer"),
        ("approve buyer --reason x", "`--reason` is no option of it"),
        ("approve buyer --note", "`--note` needs a value"),
        ("approve buyer call_1 call_2", "got 'call_2', which is too much"),
        ("approve buyer --args 5", "`--args`: expected all arguments as one JSON object"),
        ("approve buyer --args {", "`--args`: this is not JSON"),
        ("approve buyer --always yes", "expected `tool` or `arguments`; got 'yes'"),
        ("approve buyer --note a --note b", "`--note` is given twice"),
        ("reject buyer --reason it's", "a quote is opened"),
        ("answer buyer", "TEXT is what the model reads"),
        ("discard buyer now", "takes one name; got 'now'"),
        ("approve --scope x buyer", "no run of buyer waits in .x.; one waits in its own conversation"),
    ],
)
def test_a_wrong_line_says_what_is_wrong_and_the_run_waits_on(line, match, waiting):
    with pytest.raises(CellError, match=match):
        waiting.run(f"%agent {line}")
    assert waiting.ns["buyer"].last.interrupted
    assert waiting.ns["buyer"].waiting


def test_a_conversation_is_found_by_its_scope(shell):
    shell.run(PAY)
    for scope in ("one", "two"):
        with pytest.raises(RunInterrupted):
            shell.run(cell(f"scope: {scope}"))
    with pytest.raises(CellError, match="buyer waits in one, two; say in which"):
        shell.run("%agent stop buyer")
    assert "in the conversation two" in shell.text("%agent pending")
    shell.run("%agent stop --scope one buyer\n%agent stop buyer")
    assert shell.ns["buyer"].waiting == {}


def test_nothing_waits(shell):
    shell.run("%%agent buyer\nscript: [x]\n---\n")
    for word in ("approve", "reject", "stop", "discard"):
        with pytest.raises(CellError, match="no run of buyer waits for a decision"):
            shell.run(f"%agent {word} buyer")
    assert "%agent approve NAME" in shell.text("%agent approve --help")


def test_a_line_inside_a_function_goes_on_too(waiting):
    waiting.run("def go():\n    %agent stop buyer --reason enough\ngo()")
    assert waiting.ns["buyer"].last.status == "cancelled"


def test_a_notebook_that_nobody_watches_fails_and_one_that_decides_does_not():
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    def executed(source):
        cells = [nbformat.v4.new_code_cell(one) for one in ("%load_ext nbagent", PAY, source, "print(done)")]
        notebook = nbformat.v4.new_notebook(cells=cells)
        try:
            NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
        except CellExecutionError as error:
            return str(error), notebook.cells[2].outputs
        return notebook.cells[3].outputs[0].text, notebook.cells[2].outputs

    said, outputs = executed(cell("on_approval: input"))
    assert "RunInterrupted: buyer waits for a decision about pay" in said
    assert [one.output_type for one in outputs] == ["display_data", "error"]
    assert executed(cell("decisions: [approve, reject]"))[0] == "[('Ann', 120)]\n"


def test_a_line_takes_back_what_was_approved_for_the_run(shell):
    shell.run(PAY)
    more = "approve: [pay, look]\ntools: [pay, look]\n"
    shell.run("from nbagent import tool\n@tool\ndef look() -> str:\n    'Look.'\n    return 'seen'\n")
    calls = (
        "- call: pay\n  args: {to: Ann, amount: 1}\n- call: look\n- call: pay\n  args: {to: Bob, amount: 2}\n- Done.\n"
    )
    with pytest.raises(RunInterrupted):
        shell.run(f"%%agent buyer\n{more}script:\n{calls}---\nGo")
    with pytest.raises(ConfigError, match="nothing is approved for the rest of the run"):
        shell.run("%agent revoke buyer")
    with pytest.raises(RunInterrupted):
        shell.run("%agent approve buyer --always tool")
    assert "no longer asked about in this run: pay; `%agent revoke buyer` takes that back" in shell.text(
        "%agent pending"
    )
    with pytest.raises(RunInterrupted, match="look"):
        shell.run("%agent revoke buyer pay")
    assert "takes that back" not in shell.text("%agent pending")
    with pytest.raises(RunInterrupted, match="pay"):
        shell.run("%agent approve buyer")
    assert shell.ns["done"] == [("Ann", 1)]
    assert "from here on, pay waits for approval again" in str(shell.ns["buyer"].last._repr_mimebundle_()["text/plain"])
