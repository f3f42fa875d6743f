"""Pictures: figures, images and picture files as Image values. Imports no library: what is here to draw has done so."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import Any

from nbagent.messages import Image

_MAGIC = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
_PNG_MODES = {"1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"}


def encoded(data: bytes) -> Image | None:
    """The picture that these bytes are a file of, if they are PNG or JPEG."""
    media_type = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)
    return Image(data, media_type, "image") if media_type else None


def figure_of(drawing: Any) -> Any:
    """The whole matplotlib figure of a figure, a part of it, or axes."""
    figure = drawing if hasattr(drawing, "savefig") else drawing.figure
    return figure.canvas.figure


def caption_of(drawing: Any) -> str:
    """The title of axes or of a figure, or that of the first axes that have one, or `figure`."""
    if hasattr(drawing, "get_title"):
        return _line(drawing.get_title()) or caption_of(drawing.figure)
    title = getattr(drawing, "get_suptitle", str)()
    titles = [title, *(axes.get_title() for axes in drawing.get_axes())]
    return next((_line(each) for each in titles if each.strip()), "figure")


def draw(figure: Any, caption: str) -> Image:
    """The figure as PNG, the same bytes each time. It is closed, or the notebook would show it once more."""
    buffer = BytesIO()
    try:
        figure.savefig(buffer, format="png", bbox_inches="tight", metadata={"Software": None})
    finally:
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close(figure)
    return Image(buffer.getvalue(), "image/png", caption)


def photo(image: Any) -> Image:
    """A PIL image as PNG."""
    buffer = BytesIO()
    (image if image.mode in _PNG_MODES else image.convert("RGB")).save(buffer, format="PNG")
    return Image(buffer.getvalue(), "image/png", "image")


def _line(text: str) -> str:
    return " ".join(text.split())
