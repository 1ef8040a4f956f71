"""Processes of real brokers that were recorded elsewhere, and come along.

A night has few processes that began in it, or none; so what one that is planned will take is
drawn of its own and of these.  `make beginnings` writes them.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from trimtab.lab.rehearsal.processes import Process

#: In the folder of this file.
FILE = "beginnings.toml"


def beginnings(but: str = "") -> tuple[Process, ...]:
    """Return the processes that come along, but for those of one recording.

    Args:
        but: the name of a recording whose own processes must not be known.
    """
    return tuple(process for name, process in _of_recordings() if name != but)


@cache
def _of_recordings() -> tuple[tuple[str, Process], ...]:
    """Return each process with the name of its recording."""
    text = (files(__package__) / FILE).read_text(encoding="utf-8")
    return tuple(
        (each["recording"], Process(each["begins_at"], each["first_s"], tuple(each["points"])))
        for each in tomllib.loads(text)["process"]
    )
