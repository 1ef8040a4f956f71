"""Explain, rehearse and steer the load balancer of an Apache Pulsar cluster.

What stands in `__all__` is for programs, and docs/python.md describes it; every other module,
function and name of this package is private and may change with any release.

Each function does what the command of its name does, and its parameters are named as the
command's options are.  What a caller can mend is a `TrimtabError`.  Spark is started by the
first function that needs it, once a process, and one that runs already is used.
"""

# Nothing is imported here that takes time: a function loads what it needs when it is called,
# and a type is loaded when somebody asks for it.
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from trimtab.files.errors import TrimtabError
from trimtab.files.version import __version__

if TYPE_CHECKING:
    from datetime import datetime
    from os import PathLike
    from pathlib import Path

    from trimtab.explanation.findings import (
        Change,
        Evidence,
        Explained,
        Finding,
        Undecidable,
        Unload,
    )
    from trimtab.explanation.lint.rule import Finding as LintFinding
    from trimtab.files.datasets import Tables
    from trimtab.ingest.recording import Recording
    from trimtab.trials.compare.contenders import Compared, Contender, Estimate
    from trimtab.trials.decide import Decided
    from trimtab.trials.simulate.simulation import Expectation, Simulated

__all__ = [
    "Change",
    "Compared",
    "Contender",
    "Decided",
    "Estimate",
    "Evidence",
    "Expectation",
    "Explained",
    "Finding",
    "LintFinding",
    "Simulated",
    "Tables",
    "TrimtabError",
    "Undecidable",
    "Unload",
    "__version__",
    "compare",
    "decide",
    "explain",
    "lint",
    "read",
    "simulate",
]

#: Type → where it is, and what it is called there if that is something else.
_TYPES = {
    "Change": "explanation.findings",
    "Compared": "trials.compare.contenders",
    "Contender": "trials.compare.contenders",
    "Decided": "trials.decide",
    "Estimate": "trials.compare.contenders",
    "Evidence": "explanation.findings",
    "Expectation": "trials.simulate.simulation",
    "Explained": "explanation.findings",
    "Finding": "explanation.findings",
    "LintFinding": "explanation.lint.rule:Finding",
    "Simulated": "trials.simulate.simulation",
    "Tables": "files.datasets",
    "Undecidable": "explanation.findings",
    "Unload": "explanation.findings",
}


