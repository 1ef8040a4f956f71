"""Write what comes along of processes that began: src/trimtab/lab/rehearsal/beginnings.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from trimtab.lab.rehearsal import beginnings
from trimtab.lab.rehearsal.processes import Process

PLACE = Path(beginnings.__file__).with_name(beginnings.FILE)
_HEAD = """# Processes of brokers that were recorded, written by `make foretold`: what each window
# of a minute took beyond what its traffic costs, in points of one core, from its first on.
"""


def document(processes: Mapping[str, Sequence[Process]]) -> str:
    """Lay out the processes of recordings by their names."""
    parts = [_HEAD]
    for recording, each in processes.items():
        for process in each:
            points = ", ".join(f"{point:.2f}" for point in process.points)
            parts.append(
                f'\n[[process]]\nrecording = "{recording}"\nbegins_at = {process.begins_at}\n'
                f"first_s = {process.first_s:.2f}\npoints = [{points}]\n"
            )
    return "".join(parts)


def write(processes: Mapping[str, Sequence[Process]]) -> None:
    """Write what comes along, which whoever imports the program afterwards has."""
    PLACE.write_text(document(processes), encoding="utf-8")
