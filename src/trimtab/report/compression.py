"""What is too much to lie open: rows and articles of a large night, compressed in the page.

Each is rendered as the others are, so that there is one form of a row; the script of the page
unpacks it where it is asked for.  Ten thousand rows are much alike: they shrink to a tenth.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup

from trimtab.report.moves import Move


def packed(value: Any) -> Markup:
    """Pack a JSON value: deflated without a header, in base64, which is text in any element."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return Markup(base64.b64encode(deflate.compress(written) + deflate.flush()).decode())


def packed_articles(articles: Sequence[Any], article: Callable[..., str]) -> Markup:
    """Pack what has an `anchor`, each rendered by `article`."""
    return packed(
        {
            "ids": [each.anchor for each in articles],
            "html": [str(article(each)) for each in articles],
        }
    )


def packed_moves(moves: Sequence[Move], row: Callable[..., str]) -> Markup:
    """Pack rows of moves, with what they are sorted and chosen by."""
    return packed(
        {
            "ids": [move.anchor for move in moves],
            "html": [str(row(move, True)) for move in moves],
            "verdicts": [[move.verdict, move.tone] for move in moves],
            # One list a column of the table.
            "keys": [
                [move.time for move in moves],
                [move.bundle for move in moves],
                [f"{move.source.label} {move.target.label if move.target else ''}"
                 for move in moves],
                [-1 if move.throughput is None else move.throughput for move in moves],
                [move.label for move in moves],
                [move.log for move in moves],
            ],
        }
    )  # fmt: skip
