"""Findings and a picture in, one self-contained HTML page out: nothing is computed but layout."""

from trimtab.report.render import make_ready, render

__all__ = ["make_ready", "render"]
