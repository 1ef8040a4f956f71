"""Names and options of `compare` → strategies side by side, on scenarios or on one recording."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from trimtab.files.fields import FieldError
from trimtab.ingest import open_recording
from trimtab.ingest.archives import ARCHIVES
from trimtab.trials.compare.compare import Contest, planned
from trimtab.trials.compare.contenders import Compared, contenders
from trimtab.trials.sweep.pipeline import Start
from trimtab.trials.trial import Result, run
from trimtab.trials.what_if.command import WHAT_IF, what_if
from trimtab.trials.what_if.variants import refuse_unknown


def recording_of(given: Sequence[str], baseline: str | None) -> Path | None:
    """Return the recording that is meant; None if it is scenarios.

    Raises:
        FieldError: a recording stands beside something else, or a baseline is named for it.
    """
    recordings = [each for each in given if Path(each).is_dir() or each.endswith(ARCHIVES)]
    if not recordings:
        return None
    if len(given) > 1:
        raise FieldError("SCENARIO...", ", ".join(given), "scenarios, or one recording")
    if baseline:
        raise FieldError("--baseline", baseline, "none: it is what really steered")
    return Path(given[0])


def compared_by(start: Start, contest: Contest, output: Path, *, anew: bool) -> Result:
    """Return the comparison of strategies, which is written into a folder.

    Raises:
        TrimtabError: as `run` and `what_if`.
    """
    recording = recording_of(contest.scenarios, contest.baseline)
    if recording is None:
        trial = planned(contest, contest.command(output))
        return run(start, trial, output, anew=anew)
    # Before the time for all else is spent.
    refuse_unknown(contest.pairs, contest.settings)
    with open_recording(recording) as opened, start() as spark:
        return what_if(spark, opened, contest, output, anew=anew)


def compared(result: Result) -> Compared:
    """Return what a comparison says, as plain values."""
    document = result.document
    if result.form is WHAT_IF:
        listed = contenders(document["recording"], document["strategies"])
        is_trusted = bool(document["fidelity"]["is_trusted"])
        return Compared(listed, is_trusted, result.page, document)
    each = (contenders(it["name"], it["strategies"]) for it in document["scenarios"])
    return Compared(tuple(chain.from_iterable(each)), None, result.page, document)
