"""Findings and a picture in, one self-contained HTML page out: nothing is computed but layout."""

from trimtab.report.render import render

__all__ = ["render"]