if not TYPE_CHECKING:  # who checks types sees the imports above, and refuses all other names

    def __getattr__(name: str) -> object:
        """Return a public type, which is loaded now."""
        if name not in _TYPES:
            raise AttributeError(f"module 'trimtab' has no attribute {name!r}")
        module, _, there = _TYPES[name].partition(":")
        found = getattr(import_module(f"trimtab.{module}"), there or name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Return the public names."""
    return list(__all__)


def explain(
    path: str | PathLike[str] | None = None,
    *,
    output: str | PathLike[str] | None = None,
    cores: int = 2,
    master: str | None = None,
    prometheus: str | None = None,
    loki: str | None = None,
    elasticsearch: str | None = None,
    opensearch: str | None = None,
    victorialogs: str | None = None,
    selector: str | None = None,
    index: str | None = None,
    begin: str | datetime | None = None,
    end: str | datetime | None = None,
    what_if: bool = False,
) -> Explained:
    """Return what a cluster's balancer did, and write it as one page.

    Args:
        path: a recording: a folder, an archive of one or a log; None for a store's logs alone.
        output: folder for report.html, findings.json and tables/; by default
            explained/NAME, as the command has it.
        cores: tasks that run at a time; of no effect where Spark runs already.
        master: any Spark master or sc:// address; by default the Spark that runs, or one here.
        prometheus: URL of one to ask where the recording has no metrics.
        loki: URL of one to ask for logs; who asks stands in variables of the environment.
        elasticsearch: the same of an Elasticsearch.
        opensearch: the same of an OpenSearch.
        victorialogs: the same of a VictoriaLogs.
        selector: which lines, in the store's own language.
        index: pattern of indexes, where the store has such; by default all.
        begin: of which time a store or Prometheus is asked; by default what recording.toml
            says, or else from the first line of its logs on.
        end: until when.
        what_if: replay the load under other strategies, and say which settings are better.

    Raises:
        TrimtabError: nothing could be read, a parameter is not what it should be, or Spark,
            the store or the Prometheus failed.
    """
    from trimtab.files.parameters import place_at, plain_errors, text_of, whole_of

    others = (prometheus, loki, elasticsearch, opensearch, victorialogs, selector, index)
    with plain_errors(**{"from": "begin", "to": "end"}):
        folder = None if output is None else place_at("output", output)
        n_tasks, url = whole_of("cores", cores, 1), text_of("master", master)
        with _opened(path, folder, others, (begin, end)) as recording:
            folder = folder or place_at("output", f"explained/{recording.name}")
            from trimtab.spark.choice import shared_runner, shared_spark
            from trimtab.spark.runner import Here

            # What is replayed is swept, for hours of processor time.
            start = shared_spark if what_if else partial(shared_runner, recording.paths)
            with start(cores=n_tasks, master=url, meanwhile=_load_explanation) as runner:
                from trimtab.explanation.explain import explain as explained
                from trimtab.trials.regret.document import regret

                more = [partial(regret, recording.cluster)]
                if what_if:
                    from trimtab.trials.compare.compare import Contest
                    from trimtab.trials.what_if.command import advice

                    assert not isinstance(runner, Here)
                    more.append(partial(advice, runner, folder / "what-if", Contest()))
                return explained(runner, recording, folder, more)


def _opened(
    path: object, output: Path | None, others: Sequence[object], times: Sequence[object]
) -> AbstractContextManager[Recording]:
    """Return what gives a recording, with what others have of its time where any are asked."""
    if any((*others, *times)):
        from trimtab.live.gather.others import with_others

        return with_others(path, output, others, times)
    from trimtab.files.parameters import place_at
    from trimtab.ingest.recording import open_recording

    return open_recording(place_at("path", path))


def _load_explanation() -> None:
    """Load what comes after the start of Spark, a second's work."""
    import_module("trimtab.explanation.explain")


def read(
    path: str | PathLike[str],
    *,
    output: str | PathLike[str] | None = None,
    cores: int = 2,
    master: str | None = None,
) -> Tables:
    """Return the tables of a recording, every line of it accounted for.

    Args:
        path: a recording: a folder, an archive of one or a single broker log.
        output: folder of tables to write, or to bring up to date; by default a temporary
            one that goes when the program ends.
        cores: tasks that run at a time; of no effect where Spark runs already.
        master: any Spark master or sc:// address; by default the Spark that runs, or one here.

    Raises:
        TrimtabError: there is nothing to read, a parameter is not what it should be, or
            Spark failed.
    """
    from trimtab.files.datasets import tables_in
    from trimtab.files.parameters import place_at, plain_errors, text_of, whole_of
    from trimtab.files.scratch import scratch_folder
    from trimtab.ingest.pipeline import ingest_all
    from trimtab.ingest.recording import open_recording
    from trimtab.spark.choice import shared_spark

    with plain_errors():
        folder = None if output is None else place_at("output", output)
        n_tasks, url = whole_of("cores", cores, 1), text_of("master", master)
        with (
            open_recording(place_at("path", path)) as recording,
            shared_spark(cores=n_tasks, master=url) as spark,
        ):
            folder = folder or scratch_folder("tables") / "tables"
            (accounting,) = ingest_all(spark, [recording], folder)
            return tables_in(folder, accounting.totals, accounting.faults)


def lint(
    conf: str | PathLike[str],
    *,
    release: str | None = None,
    before: str | None = None,
    after: str | None = None,
    severity: str = "note",
    ignore: Iterable[str] = (),
) -> tuple[LintFinding, ...]:
    """Return the traps, slips and defaults that bite in a load balancer's settings.

    Args:
        conf: path of a broker.conf, of Helm values, of what a broker tells of its settings,
            or of a recording; or their text, which is whatever has a line break in it.
        release: the Pulsar that it is for; by default what can be known of it, and where that
            leaves several, what is found in any of them: `releases` of a finding says in which.
        before: with `after`, the release before an upgrade, which is then what is checked.
        after: the release that it is upgraded to.
        severity: leave out what is less bad than this: `error`, `warning` or `note`.
        ignore: codes of rules to leave out.

    Raises:
        TrimtabError: it cannot be read.
    """
    from trimtab.explanation.conf_files import Releases, look, look_at_text, refuse_unknown
    from trimtab.explanation.lint import Severity, chosen
    from trimtab.files.parameters import choice_of, path_of, plain_errors, text_of, texts_of

    # `from` and `to` are words of Python's own.
    with plain_errors(**{"from": "before", "to": "after"}):
        ignored = texts_of("ignore", ignore)
        refuse_unknown(ignored)
        least = Severity(choice_of("severity", severity, tuple(Severity)))
        named = {"release": release, "before": before, "after": after}
        releases = Releases(**{name: text_of(name, it) or "" for name, it in named.items()})
        if isinstance(conf, str) and "\n" in conf:
            looked = look_at_text(conf, releases)
        else:
            looked = look([str(path_of("conf", conf))], releases)
        return chosen(looked.findings, least, ignored)


def decide(
    sequence: Mapping[str, object] | str | bytes,
    *,
    release: str | None = None,
    strategy: str | None = None,
    explain: bool = False,
) -> Decided:
    """Return what Pulsar's own class would decide in the rounds of one sequence.

    Args:
        sequence: one strategy's settings and its rounds, as docs/sequences.md has them; or a
            line of JSON of it.
        release: decide as this release, whatever the sequence says.
        strategy: decide as this class, whatever the sequence says.
        explain: tell it as a case history as well.

    Raises:
        TrimtabError: it is no sequence, or there is no such release or class.
    """
    from trimtab.files.parameters import line_of, plain_errors, text_of
    from trimtab.trials.decide import Question, decided

    with plain_errors():
        asked = text_of("release", release), text_of("strategy", strategy)
        return decided(line_of("sequence", sequence), Question(*asked, is_explained=explain))


def simulate(
    scenario: str | PathLike[str],
    strategy: str,
    seed: int = 0,
    *,
    placement: str | None = None,
    release: str | None = None,
    settings: Mapping[str, object] | None = None,
    minutes: float | None = None,
) -> Simulated:
    """Return one experiment, simulated; the same arguments give the same to the last digit.

    Args:
        scenario: name of one that trimtab brings, or the path of a TOML file.
        strategy: who sheds: a class of Pulsar's, or `none`; Shedder+Placer names both.
        seed: what chance brings.
        placement: who places; by default the shedder if it does.
        release: decide as this release; by default the scenario's.
        settings: keys of broker.conf with their values, beside the scenario's.
        minutes: simulate for so long; by default as the scenario has it.

    Raises:
        TrimtabError: there is no such scenario, class, release or setting.
    """
    from trimtab.files import parameters as given
    from trimtab.trials.simulate.command import run
    from trimtab.trials.simulate.question import Question, experiment_of
    from trimtab.trials.simulate.result import result
    from trimtab.trials.simulate.simulation import simulation

    with given.plain_errors(set="settings"):
        question = Question(
            scenario=given.needed("scenario", scenario),
            strategy=given.needed("strategy", strategy),
            placement=given.text_of("placement", placement),
            release=given.text_of("release", release),
            settings=given.settings_of("settings", settings or {}),
            seed=given.whole_of("seed", seed, 0),
            minutes=None if minutes is None else given.positive("minutes", minutes),
        )
        experiment = experiment_of(question)
        return simulation(result(experiment, run(experiment)))


def compare(
    scenarios: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    output: str | PathLike[str] | None = None,
    strategies: str | Iterable[str] = (),
    baseline: str | None = None,
    settings: Mapping[str, object] | None = None,
    release: str | None = None,
    seeds: int = 10,
    time_limit: float = 600.0,
    cores: int = 2,
    master: str | None = None,
    anew: bool = False,
) -> Compared:
    """Return strategies side by side, on scenarios or on the load of one recording.

    Args:
        scenarios: names of scenarios that trimtab brings, paths of TOML files, or the path
            of one recording.
        output: folder to write into; runs that it holds are not done again.  By default a
            temporary one that goes when the program ends.
        strategies: pairs of shedder and placer, such as `AvgShedder`, `none` or
            `ThresholdShedder+LeastResourceUsageWithWeight`; by default all that make sense.
        baseline: the pair that others are held against; by default the first.
        settings: keys of broker.conf with their values, for all strategies; a list of values
            compares them.
        release: decide as this release; by default the scenario's or the recording's.
        seeds: of each.
        time_limit: seconds that one run may take.
        cores: tasks that run at a time; of no effect where Spark runs already.
        master: any Spark master or sc:// address; by default the Spark that runs, or one here.
        anew: throw away what the folder holds of an earlier comparison.

    Raises:
        TrimtabError: there is no such scenario, class, release or setting, the recording does
            not tell enough, or Spark failed.
    """
    from trimtab.files import parameters as given
    from trimtab.files.scratch import scratch_folder
    from trimtab.spark.choice import shared_spark
    from trimtab.trials.compare.compare import Contest
    from trimtab.trials.what_if.command import compared, compared_by

    with given.plain_errors(set="settings"):
        contest = Contest(
            scenarios=given.names_of("scenarios", scenarios),
            strategies=",".join(given.texts_of("strategies", strategies)),
            baseline=given.text_of("baseline", baseline),
            settings=given.settings_of("settings", settings or {}),
            release=given.text_of("release", release),
            n_seeds=given.whole_of("seeds", seeds, 1),
            time_limit_s=given.positive("time_limit", time_limit),
        )
        folder = scratch_folder("compare") if output is None else given.path_of("output", output)
        n_tasks, url = given.whole_of("cores", cores, 1), given.text_of("master", master)
        start = partial(shared_spark, cores=n_tasks, master=url)
        return compared(compared_by(start, contest, folder, anew=anew))
