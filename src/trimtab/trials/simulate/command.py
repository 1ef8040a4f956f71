"""The command `trimtab simulate` from end to end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from trimtab.files.errors import TrimtabError
from trimtab.files.whole_files import write_whole
from trimtab.trials.simulate.history import history
from trimtab.trials.simulate.live import run
from trimtab.trials.simulate.plot import check_plot, plot
from trimtab.trials.simulate.question import Question, posed
from trimtab.trials.simulate.result import Result, document, result
from trimtab.trials.simulate.summary import expectation_lines, opening, outcome_lines

#: How to read a history.
LEGEND = (
    "usage is the truth: percent of the busiest of CPU and network, in the minute before; scores",
    "are what the strategy saw; a → b is a usage before and after a move, on the same traffic;",
    "bundles are ranges of hashes without trailing zeros.",
    "",
)


def simulate(question: Question, picture: Path | None, folder: Path | None) -> Result:
    """Return the result of an experiment, and write what was asked for.

    Args:
        question: what is asked.
        picture: file to draw into, .svg or .png.
        folder: to write history, outcomes and picture into; is made if it is not there.

    Raises:
        TrimtabError: something asked for is not there, or cannot be written.
    """
    try:
        if picture is not None:
            check_plot(picture)
        experiment = posed(question)
        answer = result(experiment, run(experiment))
        if picture is not None:
            plot(answer, picture)
        if folder is not None:
            _write(answer, folder)
    except OSError as error:
        raise TrimtabError(str(error)) from error
    return answer


def tell(answer: Result, as_json: bool) -> Iterator[str]:
    """Return a result, for a person or for a program."""
    if as_json:
        yield json.dumps(document(answer), indent=1, ensure_ascii=False)
        return
    yield from opening(answer)
    yield ""
    yield from LEGEND
    yield from history(answer)
    yield from ("", "Outcomes since the event" if answer.run.world.event_s else "Outcomes")
    yield from outcome_lines(answer)
    if answer.verdicts:
        yield from ("", "Expectations")
        yield from expectation_lines(answer)
    if answer.run.is_cut:
        yield from ("", "The run was cut short: nothing may be concluded of it.")
    yield from ("", "To repeat it:", f"  {answer.experiment.command}")


def _write(answer: Result, folder: Path) -> None:
    """Write a folder; its files go into place when they are whole."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "history.txt": "\n".join([*tell(answer, as_json=False), ""]),
        "outcomes.json": "\n".join([*tell(answer, as_json=True), ""]),
    }
    for name, text in texts.items():
        write_whole(folder / name, text)
    plot(answer, folder / "usage.svg")
