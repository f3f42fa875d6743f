"""Imports: nothing heavy comes before it is used. Counts of modules, measured in fresh processes."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {
    "openai",
    "anthropic",
    "ipywidgets",
    "matplotlib",
    "pandas",
    "pydantic",
    "yaml",
    "markdown_it",
    "nh3",
    "docstring_parser",
    "filelock",
}


def modules_after(code, before="pass"):
    program = (
        f"import sys, json\n{before}\nbefore = set(sys.modules)\n{code}\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_nbagent_loads_nothing_but_itself():
    loaded = modules_after("import nbagent", before="import __future__, importlib")
    assert loaded == {"nbagent"}


def test_load_ext_loads_a_few_small_modules():
    shell = "from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell()"
    loaded = modules_after("shell.run_line_magic('load_ext', 'nbagent')", before=shell)
    assert not loaded & HEAVY
    assert len(loaded) <= 15, sorted(loaded)
    assert {name for name in loaded if name.startswith("nbagent")} == {
        "nbagent", "nbagent.magics", "nbagent.notebook", "nbagent.notebook.config", "nbagent.notebook.transform",
    }  # fmt: skip


def test_an_agent_without_tools_needs_no_sdk_no_widgets_and_no_markdown():
    loaded = modules_after("from nbagent import Agent, ScriptedLLM; Agent('a', ScriptedLLM(['Hi.'])).run('Hello')")
    assert not loaded & (HEAVY - {"pydantic"})
    assert "IPython" not in loaded


def test_importing_prints_nothing_and_writes_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "import nbagent; nbagent.Agent"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr, list(tmp_path.iterdir())) == (0, "", "", [])
