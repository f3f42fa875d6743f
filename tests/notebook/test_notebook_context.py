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
    run(shell, "api_key = 'sk-proj-' + 'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xYz0a'", "long = 'x' * 9_000",
        "%%agent bot\nscript: [hi]\n---\nhello")  # fmt: skip
    found = texts(NotebookContext(cells=0, shell=shell.shell))
    assert [text[:10] for text in found] == ["long = xxx"]
    assert found[0].endswith("… (9,007 characters)")


def test_a_cell_may_use_it_and_sees_what_is_there_now(shell):
    run(shell, "from nbagent import NotebookContext\nnb = NotebookContext(['n'], cells=0)\nn = 1")
    run(shell, "%%agent bot\nscript: [a, b]\ncontext: [nb]\n---\nhello", "n = 2\nbot.run('again')")
    prompts = [result.prompt.user for result in shell.ns["bot"].results.values()]
    assert ["(NOTEBOOK) n = 1" in prompts[0], "(NOTEBOOK) n = 2" in prompts[1]] == [True, True]
