"""Style: the one style sheet of the static output. Every selector starts with a class of ours.

Colours come from JupyterLab's variables, else from VS Code's, else from us, light or dark as the reader's system asks.
JupyterLab's always win: its theme may be light on a dark system. The background is ours too, so that the output also
reads on a white page of somebody on a dark system.
"""

from __future__ import annotations

import re

ROOT = "nbagent-run tex2jax_ignore mathjax_ignore"
"""The classes of the root: ours, and those that keep MathJax 2 and 3 from typesetting `$5 and $6`."""

# Custom properties have short names, `--n-` and for the dark `--nd-`: the sheet is in every saved output.
_COLOURS = {
    # name: JupyterLab, VS Code, light, dark
    "bg": ("--jp-layout-color0", "--vscode-editor-background", "#fff", "#15181c"),
    "ink": ("--jp-content-font-color1", "--vscode-editor-foreground", "#1f2328", "#e6e8eb"),
    "faint": ("--jp-content-font-color2", "--vscode-descriptionForeground", "#636a73", "#9aa2ac"),
    "line": ("--jp-border-color2", "--vscode-editorGroup-border", "#d9dde2", "#3a4047"),
    "tint": ("--jp-cell-editor-background", "--vscode-textCodeBlock-background", "#f5f6f7", "#20242a"),
    "blue": ("--jp-brand-color1", "--vscode-textLink-foreground", "#1769c2", "#58a6ff"),
    "good": ("--jp-success-color1", "--vscode-testing-iconPassed", "#2e7d32", "#4caf50"),
    "warn": ("--jp-warn-color1", "--vscode-editorWarning-foreground", "#c66900", "#f0a030"),
    "bad": ("--jp-error-color1", "--vscode-errorForeground", "#c62828", "#ff6b64"),
}

_KINDS = {
    "template": "#8d95a3",
    "value": "#2f5ec0",
    "example": "#ab258c",
    "history": "#0fa2d7",
    "context": "#14723b",
    "format": "#ae950c",
    "tool": "#974d0f",
    "framework": "#d17973",
    "reply": "#6245f3",
    "result": "#72a344",
}
"""What text is made of. Each has a contrast of about 3 or more with white and with black. They were chosen to differ
for eyes that see no red, no green or no blue, too; and beside each colour stands its name."""

