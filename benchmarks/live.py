"""A live view in JupyterLab and Chromium: how long the page is busy at a stretch while a run goes on.

    pip install -e ".[lab,browser]" && python -m pytest -q -s -c /dev/null -p no:cacheprovider benchmarks/live.py

Prints, for a reply of 10,000 tokens as fast as they come and at 200 a second, and for 1,000 turns: the longest task of
the page, how many took more than 50 ms, how many comm messages came, and whether what is saved holds everything.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser.conftest import chromium, folder, fresh, kernels, open_lab, server  # noqa: F401  fixtures

SETUP = """%load_ext nbagent
import asyncio
from nbagent import ScriptedLLM

class Paced(ScriptedLLM):
    pause = 0.01
    async def astream(self, request):
        async for piece in super().astream(request):
            await asyncio.sleep(self.pause)
            yield piece

def look_up(n: int) -> str:
    "Looks it up."
    return f"value {n} " + "word " * 20

tokens = [f"t{n:05}" for n in range(10_000)]
"""
RUNS = {
    "10,000 tokens at once": "model = Paced([ScriptedLLM.pieces(tokens)]); model.pause = 0",
    "10,000 tokens, 200 a second": "model = Paced([ScriptedLLM.pieces(tokens)]); model.pause = 0.005",
    "1,000 turns": "model = Paced([*[ScriptedLLM.tool_call('look_up', {'n': n}) for n in range(999)], 'Done.'])",
}
CELL = "%%agent bot\nmodel: model\ntools: [look_up]\nmax_turns: 1000\n---\nGo"
WATCH = """() => {
    window.tasks = []; window.comms = 0
    window.watching?.disconnect()
    window.watching = new PerformanceObserver(list => list.getEntries().forEach(e => window.tasks.push(e.duration)))
    window.watching.observe({entryTypes: ['longtask']})
    const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel
    const count = (_, message) => { if (message.header.msg_type.startsWith('comm')) window.comms++ }
    if (!window.counts) kernel.iopubMessage.connect(count)
    window.counts = true
}"""


def test_live(open_lab):  # noqa: F811
    lab = open_lab("benchmark.ipynb", [SETUP, "", CELL])
    lab.run(0)
    for name, code in RUNS.items():
        lab.write(1, code)
        lab.run(1)
        lab.js(WATCH)
        lab.start(2)
        lab.wait(300)
        tasks, comms = lab.js("() => [window.tasks, window.comms]")
        text = "".join(lab.outputs(2)[0]["data"]["text/html"])
        whole = "t09999" in text and "t05000" in text if "tokens" in name else "Done." in text
        longest = max(tasks, default=0)
        print(
            f"{name}: longest task {longest:.0f} ms, {len(tasks)} above 50 ms, {comms} comm messages, "
            f"{'everything' if whole else 'NOT everything'} is saved in {len(text):,} characters of HTML"
        )
