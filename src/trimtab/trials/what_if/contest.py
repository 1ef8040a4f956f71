"""Names and options of `compare` → strategies side by side, on scenarios or on one recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from trimtab.files.fields import FieldError
from trimtab.ingest import open_recording
from trimtab.ingest.archives import ARCHIVES
from trimtab.trials.compare.compare import Question, planned
from trimtab.trials.compare.contenders import Compared, contenders
from trimtab.trials.sweep.pipeline import Start
from trimtab.trials.trial import Result, run, spelt
from trimtab.trials.what_if.command import WHAT_IF, what_if
from trimtab.trials.what_if.command import Question as RecordingQuestion


@dataclass(frozen=True, slots=True)
class Contest:
    """What is compared with what, as the options have it."""

    #: Names or paths of scenarios, or the path of one recording.
    scenarios: tuple[str, ...]
    #: Pairs with commas between them; empty for the usual ones.
    strategies: str
    baseline: str | None
    #: `key=value` each.
    settings: tuple[str, ...]
    release: str | None
    seeds: int
    time_limit: float

    @property
    def pairs(self) -> tuple[str, ...]:
        """Return the strategies one by one."""
        return tuple(filter(None, map(str.strip, self.strategies.split(","))))

    def command(self, output: Path) -> str:
        """Return the command that asks the same again, on however many cores."""
        options = {
            "--strategies": self.strategies,
            "--baseline": self.baseline,
            "--release": self.release,
            "--seeds": self.seeds,
            "--time-limit": f"{self.time_limit:g}",
            "--set": self.settings,
        }
        return spelt("compare", options, output, arguments=self.scenarios)


def recording_of(given: Sequence[str], baseline: str | None) -> Path | None:
    """Return the recording that is meant; None if it is scenarios.

    Raises:
        FieldError: a recording stands beside something else, or a baseline is named for it.
    """
    found = [each for each in given if Path(each).is_dir() or each.endswith(ARCHIVES)]
    if not found:
        return None
    if len(given) > 1:
        raise FieldError("SCENARIO...", ", ".join(given), "scenarios, or one recording")
    if baseline:
        raise FieldError("--baseline", baseline, "none: it is what really steered")
    return Path(given[0])


def contest(start: Start, asked: Contest, output: Path, *, anew: bool) -> Result:
    """Compare strategies, and return what was written.

    Args:
        start: starts Spark; called only if something is to be run or read.
        asked: what is compared with what.
        output: folder to write into; made if need be.
        anew: throw away what the folder holds of an earlier sweep.

    Raises:
        TrimtabError: as `run` and `what_if`.
    """
    recording = recording_of(asked.scenarios, asked.baseline)
    if recording is not None:
        of_recording = RecordingQuestion(
            strategies=asked.pairs,
            settings=asked.settings,
            release=asked.release,
            n_seeds=asked.seeds,
            time_limit_s=asked.time_limit,
            command=asked.command(output),
        )
        with open_recording(recording) as opened, start() as spark:
            return what_if(spark, opened, of_recording, output, anew=anew)
    question = Question(
        scenarios=asked.scenarios,
        strategies=asked.pairs,
        baseline=asked.baseline,
        settings=asked.settings,
        release=asked.release,
        n_seeds=asked.seeds,
        time_limit_s=asked.time_limit,
        command=asked.command(output),
    )
    return run(start, planned(question), output, anew=anew)


def compared(result: Result) -> Compared:
    """Return what a comparison says, as plain values."""
    document = result.document
    if result.form is WHAT_IF:
        listed = contenders(document["recording"], document["strategies"])
        is_trusted = bool(document["fidelity"]["is_trusted"])
        return Compared(listed, is_trusted, result.page, document)
    each = (contenders(it["name"], it["strategies"]) for it in document["scenarios"])
    return Compared(tuple(chain.from_iterable(each)), None, result.page, document)
