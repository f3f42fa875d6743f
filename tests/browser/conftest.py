"""A real JupyterLab in a real Chromium, for tests marked `browser`."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from .kernels import INSTALLED, Kernels

TOKEN = "test"
LAB, SEVEN = "lab/tree", "notebooks"
"""Where JupyterLab and Notebook 7 are."""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"]  # fmt: skip
PATIENCE = 120
"""Seconds that a page may take for one step: a busy machine is slow, and what never happens fails all the same."""
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
sys.path.append(str(Path(__file__).parents[1] / "views"))  # for the samples of runs, and the hostile texts


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder that the server serves: a copy of the repository's notebooks."""
    folder = tmp_path_factory.mktemp("lab") / "work"
    shutil.copytree(NOTEBOOKS, folder, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    return folder


@pytest.fixture(scope="session")
def kernels(folder):
    """The kernels that notebooks can name."""
    return Kernels(folder.parent / "kernels", folder.parent / "DATA_DIR")


@pytest.fixture(scope="session")
def server(folder):
    """The address of a JupyterLab on this machine's loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = folder.parent
    environment = {**os.environ, "JUPYTER_PREFER_ENV_PATH": "1", "IPYTHONDIR": str(home / "ipython")}
    for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"):
        environment[f"JUPYTER_{name}"] = str(home / name)
    environment["JUPYTERLAB_SETTINGS_DIR"] = str(home / "settings")
    environment["JUPYTERLAB_WORKSPACES_DIR"] = str(home / "workspaces")
    arguments = ["--no-browser", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder}",
        f"--IdentityProvider.token={TOKEN}", "--allow-root", "--LabApp.expose_app_in_browser=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly"]  # fmt: skip
    with (home / "server.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *arguments], env=environment, stdout=log, stderr=log
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/api?token={TOKEN}", process, home / "server.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture
def fresh(server):
    """The server's address; what runs there ends with the test, so that no test pays for the kernels of another."""
    yield server
    for session in _asked(server, "sessions"):
        _asked(server, f"sessions/{session['id']}", "DELETE")


def _asked(server, path, method="GET"):
    request = urllib.request.Request(f"{server}/api/{path}?token={TOKEN}", method=method)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.loads(answer.read() or "null")


def _wait_for(address, process, log):
    for _ in range(300):
        try:
            urllib.request.urlopen(address, timeout=5).read()
        except (urllib.error.URLError, OSError):
            assert process.poll() is None, log.read_text()[-3000:]
            time.sleep(0.2)
        else:
            return
    raise AssertionError(f"the server does not answer: {log.read_text()[-3000:]}")


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert path, "the browser tests need Debian's chromium (apt install chromium), or CHROMIUM set to a browser"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Lab:
    """A notebook that is open in JupyterLab."""

    def __init__(self, page, folder, name):
        self.page = page
        self.file = folder / name

    def js(self, code, argument=None):
        return self.page.evaluate(code, argument)

    def command(self, name):
        # The command's promise ends with the run; it is not waited for here.
        self.js("(name) => { jupyterapp.commands.execute(name); return true }", name)

    def run_all(self):
        self.command("notebook:run-all-cells")
        self.wait()

    def start(self, index):
        """Runs one cell, and does not wait for it."""
        self._do("notebook:run-cell", index)

    def start_from(self, index):
        """Runs one cell and all below, and does not wait for them."""
        self._do("notebook:run-all-below", index)

    def _do(self, command, index):
        # In one go: what an error in a cell does to the selection could come in between.
        self.js(
            """([index, command]) => { const notebook = jupyterapp.shell.currentWidget.content;
                notebook.deselectAll(); notebook.activeCellIndex = index;
                jupyterapp.commands.execute(command); return true }""",
            [index, command],
        )

    def run(self, index):
        self.start(index)
        self.wait()

    def interrupt(self):
        self.js("() => { jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt(); return true }")

    def restart(self):
        """Restarts the kernel; again where it does not answer: ipykernel 7.3 may lose what comes while it starts."""
        restarted = """async () => { const k = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
            await k.restart();
            const answer = k.requestExecute({code: ''}).done.then(() => true);
            return Promise.race([answer, new Promise(done => setTimeout(() => done(false), 15_000))]) }"""
        assert any(self.js(restarted) for _ in range(3))
        self.wait()

    @contextmanager
    def held(self):
        """While the body runs, the kernel does nothing, if it looks for this file."""
        hold = self.file.with_name("hold")
        hold.touch()
        time.sleep(0.3)
        try:
            yield
        finally:
            hold.unlink()

    def wait(self, seconds=PATIENCE):
        """Until no cell runs."""
        time.sleep(0.3)
        self.page.wait_for_function(
            """() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'
                && ![...document.querySelectorAll('.jp-InputPrompt')].some(e => e.innerText.includes('*'))""",
            timeout=seconds * 1000,
        )

    def outputs(self, index):
        return self.js("(i) => jupyterapp.shell.currentWidget.content.model.toJSON().cells[i].outputs", index)

    def cell(self, index):
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def source(self, index):
        return self.js("(i) => jupyterapp.shell.currentWidget.content.widgets[i].model.sharedModel.source", index)

    def write(self, index, source):
        self.js(
            "([i, source]) => jupyterapp.shell.currentWidget.content.widgets[i].model.sharedModel.setSource(source)",
            [index, source],
        )

    def printed(self, index):
        return "".join(output["text"] for output in self.outputs(index))

    def text(self, index):
        """What a reader sees below a cell."""
        return self.js(
            "(i) => document.querySelectorAll('.jp-Notebook .jp-Cell')[i].querySelector('.jp-OutputArea').innerText",
            index,
        )

    def load_again(self):
        """Loads the page anew, whatever is not saved."""
        self.page.once("dialog", lambda dialog: dialog.accept())
        self.page.reload()
        self.is_there()
        time.sleep(1)

    def is_there(self):
        """Waits until it is open, whether a cell runs or not."""
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=PATIENCE * 1000)
        self.page.wait_for_function(
            """() => { const w = window.jupyterapp?.shell.currentWidget; const k = w?.sessionContext?.session?.kernel;
                return w?.context?.isReady && k?.connectionStatus === 'connected' }""",
            timeout=PATIENCE * 1000,
        )

    def another(self):
        """Another page with the same notebook."""
        page = self.page.context.new_page()
        page.goto(self.page.url.partition("?")[0])
        other = Lab(page, self.file.parent, self.file.name)
        other.is_there()
        return other

    def read_again(self):
        """Reads the file again, and keeps the kernel's widgets."""
        self.js("() => jupyterapp.shell.currentWidget.context.revert()")

    def save(self):
        self.js("() => jupyterapp.shell.currentWidget.context.save()")