# `!important` is where JupyterLab's own rules for the elements of an output are stronger than one class.
_SHEET = """
.nbagent-run {
  --n-soft: color-mix(in srgb, var(--n-faint) 84%, var(--n-ink));
  background: var(--n-bg); color: var(--n-ink); max-width: 64em; padding: 2px 4px 6px;
  overflow-wrap: anywhere;
  font: 14px/20px var(--jp-content-font-family, var(--vscode-font-family, system-ui, sans-serif));
}
.nbagent-run pre, .nbagent-run code {
  font: 12.5px/20px var(--jp-code-font-family, var(--vscode-editor-font-family, ui-monospace, monospace)) !important;
  color: inherit !important; background: none !important; border: 0; margin: 0; padding: 0 !important;
  white-space: pre-wrap; word-break: normal !important; overflow-wrap: anywhere;
}
.nbagent-run .nbagent-say { font: inherit !important }
.nbagent-run pre, .nbagent-answer > * { unicode-bidi: plaintext; text-align: start }
.nbagent-run code, .nbagent-run b, .nbagent-run :is(td, th) { unicode-bidi: isolate }
.nbagent-run p { margin: 0 }
.nbagent-run small { font-size: 12px; font-weight: 400; color: var(--n-soft) }
.nbagent-run summary { cursor: pointer; list-style: none }
.nbagent-run summary::-webkit-details-marker { display: none }
.nbagent-run summary::after {
  content: ""; display: inline-block; width: 5px; height: 5px; margin: 0 2px 2px 8px; transform: rotate(-45deg);
  border: solid var(--n-soft); border-width: 0 1px 1px 0;
}
.nbagent-run details[open] > summary::after { transform: rotate(45deg); margin-bottom: 3px }

.nbagent-head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 10px; padding-bottom: 8px }
.nbagent-head > i { display: none }
.nbagent-head > b { font-size: 16px; font-weight: 650 }
.nbagent-head > span { font-size: 13px }
.nbagent-run .nbagent-head > code, .nbagent-numbers { color: var(--n-soft) !important }
.nbagent-head > .nbagent-badge {
  font-size: 10.5px; font-weight: 600; letter-spacing: .06em; line-height: 16px; text-transform: uppercase;
  color: var(--n-blue); border: 1px solid; border-radius: 9px; padding: 0 7px; align-self: center;
}
.nbagent-status::before {
  content: ""; display: inline-block; width: 7px; height: 7px; margin: 0 6px 1px 0; border-radius: 50%;
  background: var(--n-tone, var(--n-soft));
}
.nbagent-numbers { margin-left: auto; font-variant-numeric: tabular-nums }

.nbagent-line { border-left: 1px solid var(--n-line); margin-left: 4px }
.nbagent-steps > * { position: relative; padding: 0 0 12px 18px }
.nbagent-steps > details:not([open]) { padding-bottom: 6px }
.nbagent-steps > ::before {
  content: ""; position: absolute; left: -4px; top: 7px; width: 7px; height: 7px; box-sizing: border-box;
  border: 1px solid var(--n-tone, var(--n-soft)); border-radius: 50%; background: var(--n-bg);
}
.nbagent-steps > .nbagent-end { padding-bottom: 0 }
.nbagent-steps > .nbagent-end::before { background: var(--n-tone) }
.nbagent-end + .nbagent-end { margin-top: 8px }
.nbagent-line > * > summary, .nbagent-end > b { display: block; font-size: 13px; font-weight: 600 }
.nbagent-steps > * > div, .nbagent-steps > * > details { display: flow-root; margin-top: 4px }
.nbagent-steps > * > .nbagent-steps { margin: 8px 0 -12px -18px; font-size: 13px }
.nbagent-steps > * > div > i, .nbagent-steps > * > details > summary > i {
  display: inline-block; width: 88px; font-size: 12px; font-style: normal; color: var(--n-soft);
}
.nbagent-steps > * > div > i, .nbagent-steps > * > .nbagent-plain[open] > summary { float: left; width: 92px }
.nbagent-steps > * > .nbagent-plain[open] i { width: auto }
.nbagent-steps > * > div > i > small { display: block }
.nbagent-steps > * > div > i ~ *, .nbagent-steps > * > details > summary ~ * { margin-left: 92px !important }

.nbagent-run .nbagent-out {
  background: var(--n-tint) !important; border-radius: 3px; padding: 2px 8px !important;
}
.nbagent-run .nbagent-out:is(.nbagent-bad, .nbagent-warn) { box-shadow: inset 2px 0 var(--n-tone) }
.nbagent-run .nbagent-toned, .nbagent-run .nbagent-toned small, .nbagent-run .nbagent-out.nbagent-bad {
  color: color-mix(in srgb, var(--n-tone) 65%, var(--n-ink)) !important;
}
.nbagent-tree, .nbagent-run .nbagent-tree pre { font-size: 12.5px }
.nbagent-tree details > div { border-left: 1px solid var(--n-line); margin-left: 4px; padding-left: 12px }
.nbagent-tree b { font-weight: 500; color: var(--n-soft) }
.nbagent-run .nbagent-table { overflow-x: auto }
.nbagent-table caption { text-align: left; white-space: nowrap }
.nbagent-table :is(th, td, code) { overflow-wrap: break-word; white-space: pre-wrap }
.nbagent-run :is(.nbagent-table, .nbagent-answer) table {
  border-collapse: collapse; font-size: 13px; color: inherit; margin: 0;
}
.nbagent-run :is(.nbagent-table, .nbagent-answer) :is(th, td) {
  border-bottom: 1px solid var(--n-line); padding: 3px 16px 3px 0; text-align: start;
}
.nbagent-run .nbagent-table tr { background: none }
.nbagent-run mark {
  color: inherit; background: color-mix(in srgb, var(--n-kind) 24%, transparent);
  border-bottom: 1.5px solid var(--n-kind); border-radius: 2px; padding: 0 2px;
  -webkit-box-decoration-break: clone; box-decoration-break: clone;
}
.nbagent-run sup { font-size: 9.5px; line-height: 0; color: inherit; padding: 0 2px }
.nbagent-run .nbagent-inner { border-left: 2px solid var(--n-kind, var(--n-line)); padding-left: 10px }
.nbagent-run .nbagent-cut {
  display: block; border: dashed var(--n-line); border-width: 1px 0; margin: 6px 0; padding: 2px 0;
  font-size: 12px; text-align: center; white-space: normal; color: var(--n-soft);
}

.nbagent-run .nbagent-legend { display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 12px }
.nbagent-run .nbagent-legend small { display: contents; color: var(--n-soft) }
.nbagent-run .nbagent-legend i { display: none }
.nbagent-run .nbagent-legend sup { vertical-align: 1px; color: inherit }
.nbagent-sums mark, .nbagent-growth mark, .nbagent-run mark.nbagent-solid {
  background: var(--n-kind); border: 0; font-size: 10px;
}
.nbagent-run svg { display: block; overflow: visible }
.nbagent-run path { fill: none; stroke: var(--n-kind) }
.nbagent-run .nbagent-bar { width: 100%; height: 12px !important; margin-bottom: 6px }
.nbagent-run .nbagent-columns { height: 100px !important; border-bottom: 1px solid var(--n-line) }
.nbagent-growth > div { display: inline-block; max-width: 100%; margin: 4px 0 6px }
.nbagent-run .nbagent-calls {
  width: 100%; height: 24px !important; margin-bottom: 6px;
}
.nbagent-calls path { stroke-width: 22px }
.nbagent-calls .nbagent-two { stroke-width: 10px }
.nbagent-calls .nbagent-three { stroke-width: 6px }
.nbagent-calls .nbagent-four { stroke-width: 4px }
.nbagent-calls .nbagent-bad { stroke-dasharray: 3px 2px }
.nbagent-run .nbagent-calls .nbagent-result.nbagent-bad { stroke: var(--n-bad) }
.nbagent-run .nbagent-graph svg { max-width: 100%; height: auto !important }
.nbagent-run .nbagent-graph path { stroke: var(--n-soft) }
.nbagent-graph text { fill: var(--n-ink); font-size: 12px }
.nbagent-run .nbagent-ends { display: flex; justify-content: space-between; gap: 12px }

.nbagent-tabs > details { border-top: 1px solid var(--n-line); padding: 4px 0 }
.nbagent-tabs > details > summary { font-size: 13px; font-weight: 600 }
.nbagent-tabs > details > .nbagent-steps > * { padding: 6px 0 0 }
.nbagent-tabs > details > .nbagent-steps > ::before { display: none }
@supports selector(details::details-content) {
  .nbagent-tabs { display: flex; flex-wrap: wrap; gap: 0 20px }
  .nbagent-tabs > details { display: contents }
  .nbagent-tabs > details > summary {
    padding: 4px 0; border-bottom: 2px solid transparent; font-weight: 400; color: var(--n-soft);
  }
  .nbagent-tabs > details > summary::after { display: none }
  .nbagent-tabs > details::details-content { order: 1; width: 100%; border-top: 1px solid var(--n-line) }
  .nbagent-tabs > details:not([open])::details-content { display: none }
  .nbagent-tabs > details[open] > summary,
  .nbagent-tabs:not(:has(> [open])) > :first-child > summary {
    border-color: var(--n-blue); font-weight: 600; color: var(--n-ink); pointer-events: none;
  }
  .nbagent-tabs:not(:has(> [open])) > :first-child::details-content { display: block; content-visibility: visible }
}
.nbagent-inner > i { display: block; font-size: 12px; font-style: normal; color: var(--n-soft) }

.nbagent-progress { display: flex; align-items: center; gap: 12px; padding-bottom: 10px }
.nbagent-progress > .nbagent-bar { flex: 1; width: auto; min-width: 0; height: 6px !important; margin: 0 !important }
.nbagent-progress > small { white-space: nowrap }
.nbagent-progress path { stroke: var(--n-tone, var(--n-line)) }
.nbagent-steps > .nbagent-step { padding-bottom: 6px }
.nbagent-steps > .nbagent-step::before { display: none }
.nbagent-line > .nbagent-step > summary { font-size: 14px; font-weight: 500 }
.nbagent-step.nbagent-open { color: var(--n-soft) }
.nbagent-run i + p > .nbagent-verdict { margin-left: 0 }
.nbagent-run .nbagent-question {
  border: 1px solid var(--n-line); border-radius: 4px; margin-top: 6px; padding: 6px 10px 8px;
}
.nbagent-question > p { line-height: 24px }
.nbagent-question > p > small { display: block; margin-top: 6px }
.nbagent-question > div { display: flow-root; margin-top: 4px }
.nbagent-question > div > i {
  float: left; width: 112px; padding-top: 2px; font-size: 12px; font-style: normal; color: var(--n-soft);
}
.nbagent-run .nbagent-question > div > i + * { margin-left: 120px; padding: 2px 8px !important }
.nbagent-run .nbagent-question > div > i + pre { background: var(--n-tint) !important; border-radius: 3px }
.nbagent-code > span { display: block; padding-left: 5ch; text-indent: -5ch }
.nbagent-code > span > i {
  display: inline-block; min-width: 4ch; margin-right: 1ch; text-indent: 0; text-align: right; font-style: normal;
  color: var(--n-soft); user-select: none;
}
.nbagent-run .nbagent-box {
  position: absolute; left: -8px; top: 2px; width: 15px; height: 15px; box-sizing: border-box; font-size: 0;
  border: 1.5px solid var(--n-tone, var(--n-soft)); border-radius: 4px; background: var(--n-bg);
}
.nbagent-box::before, .nbagent-box::after { position: absolute; left: 2px; top: 5px; width: 8px; height: 2px }
.nbagent-good > .nbagent-box, .nbagent-good > * > .nbagent-box, .nbagent-bad > * > .nbagent-box,
.nbagent-warn > * > .nbagent-box { background: var(--n-tone) }
.nbagent-good > * > .nbagent-box::after, .nbagent-good > .nbagent-box::after {
  content: ""; left: 4px; top: 1px; width: 4px; height: 8px; transform: rotate(45deg);
  border: solid var(--n-bg); border-width: 0 2px 2px 0; box-sizing: border-box;
}
.nbagent-bad > * > .nbagent-box::before { content: ""; background: var(--n-bg); transform: rotate(-45deg) }
.nbagent-bad > * > .nbagent-box::after { content: ""; background: var(--n-bg); transform: rotate(45deg) }
.nbagent-warn > * > .nbagent-box::after { content: ""; background: var(--n-bg) }
.nbagent-now > * > .nbagent-box::after {
  content: ""; left: 4px; top: 2px; width: 0; height: 0; border: 4px solid transparent;
  border-left: 6px solid var(--n-tone); border-right: 0;
}

.nbagent-steps > * > .nbagent-sub { margin: 8px 0 0; border-left: 1px solid var(--n-line); font-size: 13px;
  --n-tone: initial }
.nbagent-sub mark.nbagent-framework { background: none; border-bottom-width: 1px;
  border-bottom-style: dotted; padding: 0 }
.nbagent-steps > * > details > .nbagent-sub { margin: 6px 0 !important }
.nbagent-run .nbagent-gist { font-size: 13px }
.nbagent-gist > i, .nbagent-gist > .nbagent-numbers { font-style: normal; color: var(--n-soft) }

.nbagent-verdict {
  font-size: 12px; font-weight: 600; line-height: 18px; border: 1px solid; border-radius: 9px; padding: 0 8px;
  margin-left: 4px;
  color: color-mix(in srgb, var(--n-tone, var(--n-soft)) 65%, var(--n-ink));
}
.nbagent-steps > * > .nbagent-sides { display: grid; grid-template-columns: 1fr 1fr; gap: 12px; margin-top: 8px }
.nbagent-sides > div { background: var(--n-tint); border-radius: 3px; padding: 4px 10px 8px; min-width: 0 }
.nbagent-run ins, .nbagent-run del { color: inherit; border-radius: 2px; text-decoration-thickness: 1.5px }
.nbagent-run ins {
  background: color-mix(in srgb, var(--n-good) 20%, transparent); text-decoration: underline var(--n-good);
}
.nbagent-run del {
  background: color-mix(in srgb, var(--n-bad) 18%, transparent); text-decoration: line-through var(--n-bad);
}

.nbagent-answer > * { margin: 0 0 8px !important }
.nbagent-answer > :last-child { margin: 0 !important }
.nbagent-run .nbagent-answer :is(h4, h5, h6) { font-size: 14px; line-height: 20px; font-weight: 650; color: inherit }
.nbagent-run .nbagent-answer > pre {
  background: var(--n-tint) !important; border-radius: 3px; padding: 6px 10px !important;
}
.nbagent-run .nbagent-answer :not(pre) > code {
  background: var(--n-tint) !important; border-radius: 3px; padding: 1px 4px !important;
}
.nbagent-run .nbagent-answer a { color: var(--n-blue) }
.nbagent-run .nbagent-answer :is(ul, ol) { padding-left: 20px }
.nbagent-run .nbagent-answer blockquote { border-left: 2px solid var(--n-line); padding: 0 0 0 10px }
@media (max-width: 520px) {
  .nbagent-steps > * > div > i, .nbagent-steps > * > .nbagent-plain[open] > summary { float: none; display: block }
  .nbagent-steps > * > div > i ~ *, .nbagent-steps > * > details > summary ~ * { margin-left: 0 !important }
  .nbagent-question > div > i { float: none; display: block; width: auto }
  .nbagent-run .nbagent-question > div > i + * { margin-left: 0 }
  .nbagent-steps > * > .nbagent-sides { grid-template-columns: 1fr }
}
@media (prefers-contrast: more) {
  .nbagent-run { --n-soft: var(--n-ink); --n-line: var(--n-ink) }
}
@media (forced-colors: active) {
  .nbagent-run :is(mark, path, .nbagent-box), .nbagent-status::before, .nbagent-steps > ::before {
    forced-color-adjust: none;
  }
  .nbagent-run mark { color: CanvasText; background: Canvas }
  .nbagent-run mark.nbagent-solid, .nbagent-sums mark, .nbagent-growth mark { background: var(--n-kind) }
}
@media print {
  .nbagent-run { print-color-adjust: exact }
  .nbagent-run.nbagent-run details::details-content { display: block; content-visibility: visible }
  .nbagent-run .nbagent-tabs, .nbagent-tabs > details { display: block }
}
"""


