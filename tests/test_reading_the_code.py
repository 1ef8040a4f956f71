"""docs/reading-the-code.md names what is there, and quotes what is recorded."""

from __future__ import annotations

import gzip
import importlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "reading-the-code.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(trimtab(?:\.\w+)+)`", PAGE)))
RECORDING = ROOT / "recordings" / "threshold"


def line_of(file: str, number: int) -> str:
    """A line of a packed file of the recording, counted from 1."""
    with gzip.open(RECORDING / file, "rt", encoding="utf-8") as lines:
        return next(line for i, line in enumerate(lines, start=1) if i == number)


def test_the_page_names_functions_of_every_room_on_the_way() -> None:
    rooms = {name.split(".")[1] for name in NAMES}

    assert {"cli", "explanation", "ingest", "files", "diagnose", "pulsar", "report"} <= rooms
    assert len(NAMES) > 25


@pytest.mark.parametrize("name", NAMES)
def test_what_the_page_names_is_there(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        assert hasattr(importlib.import_module(module), attribute), (
            f"docs/reading-the-code.md names {name}, which is gone; say where that step is now"
        )


def test_the_report_says_what_the_page_says_of_it() -> None:
    file = "store/brokers.jsonl.gz"
    (number,) = re.findall(rf"line (\d+) of `recordings/threshold/{file}`", PAGE)
    write = json.loads(line_of(file, int(number)))
    usage, limit = (write["report"]["bandwidthOut"][key] for key in ("usage", "limit"))
    written = datetime.fromtimestamp(write["mtime"] / 1000, UTC)

    assert write["broker"] == "10.213.0.11:8080"
    assert f"at {written:%H:%M:%S} broker 10.213.0.11 told the leader" in PAGE
    assert f"it sends {usage:,.0f} of the {limit:,.0f} kbit/s" in PAGE
    assert f"the network card with {usage / limit:.2%}".replace("%", " %") in PAGE


def test_the_log_says_what_the_page_quotes() -> None:
    (quoted,) = re.findall(r"`([\d.]+% > [\d.]+% \+ [\d.]+%)`", PAGE)
    with gzip.open(RECORDING / "logs/broker1/pulsar-broker.log.gz", "rt") as log:
        (line,) = (each for each in log if quoted in each)
    smoothed, average, _ = (float(number) for number in re.findall(r"([\d.]+)%", quoted))

    assert "Attempting to shed load on 10.213.0.11:8080" in line
    assert f"half of which is the past: {smoothed:.2f} %" in PAGE
    assert f"The average is {average:.2f} %" in PAGE
