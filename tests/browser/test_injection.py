"""Injection: hostile texts in every place of every view in a real browser: nothing runs, loads, or leaves its place."""

from __future__ import annotations

import json
import re
from urllib.parse import urlsplit

import pytest
from everywhere import views_of
from hostile import PAYLOADS, TEXTS
from page import Page

from nbagent.views.safe import visible
from nbagent.views.style import STYLE

pytestmark = pytest.mark.browser

HOME = "http://nbagent.test/"
BATCHES = [PAYLOADS[start : start + 55] for start in range(0, len(PAYLOADS), 55)]

POKE = """async () => {
    const ours = [...document.querySelectorAll('.case *')];
    for (const fold of ours.filter(e => e.tagName === 'DETAILS')) fold.open = true;
    for (const each of ours) for (const kind of ['mouseover', 'mouseenter', 'pointerenter', 'focusin', 'click'])
        if (each.tagName !== 'A' && each.tagName !== 'SUMMARY') each.dispatchEvent(new Event(kind, {bubbles: true}));
    for (const each of ours) each.focus?.();
    await new Promise(done => setTimeout(done, 300));
}"""
"""Does to every element what a reader might do."""


def cases_of(payloads):
    """The HTML of each view of each text. Only the first brings the style sheet along."""
    cases = [html for payload in payloads for html in views_of(payload).values()]
    return [html if not number else html.replace(STYLE, "") for number, html in enumerate(cases)]


class Watched:
    """A page, what it asked for, and what ran in it."""

    def __init__(self, page):
        self.page = page
        self.ran, self.asked = [], []
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self.asked.append(request.url))

    def _dialog(self, dialog):
        self.ran.append(dialog.message)
        dialog.dismiss()

    @property
    def around(self):
        """How many elements are not of any case."""
        return self.page.evaluate(
            "() => document.querySelectorAll('*').length - document.querySelectorAll('.case *').length"
        )

    def shown(self):
        """The HTML of each case, as the browser has understood it."""
        return self.page.evaluate("() => [...document.querySelectorAll('.case')].map(e => e.innerHTML)")


@pytest.fixture
def watched(chromium):
    context = chromium.new_context()
    page = context.new_page()
    body = "<!DOCTYPE html><title>mine</title><body></body>"
    page.route(
        "**/*",
        lambda route: (
            route.fulfill(body=body, content_type="text/html") if route.request.url == HOME else route.abort()
        ),
    )
    page.goto(HOME)
    watched = Watched(page)
    yield watched
    context.close()


def put(page, cases, how):
    """Into the page: read with it (`parsed`), or written into elements that are there, as ipywidgets.HTML does it."""
    if how == "parsed":
        inner = "".join(f'<div class="case">{html}</div>' for html in cases)
        page.set_content(f"<!DOCTYPE html><title>mine</title><body>{inner}</body>", wait_until="domcontentloaded")
    else:
        page.evaluate(
            """(cases) => { for (const html of cases) {
                const element = document.createElement('div'); element.className = 'case';
                document.body.append(element); element.innerHTML = html } }""",
            cases,
        )


def check_case(written, shown):
    """That the browser has found the elements and the text that are written there, and only ours."""
    found = Page(re.sub(r' open=""', " open", shown))
    assert found.text == Page(written).text
    return found


@pytest.mark.parametrize("how", ["parsed", "written"])
@pytest.mark.parametrize("batch", range(len(BATCHES)))
def test_nothing_runs_loads_or_leaves_its_place(watched, batch, how):
    payloads = BATCHES[batch]
    cases = cases_of(payloads)
    put(watched.page, cases, how)
    watched.page.evaluate(POKE)
    assert (watched.ran, watched.asked) == ([], [])
    assert watched.page.title() == "mine"
    shown = watched.shown()
    assert len(shown) == len(cases)
    assert watched.around == 4 + len(cases)  # html, head, title, body
    per = len(cases) // len(payloads)
    for number, (written, found) in enumerate(zip(cases, shown, strict=True)):
        text = check_case(written, found).text
        payload = payloads[number // per]
        assert all(line in text for line in visible(payload).split("\n")), payload


@pytest.mark.parametrize("how", ["parsed", "written"])
def test_what_is_not_escaped_would_be_noticed(watched, how):
    hostile = ["<img src=x onerror=alert(1)>", "<details open ontoggle=alert(2)>", "<i onmouseover=alert(3)>x</i>"]
    put(watched.page, hostile, how)
    watched.page.evaluate(POKE)
    assert {"1", "2", "3"} == set(watched.ran)
    assert watched.asked == [f"{HOME}x"] if how == "written" else watched.asked


SHOW = """import json
from pathlib import Path
from IPython.display import display
from ipywidgets import HTML
cases = json.loads(Path(NAME).read_text())
"""
BOTH = {
    "trusted": "display({'text/html': ''.join(f'<div class=\"case\">{html}</div>' for html in cases)}, raw=True)",
    "widget": "HTML(''.join(f'<div class=\"case\">{html}</div>' for html in cases))",
}


@pytest.mark.parametrize("how", BOTH)
def test_nothing_happens_in_jupyterlab_either(open_lab, folder, how):
    cases = cases_of(TEXTS)  # a server drops what is more than 1 MB per second
    name = f"injection_{how}"
    (folder / f"{name}.json").write_text(json.dumps(cases))
    lab = open_lab(f"{name}.ipynb", [SHOW.replace("NAME", repr(f"{name}.json")), BOTH[how]])
    lab.run(0)
    title = lab.page.title()
    watched = Watched(lab.page)
    lab.run(1)
    lab.page.wait_for_function("(n) => document.querySelectorAll('.case').length === n", arg=len(cases))
    lab.page.evaluate(POKE)
    assert watched.ran == []
    assert [url for url in watched.asked if not _is_labs_own(url, lab.page.url)] == []
    assert lab.page.title().lstrip("● ") == title.lstrip("● ")
    assert lab.page.locator(".case :is(mjx-container, .MathJax, script)").count() == 0
    for written, found in zip(cases, watched.shown(), strict=True):
        # Lab opens links elsewhere, and numbers headings.
        check_case(written, re.sub(r' target="_blank"|<span class="numbering-entry">.*?</span>', "", found))


def _is_labs_own(url, page):
    here, there = urlsplit(page), urlsplit(url)
    return here.netloc == there.netloc and re.match(r"/(api|static|lab/(api|extensions))/", there.path)
