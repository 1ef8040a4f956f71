"""What a notebook shows of an explained recording: its summary, and the page in a frame."""

from __future__ import annotations

import base64
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from pathlib import Path

from trimtab.files.assumed_day import day_number

#: Findings in a summary; the page has all of them.
_ROWS_MAX = 10


def summary(headline: str, rows: Sequence[tuple[str, datetime, str]], report: Path) -> str:
    """Return a headline and a table of findings in HTML.

    Args:
        headline: what the page opens with.
        rows: severity, time and title of each finding, the gravest first.
        report: the page.
    """
    lines = [f"<p><strong>{escape(headline)}</strong></p>"]
    if rows:
        cells = "".join(
            f"<tr><td>{escape(severity)}</td><td>{_when(time)}</td>"
            f'<td style="text-align: left">{escape(title)}</td></tr>\n'
            for severity, time, title in rows[:_ROWS_MAX]
        )
        lines.append(
            "<table>\n<tr><th>severity</th><th>time, UTC</th>"
            f'<th style="text-align: left">finding</th></tr>\n{cells}</table>'
        )
    left = len(rows) - _ROWS_MAX
    more = f"{left} more findings are on the page" if left > 0 else "The page"
    return "\n".join([*lines, f"<p>{more}: <code>{escape(str(report))}</code></p>"])


@dataclass(frozen=True, slots=True)
class Framed:
    """A page in a frame below a notebook's cell."""

    page: Path
    #: Pixels.
    height: int

    def _repr_html_(self) -> str:
        """Return the frame, with the page in it, so that it needs no server."""
        page = base64.b64encode(self.page.read_bytes()).decode()
        # The page's own script may run, and reach nothing of the notebook.  In a `srcdoc` its
        # links within itself would lead to the notebook.
        return (
            f'<iframe src="data:text/html;charset=utf-8;base64,{page}" sandbox="allow-scripts" '
            f'width="100%" height="{self.height}" style="border: 0"></iframe>'
        )


def show_page(page: Path, height: int) -> None:
    """Show a page in a frame below the cell of a notebook, or in the browser without one."""
    if _is_notebook():
        from IPython.display import display  # noqa: PLC0415  # comes with notebooks, not with us

        display(Framed(page, height))
    else:
        webbrowser.open(page.resolve().as_uri())


def _is_notebook() -> bool:
    """Return whether a kernel runs this, which draws what a terminal cannot."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _when(time: datetime) -> str:
    number = day_number(time)
    return f"{time:%Y-%m-%d %H:%M:%S}" if number is None else f"day {number}, {time:%H:%M:%S}"
