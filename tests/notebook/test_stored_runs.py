"""Runs on disk in cells: `store:`, `%config NBAgent.store`, `%agent runs`, `%agent resume`; a shell made anew is a
kernel that was started again."""

from __future__ import annotations

import os

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

from nbagent import RunStore, read_spec
from nbagent.errors import CellError, ConfigError, RunInterrupted, StoreError

CODE = """
from nbagent import tool
ran = []

@tool(approval="amount > 100")
def pay(to: str, amount: int) -> str:
    "Pays."
    ran.append((to, amount))
    return f"paid {amount}"
"""
HEADER = """%%agent buyer
tools: [pay]
STORE
script:
  - call: pay
    args: {to: Ann, amount: 120}
  - done
  - more
---
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def cell(store="store: yes", task="Pay Ann."):
    return HEADER.replace("STORE\n", f"{store}\n" if store else "") + task


def begin(shell, store="store: yes"):
    """Code, and a cell whose run waits."""
    shell.run(CODE)
    with pytest.raises(RunInterrupted):
        shell.run(cell(store))


def restart(shell, store="store: yes", *, describe=True):
    """The same notebook in a new kernel, as far as its agent is described again."""
    InteractiveShell.clear_instance()
    shell.shell = InteractiveShell.instance(config=shell.shell.config)
    shell.shell.display_pub = CapturingDisplayPublisher(parent=shell.shell)
    shell.shell.run_line_magic("load_ext", "nbagent")
    shell.ns = shell.shell.user_ns
    shell.run(CODE)
    if describe:
        shell.run(cell(store, task=""))


def status(folder=".nbagent/runs"):
    return [(one.run_id, one.agent, one.status) for one in RunStore(folder).list()]


@pytest.mark.parametrize(
    ("store", "folder"),
    [
        ("store: yes", ".nbagent/runs"), ("store: runs/mine", "runs/mine"), ("store: 'yes'", "yes"),
        ("store: my runs", "my runs"),
    ],
)  # fmt: skip
def test_a_cell_says_where_its_runs_are(shell, store, folder):
    begin(shell, store)
    assert status(folder) == [("buyer-1", "buyer", "interrupted")]
    assert shell.text("%agent runs") == "buyer-1 · buyer · interrupted"


@pytest.mark.parametrize("wrong", ["store: [a]", "store: ''", "store: {a: b}"])
def test_what_is_no_folder_is_refused_with_its_line(shell, wrong):
    shell.run(CODE)
    with pytest.raises(CellError, match=r"Cell line 3: `store` must be a folder, or yes for `.nbagent/runs`, or no"):
        shell.run(cell(wrong))


def test_without_the_key_nothing_is_written(shell):
    begin(shell, "")
    shell.run("%agent discard buyer")
    begin(shell, "store: no")
    assert not os.path.exists(".nbagent")
    assert shell.text("%agent runs") == "no runs on disk"


def test_config_says_it_for_all_cells_that_do_not(shell):
    shell.run("%config NBAgent.store = 'all'")
    begin(shell, "")
    assert status("all") == [("buyer-1", "buyer", "interrupted")]
    for store in ("store: no", "store: mine"):
        shell.run("%agent discard buyer")
        begin(shell, store)
    assert (len(status("all")), status("mine")) == (1, [("buyer-3", "buyer", "interrupted")])
    assert shell.text("%agent runs") == (
        "mine:\nbuyer-3 · buyer · interrupted\nall:\nbuyer-1 · buyer · interrupted"
    )  # fmt: skip


def test_an_option_changes_it_and_a_cell_without_a_header_leaves_it(shell):
    shell.run("%%agent bot --store yes\nscript: [a, b, c]\n---\nhi")
    shell.run("%%agent bot\nhi")
    shell.run("%agent --store other bot hi")
    assert [len(status(folder)) for folder in (".nbagent/runs", "other")] == [2, 1]


def test_it_is_part_of_a_spec():
    for text in ("store: runs", "store: .nbagent/runs", "store: 'no'"):
        spec = read_spec(f"%%agent a\n{text}\n---\n")
        assert text in str(spec)
        assert read_spec(str(spec)) == read_spec(spec.to_yaml()) == spec
    assert read_spec("%%agent a\nstore: yes\n---\n").store == ".nbagent/runs"
    assert read_spec("%%agent a\nstore: no\n---\n").store is None


# runs


def test_runs_are_listed_without_a_clock_unless_that_is_asked_for(shell):
    begin(shell)
    shell.run("%%agent bot\nstore: yes\nscript: [Hi.]\n---\nhi")
    assert shell.text("%agent runs") == "buyer-1 · buyer · interrupted\nbot-1 · bot · completed"
    assert shell.text("%agent runs bot") == "bot-1 · bot · completed"
    assert shell.text("%agent runs nobody") == "no runs of nobody on disk"
    when = RunStore(".nbagent/runs").list()[1].when
    assert shell.text("%agent runs bot --when") == f"bot-1 · bot · completed · {when}"
    for wrong in ("bot buyer", "--now"):
        with pytest.raises(CellError, match=r"`%agent runs \[NAME\] \[--when\]`: expected one name or none; got"):
            shell.run(f"%agent runs {wrong}")


def test_runs_are_listed_in_a_new_kernel_before_any_agent_is_described(shell):
    begin(shell)
    restart(shell, describe=False)
    assert shell.text("%agent runs") == "buyer-1 · buyer · interrupted"
    with pytest.raises(
        CellError,
        match="buyer-1 is a run of the agent 'buyer', which is not in this notebook; run the cell that describes it",
    ):
        shell.run("%agent resume buyer-1")


# resume


@pytest.mark.parametrize(
    ("decision", "ran", "shown"),
    [
        ("approve", [("Ann", 120)], "done"),
        ("approve --note ok", [("Ann", 120)], "done"),
        ('approve call_1 --args \'{"to": "Bob", "amount": 101}\'', [("Bob", 101)], "Bob"),
        ("reject --reason 'too dear'", [], "too dear"),
        ("answer it was paid", [], "it was paid"),
    ],
)
def test_after_a_restart_a_run_goes_on_with_a_decision(shell, decision, ran, shown):
    begin(shell)
    restart(shell)
    [output] = shell.run(f"%agent resume buyer-1 --decision {decision}")
    assert shown in output["text/plain"]
    assert "Pay Ann." in output["text/plain"]  # both parts are shown
    assert (shell.ns["ran"], status()) == (ran, [("buyer-1", "buyer", "completed")])
    assert (shell.ns["buyer"].last.final_output, len(shell.ns["buyer"].history)) == ("done", 2)
    with pytest.raises(StoreError, match="buyer-1 cannot go on: it is completed; run it anew"):
        shell.run("%agent resume buyer-1")


def test_stop_ends_it(shell):
    begin(shell)
    restart(shell)
    shell.run("%agent resume buyer-1 --decision stop --reason enough")
    assert (shell.ns["ran"], status()) == ([], [("buyer-1", "buyer", "cancelled")])


def test_without_a_decision_it_waits_for_one_here(shell):
    begin(shell)
    restart(shell)
    with pytest.raises(RunInterrupted, match="buyer waits for a decision about pay"):
        shell.run("%agent resume buyer-1")
    assert "amount" in shell.outputs[0]["text/plain"]
    assert "buyer waits for one decision" in shell.text("%agent pending").replace("1 decision", "one decision")
    shell.run("%agent approve buyer")
    assert (shell.ns["ran"], status()) == ([("Ann", 120)], [("buyer-1", "buyer", "completed")])


def test_options_of_a_run_stand_before_it(shell):
    begin(shell)
    restart(shell)
    assert shell.run("%agent --decisions approve --out result --quiet resume buyer-1") == []
    assert (shell.ns["result"].final_output, shell.ns["ran"]) == ("done", [("Ann", 120)])
    with pytest.raises(RunInterrupted):
        shell.run(cell())
    restart(shell)
    shell.run("%agent --on-approval deny resume buyer-2")
    assert shell.ns["ran"] == []


def test_in_the_same_kernel_it_is_the_run_that_waits(shell):
    begin(shell)
    shell.run("%agent resume buyer-1 --decision approve")
    assert (shell.ns["ran"], shell.ns["buyer"].waiting) == ([("Ann", 120)], {})


def test_a_torn_end_is_said(shell):
    begin(shell)
    with open(".nbagent/runs/buyer-1.jsonl", "ab") as file:
        file.write(b'{"seq":9')
    restart(shell)
    first, _ = shell.run("%agent resume buyer-1 --decision approve")
    assert first == {
        "text/plain": "buyer-1: the last 8 bytes are a line that was not written to its end; it is left out"
    }


def test_what_has_changed_is_an_error_of_the_cell(shell):
    begin(shell)
    restart(shell)
    shell.run(CODE.replace("paid {amount}", "paid twice"))
    shell.run(cell(task=""))
    with pytest.raises(StoreError, match="not as they were when it began: tool pay"):
        shell.run("%agent resume buyer-1 --decision approve")
    assert shell.ns["ran"] == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "needs the id of a run: `%agent resume ID"),
        ("--decision approve", "needs the id of a run"),
        ("buyer-1 yes", "got 'yes' after the id"),
        ("buyer-1 --decision maybe", "got '--decision maybe' after the id"),
        ("buyer-1 --decision approve --because x", "`--because` is no option of it"),
        ("buyer-1 --decision approve call_9", "no call 'call_9' waits for a decision"),
        ("buyer-7", "no run 'buyer-7'; there are: buyer-1"),
    ],
)
def test_what_cannot_be_meant_is_an_error_and_changes_nothing(shell, line, why):
    begin(shell)
    restart(shell)
    with open(".nbagent/runs/buyer-1.jsonl", "rb") as file:
        before = file.read()
    with pytest.raises(CellError) as caught:
        shell.run(f"%agent resume {line}")
    assert why in str(caught.value)
    with open(".nbagent/runs/buyer-1.jsonl", "rb") as file:
        assert file.read() == before


def test_an_agent_that_keeps_its_runs_elsewhere_says_so(shell):
    begin(shell, "store: a")
    restart(shell, "store: b")
    shell.run("%config NBAgent.store = 'a'")
    with pytest.raises(CellError, match=r"buyer-1 is in a, where buyer does not keep its runs; say so .*`store: a`"):
        shell.run("%agent resume buyer-1")


def test_an_unknown_subcommand_names_these_too(shell):
    with pytest.raises(CellError, match=r"`%agent runs \[NAME\] \[--when\]`, `%agent resume ID"):
        shell.run("%agent lint")


def test_a_line_goes_on_from_an_earlier_reply_as_a_run_of_its_own(shell):
    begin(shell)
    shell.run("%agent approve buyer")
    assert shell.ns["ran"] == [("Ann", 120)]
    restart(shell)
    said, _ = shell.run("%agent resume buyer-1 --replies 1")
    assert said["text/plain"] == "buyer-2 begins as buyer-1 did, up to its reply 1"
    assert (shell.ns["ran"], shell.ns["buyer"].last.status) == ([], "completed")
    with pytest.raises(RunInterrupted):
        shell.run("%agent resume buyer-1 --replies 0")
    shell.run("%agent reject buyer --reason 'not now'")
    assert shell.ns["ran"] == []
    with pytest.raises(ConfigError, match="replies: buyer-1 has 2 of them; got 7"):
        shell.run("%agent resume buyer-1 --replies 7")