@pytest.fixture
def open_lab(request, fresh, chromium, folder):
    """Opens a notebook: `open_lab(name)`, or `open_lab(name, cells=[…], kernel=…)` to write it first."""
    contexts = []
    request.node.left_by_a_failure = lambda: _state(fresh, folder, contexts)

    def open_notebook(name, cells=None, kernel=INSTALLED, where=LAB, *, waits=True):
        if cells is not None:
            _write(folder / name, cells, kernel)
        context = chromium.new_context(viewport={"width": 1200, "height": 1000})
        context.set_default_timeout(PATIENCE * 1000)
        contexts.append(context)
        page = context.new_page()
        page.goto(f"{fresh}/{where}/{name}?reset&token={TOKEN}")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=PATIENCE * 1000)
        if waits:  # for the kernel
            page.wait_for_function(
                """() => { const w = window.jupyterapp?.shell.currentWidget;
                    return w?.context?.isReady && w?.sessionContext?.session?.kernel?.status === 'idle' }""",
                timeout=PATIENCE * 1000,
            )
        return Lab(page, folder, name)

    yield open_notebook
    for context in contexts:
        context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that fails in a browser says what was on the page, and what the server said."""
    report = yield
    left = getattr(item, "left_by_a_failure", None)
    if left is not None and report.when == "call" and report.failed:
        report.sections.extend(left())
    return report


def _state(server, folder, contexts):
    yield "kernels", _said(lambda: json.dumps(_asked(server, "kernels")))
    for page in (page for context in contexts for page in context.pages):
        yield (
            f"page {page.url.partition('?')[0]}",
            _said(lambda page=page: page.locator("body").inner_text(timeout=5000)),
        )
    yield "server", _said((folder.parent / "server.log").read_text)


def _said(read):
    try:
        return read()[-3000:]
    except Exception as error:  # a page that has crashed must not hide why the test failed
        return repr(error)


def _write(path, cells, kernel):
    import nbformat

    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": kernel, "display_name": kernel}})
    for index, source in enumerate(cells):
        notebook.cells.append(nbformat.v4.new_code_cell(source, id=f"c{index}"))
    nbformat.write(notebook, path)
