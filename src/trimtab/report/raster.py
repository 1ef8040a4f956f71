"""The cells of the heat map as a picture: a pixel a cell, which the style sheet colours.

A thousand rows of cells as shapes would be megabytes; as grey levels they are some tens of
kilobytes.  A filter of the page turns grey into the colours of its theme, and the script
reads the usage back out of the pixels.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

#: Grey levels are numbers of 8 bits; finer steps than these are not told apart by the eye.
STEPS = 50

Levels = npt.NDArray[np.uint8]

#: Marks of 5 by 5 pixels: where a bundle left, the same of a move that did no good, and where it
#: went.
_RING = ("·###·", "#···#", "#···#", "#···#", "·###·")
_CROSS = ("#···#", "·#·#·", "··#··", "·#·#·", "#···#")
_ARROW = ("·····", "#####", "·###·", "·###·", "··#··")

#: The same where there are so many that they would cover the picture.
_DOT = ("·····", "·····", "··#··", "·····", "·····")
_PLUS = ("·····", "··#··", "·###·", "··#··", "·····")
_MARKS_MAX = 3000


def usage_pixels(usage: npt.NDArray[np.float64]) -> str:
    """Draw usage: grey from 0 (idle) to 255 (100 % and more); see-through where it is NaN.

    Returns:
        A PNG as an address (`data:`).
    """
    is_known = np.isfinite(usage)
    steps = np.rint(np.clip(np.where(is_known, usage, 0.0), 0.0, 1.0) * STEPS)
    grey = np.rint(steps * (255 / STEPS)).astype(np.uint8)
    return _address(grey, np.where(is_known, 255, 0).astype(np.uint8))


def mark_pixels(
    size: tuple[int, int],
    leaving: Iterable[tuple[int, int]],
    coming: Iterable[tuple[int, int]],
    *,
    is_useless: bool,
) -> str:
    """Draw a ring for each place that was left, and an arrow head for each that was gone to.

    Args:
        size: columns and rows of the picture, pixels.
        leaving: (column, row) of the middle of each ring.
        coming: likewise of the arrow heads.
        is_useless: the moves did no good: a cross in place of each ring.
    """
    columns, rows = size
    left, gone = list(leaving), list(coming)
    ring, arrow = (_CROSS if is_useless else _RING, _ARROW)
    if len(left) > _MARKS_MAX:
        ring = arrow = _PLUS if is_useless else _DOT
    ink = np.zeros((rows + 4, columns + 4), dtype=np.uint8)
    for shape, places in ((ring, left), (arrow, gone)):
        stamp = np.array([[each == "#" for each in line] for line in shape], dtype=np.uint8) * 255
        for column, row in places:
            x, y = min(max(column, 0), columns - 1), min(max(row, 0), rows - 1)
            ink[y : y + 5, x : x + 5] |= stamp
    inner = ink[2:-2, 2:-2]
    return _address(np.zeros_like(inner), inner)


def _address(grey: Levels, alpha: Levels) -> str:
    return f"data:image/png;base64,{base64.b64encode(_png(grey, alpha)).decode()}"


def _png(grey: Levels, alpha: Levels) -> bytes:
    """Write grey levels with their opacity as a PNG, each row as its difference to the left."""
    height, width = grey.shape
    pixels = np.stack([grey, alpha], axis=-1)
    left = np.zeros_like(pixels)
    left[:, 1:] = pixels[:, :-1]
    filtered = (pixels - left).reshape(height, 2 * width)
    # Each row begins with its filter: 1 is the difference to the pixel at the left.
    rows = np.concatenate([np.ones((height, 1), dtype=np.uint8), filtered], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 4, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in parts)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )
