"""A figure in HTML: its caption, and while the run goes on the picture itself.

In the output that stays the pictures follow as outputs of their own, which every front end keeps and shows.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from nbagent.views import words
from nbagent.views.html_row import row
from nbagent.views.safe import escape

if TYPE_CHECKING:
    from nbagent.messages import Image

_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Those in which nothing can run."""
_MOST = 64 * 1024
"""Bytes of a picture that is shown in the text; it may be sent more than once."""


def figure_html(image: Image, number: int, *, is_live: bool) -> str:
    """`is_live`: whether the picture itself is shown here."""
    shown = f"<p>{escape(words.caption(image))}</p>"
    if is_live and image.media_type in _TYPES and len(image.data) <= _MOST:
        source = f"data:{image.media_type};base64,{b64encode(image.data).decode()}"
        shown += f'<p><img class="nbagent-figure" alt="figure {number}" src="{source}"></p>'
    return row(f"figure {number}", shown)
