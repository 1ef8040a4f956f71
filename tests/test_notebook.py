"""The notebook of the docs shows what comes out when it is run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tools.notebook import NOTEBOOK, executed


def texts(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """List what the cells' outputs say; how letters are drawn may differ between machines."""
    shown = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for output in (output for outputs in shown for output in outputs):
        output.get("data", {}).pop("image/svg+xml", None)
    return shown


@pytest.mark.usefixtures("spark")
def test_every_cell_gives_what_the_notebook_shows() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")

    ran = executed(text)

    (picture,) = [
        "".join(output["data"]["image/svg+xml"])
        for cell in json.loads(ran)["cells"]
        for output in cell.get("outputs", ())
        if "image/svg+xml" in output.get("data", {})
    ]
    assert picture.startswith("<svg")
    # Four brokers' lines, and the unloads of the night.
    assert 4 == picture.count('aria-roledescription="line mark"')
    assert 10 == picture.count('aria-roledescription="rule mark"')
    assert texts(json.loads(text)) == texts(json.loads(ran))


def test_a_cell_that_fails_is_an_error() -> None:
    cell = {"cell_type": "code", "source": ["1 / 0"]}

    with pytest.raises(ZeroDivisionError):
        executed(json.dumps({"cells": [cell]}))
