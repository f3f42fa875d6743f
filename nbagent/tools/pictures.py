"""Pictures: figures, images and picture files as Image values. Imports no library: what is here to draw has done so."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any

from nbagent.errors import ConfigError
from nbagent.messages import Image

_MAGIC = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
_PNG_MODES = {"1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"}


def encoded(data: bytes) -> Image | None:
    """The picture that these bytes are a file of, if they are PNG or JPEG."""
    media_type = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)
    return Image(data, media_type, "image") if media_type else None


def picture(value: Any) -> Image:
    """Any picture as an Image: an Image, a figure or axes, a PIL image, the bytes or the path of a PNG or JPEG file.

    Raises ConfigError naming what came.
    """
    if isinstance(value, Image):
        return value
    kinds = {(base.__module__.partition(".")[0], base.__name__) for base in type(value).__mro__}
    if ("matplotlib", "FigureBase") in kinds or ("matplotlib", "_AxesBase") in kinds:
        return draw(figure_of(value), caption_of(value))
    if ("PIL", "Image") in kinds:
        return photo(value)
    if isinstance(value, bytes) and (image := encoded(value)) is not None:
        return image
    if isinstance(value, str | PurePath):
        return _file(Path(value))
    raise ConfigError(
        f"image: expected a figure, a PIL image, or the bytes or path of a PNG or JPEG file, got {type(value).__name__}"
    )


def _file(path: Path) -> Image:
    try:
        image = encoded(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"image: {path.as_posix()!r} cannot be read: {error.strerror}") from None
    if image is None:
        raise ConfigError(f"image: {path.as_posix()!r} is neither a PNG nor a JPEG file")
    return Image(image.data, image.media_type, path.name)


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
