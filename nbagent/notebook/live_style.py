"""Live style: the style sheet of a run that goes on. No text from outside is in it.

While the widgets are there, it also hides the run as it is saved meanwhile.
"""

from __future__ import annotations

from nbagent.views.style import STYLE

SHADOW = "nbagent-shadow"
"""The class of a run as it is saved while its widgets are shown."""

LIVE_STYLE = f"""<style>{STYLE}
.jp-OutputArea:has(.nbagent-live) .jp-OutputArea-child:has(.{SHADOW}) {{ display: none }}
.nbagent-live, .nbagent-live .widget-vbox, .nbagent-live .widget-html-content {{ overflow: visible }}
.nbagent-live.nbagent-live .widget-html {{
  margin: 0; max-width: 100%; width: auto; height: auto; line-height: inherit;
}}
.nbagent-live .widget-html > .widget-html-content {{ line-height: inherit; flex: 1 1 0; min-width: 0 }}
.nbagent-live .nbagent-run {{ padding-bottom: 0 }}
.nbagent-live .nbagent-progress {{ padding-bottom: 4px }}
.nbagent-live .nbagent-progress progress {{
  flex: 1; min-width: 0; height: 6px; border: 0; border-radius: 3px; appearance: none; background: var(--n-line);
}}
.nbagent-live progress::-webkit-progress-bar {{ background: var(--n-line); border-radius: 3px }}
.nbagent-live progress::-webkit-progress-value {{ background: var(--n-blue); border-radius: 3px }}
.nbagent-live progress::-moz-progress-bar {{ background: var(--n-blue); border-radius: 3px }}
.nbagent-live.nbagent-live .nbagent-controls {{
  align-items: center; gap: 8px; margin: 0 0 6px 4px; min-height: 26px; overflow: visible;
}}
.nbagent-live.nbagent-live .nbagent-controls > * {{ margin: 0 }}
.nbagent-live .nbagent-controls > .widget-label {{
  font: 12px/20px var(--jp-content-font-family); color: var(--jp-content-font-color2); height: auto;
}}
.nbagent-live .nbagent-controls > button {{
  border-radius: 3px; width: auto; min-width: 72px; height: 26px; line-height: 24px;
}}
.nbagent-live .nbagent-controls > button:focus-visible {{
  outline: 2px solid var(--jp-brand-color1); outline-offset: 1px;
}}
.nbagent-steps > .nbagent-now {{ --n-tone: var(--n-blue) }}
.nbagent-steps > .nbagent-now::before {{
  background: var(--n-blue); animation: nbagent-beat 1.2s ease-in-out infinite;
}}
.nbagent-live .nbagent-figure {{ max-width: 100%; max-height: 480px; background: #fff }}
.nbagent-now > b {{ font-size: 13px; font-weight: 600 }}
@keyframes nbagent-beat {{ 50% {{ opacity: .25 }} }}
@media (prefers-reduced-motion: reduce) {{ .nbagent-steps > .nbagent-now::before {{ animation: none }} }}
</style>"""
