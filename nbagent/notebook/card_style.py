"""Card style: the style sheet of the cards that ask. No text from outside is in it.

It also hides what the run's output says of the same calls, and how to decide by a line, as long as there are buttons.
"""

from __future__ import annotations

PLAIN = ("tex2jax_ignore", "mathjax_ignore")
"""The classes that keep `$5 and $6` from being typeset."""

STYLE = """<style>
.jp-OutputArea:has(.nbagent-card) .nbagent-question { display: none }
.nbagent-card.nbagent-card { max-width: 896px; box-sizing: border-box; overflow: visible; margin-left: 4px }
.nbagent-card.nbagent-card .widget-label {
  height: auto; line-height: 20px; white-space: pre-wrap; overflow: visible; overflow-wrap: anywhere; flex: 0 0 auto;
  max-width: 100%; color: var(--jp-content-font-color1);
}
.nbagent-card .nbagent-call {
  box-sizing: border-box; overflow: visible; padding: 8px 12px 10px; margin: 2px 0 8px; border-radius: 4px;
  border: 1px solid var(--jp-border-color2); border-left: 3px solid var(--jp-warn-color1);
}
.nbagent-card .nbagent-call.nbagent-chosen { border-left-color: var(--jp-border-color1) }
.nbagent-card.nbagent-card .nbagent-what { font-weight: 600; font-size: 14px }
.nbagent-card .nbagent-arguments, .nbagent-card .nbagent-argument { overflow: visible }
.nbagent-card.nbagent-card .nbagent-argument > .widget-label {
  width: 116px; padding: 4px 8px 0 0; font-size: 12px; color: var(--jp-content-font-color2);
}
.nbagent-card .nbagent-argument > .widget-textarea { flex: 1 1 0; min-width: 0; width: auto }
.nbagent-card .widget-textarea { height: auto; box-sizing: border-box }
.nbagent-card.nbagent-card .widget-textarea > label {
  position: absolute; width: 1px; height: 1px; min-width: 0; margin: 0; padding: 0; overflow: hidden;
  white-space: nowrap;
  clip-path: inset(50%);
}
.nbagent-card .widget-textarea textarea {
  field-sizing: content; min-height: 28px; box-sizing: border-box; border-radius: 3px; padding: 4px 8px;
  font: 12.5px/19px var(--jp-code-font-family); tab-size: 4; overflow-wrap: anywhere; white-space: pre-wrap;
}
.nbagent-card.nbagent-card .nbagent-note { flex: 1 1 280px; min-width: 0; width: auto }
.nbagent-card .nbagent-note textarea { font-family: var(--jp-ui-font-family) }
.nbagent-card .widget-textarea textarea:disabled {
  opacity: 1; color: var(--jp-content-font-color1); background: var(--jp-cell-editor-background);
  border-color: transparent; resize: none; cursor: text;
}
.nbagent-card button, .nbagent-card select { border-radius: 3px }
.nbagent-card button:focus-visible, .nbagent-card :is(textarea, select):focus-visible {
  outline: 2px solid var(--jp-brand-color1); outline-offset: 1px;
}
.nbagent-card button.mod-danger:not(:focus-visible) { outline: none }
.nbagent-card.nbagent-card .nbagent-said:empty { display: none }
</style>"""
