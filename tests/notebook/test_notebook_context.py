"""NotebookContext: variables and cells of the notebook, without its secrets."""

from __future__ import annotations

import pytest

from nbagent import ContextQuery, NotebookContext
from nbagent.errors import ConfigError


def texts(provider, query="", top_k=8):
    return [block.text for block in provider.get_blocks(ContextQuery(query), top_k=top_k)]


def run(shell, *sources):
    for source in sources:
        shell.shell.run_cell(source, store_history=True).raise_error()


def test_variables_that_the_query_names_come_first_then_the_newest_then_the_cells(shell):
    run(shell, "city = 'Oslo'\nprices = [1, 2]", "import math\ndef f(): pass\nclass C: pass", "n = 3")
    provider = NotebookContext(cells=2, shell=shell.shell)
    assert texts(provider, "What of prices?") == [
        "prices = [1, 2]", "n = 3", "city = Oslo", "import math\ndef f(): pass\nclass C: pass",
        "city = 'Oslo'\nprices = [1, 2]",
    ]  # fmt: skip
    assert [block.title for block in provider.get_blocks(ContextQuery(""))][:1] == ["variable n: int"]
    assert texts(provider, top_k=2) == ["n = 3", "prices = [1, 2]"]


def test_what_is_asked_for_by_name_and_what_is_missing(shell):
    run(shell, "city = 'Oslo'\nother = 1")
    assert texts(NotebookContext(["city"], cells=0, shell=shell.shell)) == ["city = Oslo"]
    with pytest.raises(ConfigError, match="no variable 'citty'"):
        texts(NotebookContext(["citty"], shell=shell.shell))
    for wrong in ({"variables": "city"}, {"cells": -1}, {"cells": True}):
        with pytest.raises(ConfigError, match="expected a list of names"):
            NotebookContext(**wrong)


def test_secrets_and_agents_stay_out_and_long_values_are_cut(shell):
    run(
        shell,
        "api_key = 'sk-proj-' + 'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xYz0a'",
        "password = 'hunter2'; pw = 'hunter2'; dbPassword = 'hunter2'\ncfg = {'db': {'token': 'hunter2'}}",
        "os_environ = {'X_API_KEY': 'hunter2'}\nkeyboard = 'qwerty'; tokens = 3",
        "long = 'x' * 9_000",
        "%%agent bot\nscript: [hi]\n---\nhello",
    )
    found = texts(NotebookContext(cells=9, shell=shell.shell))
    assert "hunter2" not in str(found)
    assert [text[:18] for text in found] == [
        "long = " + "x" * 11,
        "tokens = 3",
        "keyboard = qwerty",
        "long = 'x' * 9_000",
    ]
    assert found[0].endswith("… (9,007 characters)")


def test_what_was_set_last_comes_first_and_cells_are_as_they_were_typed(shell):
    run(shell, "a = 1", "b = 2", "%time a = 3", "a = 4", "c = 5")
    assert texts(NotebookContext(cells=3, shell=shell.shell)) == [
        "c = 5",
        "a = 4",
        "b = 2",
        "a = 4",
        "%time a = 3",
        "b = 2",
    ]


def test_only_what_is_given_is_described(shell):
    run(
        shell,
        "made = []\nclass Big(dict):\n    def items(self):\n        made.append(1)\n        return super().items()",
        "b1, b2, b3, b4 = Big(x=1), Big(x=1), Big(x=1), Big(x=1)",
    )
    assert len(texts(NotebookContext(["b1", "b2", "b3", "b4"], shell=shell.shell), top_k=1)) == 1
    assert len(shell.ns["made"]) <= 2


def test_a_cell_may_use_it_and_sees_what_is_there_now(shell):
    run(shell, "from nbagent import NotebookContext\nnb = NotebookContext(['n'], cells=0)\nn = 1")
    run(shell, "%%agent bot\nscript: [a, b]\ncontext: [nb]\n---\nhello", "n = 2\nbot.run('again')")
    prompts = [result.prompt.user for result in shell.ns["bot"].results.values()]
    assert ["(NOTEBOOK) n = 1" in prompts[0], "(NOTEBOOK) n = 2" in prompts[1]] == [True, True]
