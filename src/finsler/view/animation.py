"""Animations: pictures one after the other in a GIF."""

from __future__ import annotations

import importlib.util
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.storage.files import write_bytes
from finsler.storage.outputs import mark
from finsler.view.colors import color_table
from finsler.view.panel import Camera, Panel, resolve_colors
from finsler.view.renderer import render_panel

# Pictures that the common palette is taken from, and the colours it has beside black and white.
_SAMPLED = 12
_COLORS = 254
# Height of the strip with the colour bar.
_BAR = 44


def save_animation(
    path: str | os.PathLike[str],
    pictures: Sequence[NDArray[np.uint8]],
    labels: Sequence[str] | None = None,
    *,
    pause: int = 80,
    last_pause: int = 1000,
) -> Path:
    """Write an endless GIF, labels in the upper left corner, and return its path.

    All pictures share one palette, so that colours do not flicker.

    Parameters
    ----------
    path : str or Path
        Ends in .gif; a file there is replaced only once the new one is complete.
    pictures : sequence of (height, width, 3) uint8
        RGB, all of one size, as [`render_panel`][finsler.view.render_panel] makes them.
    labels : sequence of str, optional
        One for each picture.
    pause, last_pause : int
        Milliseconds that a picture and the last one stay.

    Raises
    ------
    InputError
        No picture, another type or ending, sizes that differ, another number of labels, or pillow
        is not installed.
    """
    target = Path(path)
    if target.suffix.lower() != ".gif":
        raise InputError(f"{target} must end in .gif")
    _check_pictures(pictures)
    if labels is not None and len(labels) != len(pictures):
        raise InputError(f"there are {len(labels)} labels for {len(pictures)} pictures")
    if importlib.util.find_spec("PIL") is None:
        raise InputError("pillow is not installed; animations need it: pip install 'finsler[view]'")
    pauses = [pause] * (len(pictures) - 1) + [last_pause]
    return write_bytes(target, _gif(pictures, labels or [""] * len(pictures), pauses))


def save_panel_animation(
    path: str | os.PathLike[str],
    rows: Iterable[Sequence[Panel]],
    labels: Sequence[str],
    *,
    camera: Camera,
    size: tuple[int, int] = (480, 480),
) -> Path:
    """Draw rows of panels, each row one picture with a label and a colour bar, into a GIF.

    `size` is width and height of a panel with its share of the bar, in pixels; errors as for
    [`save_animation`][finsler.view.save_animation].
    """
    pictures = []
    for row in rows:
        drawn = [render_panel(p, camera=camera, size=(size[0], size[1] - _BAR)) for p in row]
        [first, *_] = resolve_colors(row)
        pictures.append(
            np.concatenate([np.concatenate(drawn, axis=1), _color_bar(first, len(row), size)])
        )
    return save_animation(path, pictures, labels)


def _color_bar(panel: Panel, panels: int, size: tuple[int, int]) -> NDArray[np.uint8]:
    """The colours of a panel from its lowest value to its largest, below all panels of a row."""
    from PIL import Image, ImageDraw, ImageFont

    width = panels * size[0]
    image = Image.new("RGB", (width, _BAR), "white")
    if panel.clim is None:
        return np.asarray(image)
    table = np.round(255 * color_table(replace(panel, grey_from=None))).astype(np.uint8)
    left, right = width // 2 - size[0] // 4, width // 2 + size[0] // 4
    strip = Image.fromarray(table[None]).resize((right - left, 14), Image.Resampling.NEAREST)
    image.paste(strip, (left, 14))
    write, font = ImageDraw.Draw(image), ImageFont.load_default(14)
    for value, at, anchor in zip(panel.clim, (left - 8, right + 8), ("rm", "lm"), strict=True):
        write.text((at, 21), f"{value:.3g}", fill="black", font=font, anchor=anchor)
    return np.asarray(image)


def _check_pictures(pictures: Sequence[NDArray[np.uint8]]) -> None:
    if len(pictures) == 0:
        raise InputError("an animation needs at least one picture")
    for i, picture in enumerate(pictures):
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise InputError(
                f"picture {i} has shape {picture.shape} and type {picture.dtype}; it must be"
                " (height, width, 3) of type uint8"
            )
        if picture.shape != pictures[0].shape:
            raise InputError(
                f"picture {i} has shape {picture.shape}, but the first {pictures[0].shape};"
                " draw all in one size"
            )


def _gif(
    pictures: Sequence[NDArray[np.uint8]], labels: Sequence[str], pauses: Sequence[int]
) -> bytes:
    from PIL import Image, ImageDraw, ImageFont

    strip = Image.fromarray(np.concatenate(pictures[:: max(1, len(pictures) // _SAMPLED)]))
    common = strip.quantize(colors=_COLORS, method=Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*common[: 3 * _COLORS], 0, 0, 0, 255, 255, 255])
    images = [Image.fromarray(picture) for picture in pictures]
    font = ImageFont.load_default(18)
    for image, label in zip(images, labels, strict=True):
        ImageDraw.Draw(image).text((12, 10), label, fill="black", font=font)
    first, *rest = (image.quantize(palette=palette) for image in images)
    buffer = io.BytesIO()
    options = {"duration": pauses, "loop": 0, "comment": mark().encode()}
    first.save(buffer, "GIF", save_all=True, append_images=rest, **options)
    return buffer.getvalue()