def _declared() -> str:
    """Each colour; where neither JupyterLab nor VS Code has one, ours for the dark, if that is declared, else for the
    light."""
    return "".join(
        f"--n-{name}:var({jupyter},var({code},var(--nd-{name},{white})));"
        for name, (jupyter, code, white, _) in _COLOURS.items()
    )


def _dark() -> str:
    return "".join(f"--nd-{name}:{dark};" for name, (_, _, _, dark) in _COLOURS.items())


def _kinds() -> str:
    return "".join(f".nbagent-{kind}{{--n-kind:{colour}}}" for kind, colour in _KINDS.items())


def _tones() -> str:
    return "".join(f".nbagent-{tone}{{--n-tone:var(--n-{tone})}}" for tone in ("good", "warn", "bad")) + (
        ".nbagent-now{--n-tone:var(--n-blue)}"
    )


STYLE = (
    "".join(
        (
            f".nbagent-run{{{_declared()}}}",
            f"@media(prefers-color-scheme:dark){{.nbagent-run{{{_dark()}}}}}",
            _tones(),
            _kinds(),
            re.sub(r" *([{};,>~]) *|(?<=:) (?=[^{}]*[;}])", r"\1", " ".join(_SHEET.split())),
        )
    )
    .replace(";}", "}")
    .replace(" !important", "!important")
)
