"""View style: the style sheet of the widgets that look back at a run. No text from outside is in it.

It also hides the same run's static output, which stands above them and is what stays when they are gone.
"""

from __future__ import annotations

STYLE = """<style>
.jp-OutputArea:has(.nbagent-view) > .jp-OutputArea-child:has(.nbagent-run):not(:has(.nbagent-view)) { display: none }
.nbagent-view.nbagent-view { max-width: 904px; box-sizing: border-box; overflow: visible; margin-left: 4px; gap: 6px }
.nbagent-view .widget-box { overflow: visible }
.nbagent-view .widget-html { margin: 0 }
.nbagent-view .widget-html-content { line-height: 20px; color: var(--jp-content-font-color1); min-width: 0 }
.nbagent-view .nbagent-bar-of-buttons { flex-flow: row wrap; align-items: center; gap: 2px }
.nbagent-view .nbagent-bar-of-buttons > button { width: auto; min-width: 64px }
.nbagent-view .nbagent-bar-of-buttons > .widget-slider { flex: 1 1 240px; min-width: 180px; width: auto }
.nbagent-view .nbagent-at {
  border-left: 3px solid var(--jp-brand-color1); padding: 2px 0 2px 10px; overflow-wrap: anywhere; font-size: 14px;
}
.nbagent-view .nbagent-title { flex: 1 1 auto; font-size: 14px }
.nbagent-view .nbagent-at b { font-weight: 600 }
.nbagent-view .nbagent-at small, .nbagent-view .nbagent-told { color: var(--jp-content-font-color2); font-size: 12px }
.nbagent-view .nbagent-told { white-space: pre-wrap; overflow-wrap: anywhere }
.nbagent-view .nbagent-told.nbagent-wrong { color: var(--jp-error-color1) }
.nbagent-view button, .nbagent-view select, .nbagent-view input { border-radius: 3px }
.nbagent-view .widget-toggle-buttons { margin: 4px 0 0; width: auto }
.nbagent-view .widget-toggle-buttons .widget-toggle-button { width: auto; border-radius: 3px }
.nbagent-view .widget-toggle-button.mod-active.mod-active {
  font-weight: 600; text-decoration: underline; text-underline-offset: 4px; text-decoration-thickness: 2px;
}
.nbagent-view .nbagent-moment.nbagent-moment > ::before { display: none }
.nbagent-view .nbagent-moment.nbagent-moment > * { padding-left: 0 }
.nbagent-view .nbagent-shown {
  border: 1px solid var(--jp-border-color2); border-radius: 4px; padding: 6px 10px; box-sizing: border-box; width: auto;
}
.nbagent-view .widget-textarea { height: auto; width: auto; box-sizing: border-box }
.nbagent-view .widget-textarea textarea {
  field-sizing: content; min-height: 60px; max-height: 420px; box-sizing: border-box; border-radius: 3px;
  padding: 4px 8px; font: 12.5px/19px var(--jp-code-font-family); tab-size: 4; overflow-wrap: anywhere;
}
.nbagent-view .widget-textarea textarea:disabled { opacity: 1; color: var(--jp-content-font-color2) }
.nbagent-view :is(button, select, textarea, input, .noUi-handle):focus-visible {
  outline: 2px solid var(--jp-brand-color1); outline-offset: 1px;
}
</style>"""
