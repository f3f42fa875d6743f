"""Accessibility: what axe-core says of every view in each theme, in forced colours, and on paper."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from approval_samples import RUN, waiting
from test_views_dry import html_of, prompt_of
from views_samples import full_run, long_run, weather_run
from work_samples import deep_run, reflection_run, replanned_run

from nbagent.events import RunFinished
from nbagent.views.bundle import bundle
from nbagent.views.dry import Wire

pytestmark = pytest.mark.browser

THEMES = Path(sys.prefix) / "share/jupyter/lab/themes/@jupyterlab"
LOOKS = {
    "exported, light": ("", "light", {}),
    "exported, dark": ("", "dark", {}),
    "more contrast": ("", "light", {"contrast": "more"}),
    "JupyterLab Light": ("theme-light-extension", "light", {}),
    "JupyterLab Light on a dark system": ("theme-light-extension", "dark", {}),
    "JupyterLab Dark": ("theme-dark-extension", "dark", {}),
    "JupyterLab Dark High Contrast": ("theme-dark-high-contrast-extension", "dark", {}),
}
MARKDOWN = (
    "# T\n\ntext **b** `c` [l](https://x.test)\n\n- a\n\n> q\n\n```py\nx=1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
)


@pytest.fixture(scope="module")
def views():
    runs = {
        "run": weather_run(),
        "failed": full_run("failed"),
        "plan": replanned_run().events,
        "reflection": reflection_run().events,
        "nested": deep_run().events,
        "approval": waiting([RUN]).events,
        "huge": long_run(100),
        "answer": [*weather_run()[:-1], RunFinished("completed", MARKDOWN)],
    }
    shown = {name: bundle(events)["text/html"] for name, events in runs.items()}
    return {**shown, "prompt": html_of(prompt_of(), Wire("OpenAI", '{"a":1}'))}


@pytest.fixture
def page(chromium):
    context = chromium.new_context(viewport={"width": 1000, "height": 1400})
    yield context.new_page()
    context.close()


def put(page, html, theme=""):
    style = (THEMES / theme / "index.css").read_text() if theme else ""
    dark = "@media (prefers-color-scheme: dark) { body { background: #111 } }"
    head = f"<html lang=en><meta charset=utf-8><title>t</title><style>{style} {dark}</style>"
    page.set_content(f"<!DOCTYPE html>{head}<body><main><h1>One</h1><h2>Two</h2>{html}</main></body>")


def open_all(page):
    page.evaluate(
        "() => { for (const d of document.querySelectorAll('details')) { d.removeAttribute('name'); d.open = 1 } }"
    )


def found_by_axe(page, where=".nbagent-run"):
    """The findings, each with the first element that it is about."""
    axe = importlib.import_module("axe_playwright_python.sync_playwright").Axe()
    violations = axe.run(page, where).response["violations"]
    return [(each["id"], each["impact"], each["nodes"][0]["html"][:200]) for each in violations]


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(page, views, look):
    theme, scheme, more = LOOKS[look]
    page.emulate_media(color_scheme=scheme, **more)
    found = {}
    for name, html in views.items():
        put(page, html, theme)
        open_all(page)
        found[name] = found_by_axe(page)
    assert found == {name: [] for name in views}


def test_axe_would_find_something(page):
    put(page, '<div class="nbagent-run"><p style="color:#aaa;background:#fff">pale</p></div>')
    assert [found[:2] for found in found_by_axe(page)] == [("color-contrast", "serious")]


def test_in_forced_colours_boxes_and_bars_keep_their_own(page, views):
    page.emulate_media(forced_colors="active")
    put(page, views["plan"])
    shown = "e => [getComputedStyle(e).forcedColorAdjust, getComputedStyle(e).backgroundColor]"
    adjust, done = page.locator(".nbagent-good .nbagent-box").first.evaluate(shown)
    _, failed = page.locator(".nbagent-bad .nbagent-box").first.evaluate(shown)
    assert adjust == "none"
    assert done != failed
    put(page, views["prompt"])
    solid = [
        page.locator(f"mark.nbagent-solid.nbagent-{kind}").first.evaluate(shown)[1] for kind in ("template", "value")
    ]
    assert len(set(solid)) == 2


def test_on_paper_every_fold_is_open(page, views):
    put(page, views["huge"])
    last = page.locator("pre", has_text="wind 00000050").first
    assert not last.is_visible()
    page.emulate_media(media="print")
    assert last.is_visible()
    put(page, views["prompt"])
    assert page.locator("pre", has_text='{"a":1}').first.is_visible()


def test_nothing_moves(page, views):
    put(page, views["plan"])
    moving = """() => [...document.querySelectorAll('.nbagent-run *')].filter(e => {
        const s = getComputedStyle(e); return s.animationName !== 'none' || s.transitionDuration !== '0s' }).length"""
    assert page.evaluate(moving) == 0


def test_code_is_copied_without_the_numbers_of_its_lines(page, views):
    put(page, views["approval"])
    code = page.locator(".nbagent-code").first
    selected = code.evaluate(
        """e => { const r = document.createRange(); r.selectNodeContents(e); const s = getSelection();
            s.removeAllRanges(); s.addRange(r); return s.toString() }"""
    )
    assert "import os" in selected
    assert not any(line.strip()[:1].isdigit() for line in selected.splitlines())
