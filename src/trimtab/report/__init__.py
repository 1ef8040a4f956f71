"""A diagnosis or a comparison → one HTML file that needs no network; computes only layout."""

from trimtab.report.render import make_ready, render

__all__ = ["make_ready", "render"]
