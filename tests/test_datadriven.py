"""Decisions as text files that read like case histories; `--regen-all` rewrites them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.cluster_text import MEBIBYTE, cluster, described
from tests.datadriven import run
from tests.transfer_text import ExtensiblePlace, Transfers
from trimtab.pulsar.avg_shedder_plans import BY_IDENTITY, BY_VALUE, brought_up_to_date
from trimtab.pulsar.model import (
    AvgShedderMemory,
    BundleData,
    ClusterLoad,
    Decision,
    History,
    LostRoundError,
    Plan,
    Plans,
    Preallocations,
    Reason,
    RoundRobinMemory,
)
from trimtab.pulsar.place import PLACERS, placer
from trimtab.pulsar.scores import mean_in_order, smoothed, unweighted_usage, weighted_usage
from trimtab.pulsar.settings import ResourceWeights, unknown_keys
from trimtab.pulsar.shed import SHEDDERS, shedder

TESTDATA = Path(__file__).parent / "testdata"


def files(room: str) -> list[Path]:
    found = sorted((TESTDATA / room).glob("*.txt"))
    assert found, f"no files in {TESTDATA / room}"
    return found


@pytest.mark.parametrize("path", files("shed"), ids=lambda path: path.stem)
def test_shed(path: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    bench = Transfers() if path.stem == "transfer_shedder" else Shed(path.stem)
    _check(path, bench, tmp_path, file_regression)


@pytest.mark.parametrize("path", files("place"), ids=lambda path: path.stem)
def test_place(path: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    bench = ExtensiblePlace() if path.stem.startswith("extensions_") else Place(path.stem)
    _check(path, bench, tmp_path, file_regression)


@pytest.mark.parametrize("path", files("scores"), ids=lambda path: path.stem)
def test_scores(path: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    _check(path, Scores(), tmp_path, file_regression)


def _check(
    path: Path, bench: object, tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    file_regression.check(
        run(path, bench), encoding="utf-8", fullpath=path, obtained_filename=tmp_path / path.name
    )


class Shed:
    """A shedder, a cluster, and what happens to them; a method is a command."""

    def __init__(self, file: str) -> None:
        self.names = {n for n, e in _entries(SHEDDERS) if _file(e.shed) == file}
        self.conf_lines: Mapping[str, str] = {}
        self.release = "4.0"
        self.load: ClusterLoad | None = None
        self.elect()

    def cluster(self, lines: tuple[str, ...]) -> str:
        self.load = cluster(lines)
        return described(self.load)

    def conf(self, lines: tuple[str, ...], *, release: str = "4.0") -> str:
        self.conf_lines, self.release = _conf(lines), release
        settings = self._entry().settings
        return _changes(settings({}, release), settings(self.conf_lines, release))

    def shed(self, *, exact: str = "no", unit: str = "MiB/s") -> str:
        """Decide a round; `unit` is that in which the shedder counts what is to go."""
        assert self.load is not None
        number, scale = _number(exact), {"MiB/s": MEBIBYTE, "B/s": 1.0, "messages/s": 1.0}[unit]
        try:
            decision = self._decide()
        except LostRoundError as error:
            self.memory = error.memory
            return f"{type(error).__name__}: {error}"
        lines = [f"average {number(decision.average)}"]
        for broker, reason, score, offload in zip(
            self.load.brokers, decision.reasons, decision.scores, decision.offload, strict=True
        ):
            asked = "" if np.isnan(offload) else f", to lose {number(offload / scale)} {unit}"
            lines.append(f"{broker} {number(score)} {reason}{asked}")
        sources = dict.fromkeys(unload.source for unload in decision.unloads)
        for source in sources:
            mine = [unload for unload in decision.unloads if unload.source == source]
            where = "".join(dict.fromkeys(f" to {u.target}" for u in mine if u.target))
            lines.append(f"unload {', '.join(u.bundle for u in mine)} from {source}{where}")
        return "\n".join(lines)

    def repeat(self, *, rounds: str, shown: str = "1") -> str:
        """Shed again and again while nothing changes: what smoothing does.

        Rounds are printed from `shown` on.
        """
        assert self.load is not None
        lines = ["round  " + "  ".join(f"{broker:>5}" for broker in self.load.brokers)]
        for i in range(int(rounds)):
            decision = self._decide()
            scores = "  ".join(f"{score:5.3f}" for score in decision.scores)
            shed = [
                broker
                for broker, reason in zip(self.load.brokers, decision.reasons, strict=True)
                if reason is Reason.OVERLOADED
            ]
            lines.append(f"{i + 1:5}  {scores}" + (f"  {', '.join(shed)} sheds" if shed else ""))
        return "\n".join(lines[:1] + lines[int(shown) :])

    def remember(self, lines: tuple[str, ...]) -> str:
        """Give the shedder a history: `broker smoothed usage`."""
        rows = [line.split() for line in lines]
        usage = np.array([float(row[1]) for row in rows])
        self.memory = History(tuple(row[0] for row in rows), usage)
        return _remembered(self.memory)

    def active(self, *, brokers: str) -> str:
        """Tell the shedder who is still there."""
        self.memory = self._entry().forget(self.memory, brokers.split(","))
        return _remembered(self.memory)

    def recall(self) -> str:
        """Show what the shedder remembers."""
        return _remembered(self.memory)

    def elect(self) -> str:
        """Make another broker the leader."""
        self.memory = self._entry().memory
        return _remembered(self.memory)

    def _entry(self) -> Any:
        (name,) = self.names
        return shedder(name, self.release)

    def _decide(self) -> Decision:
        entry = self._entry()
        settings = entry.settings(self.conf_lines, self.release)
        decision: Decision
        decision, self.memory = entry.shed(self.load, self.memory, settings)
        return decision


class Place:
    """A placer, a cluster, and what happens to them; a method is a command."""

    def __init__(self, file: str) -> None:
        self.names = {n for n, e in _entries(PLACERS) if _file(e.place) == file}
        self.conf_lines: Mapping[str, str] = {}
        self.release = "4.0"
        self.load: ClusterLoad | None = None
        #: Objects of averages that there have been.
        self.made = 1
        self.elect()

    def cluster(self, lines: tuple[str, ...]) -> str:
        self.load = cluster(lines)
        return described(self.load)

    def conf(self, lines: tuple[str, ...], *, release: str = "4.0") -> str:
        self.conf_lines, self.release = _conf(lines), release
        settings = self._entry().settings
        return _changes(settings({}, release), settings(self.conf_lines, release))

    def averages(self, lines: tuple[str, ...]) -> str:
        """Let the leader know `bundle messages/s …` of all bundles, and no others."""
        assert self.load is not None
        rows = {line.split()[0]: line.split()[1:] for line in lines}
        before = self.load.bundle_data
        known = {} if before is None else dict(zip(before.rows, before.numbers, strict=True))
        numbers = [known.get(bundle, self.made + i) for i, bundle in enumerate(rows)]
        self.made += len(rows)
        values = np.zeros((len(rows), 11))
        for i, numbered in enumerate(rows.values()):
            values[i, : len(numbered)] = [float(value) for value in numbered]
        places = {bundle: i for i, bundle in enumerate(rows)}
        data = BundleData(places, np.array(numbers, dtype=np.int64), values)
        self.load = dataclasses.replace(self.load, bundle_data=data)
        return f"{len(rows)} bundles, of which {len(rows.keys() - known.keys())} are new"

    def long_term(self, lines: tuple[str, ...]) -> str:
        """Give brokers long-term rates, and those of bundles on their way: `broker 100 +20`."""
        assert self.load is not None
        place = {broker: i for i, broker in enumerate(self.load.brokers)}
        rates = np.zeros(len(place))
        ahead: list[tuple[int, float]] = []
        for line in lines:
            broker, rate, *coming = line.split()
            rates[place[broker]] = float(rate)
            ahead += [(place[broker], float(word)) for word in coming]
        table = np.array(ahead).reshape(-1, 2)
        nothing = np.zeros(len(table))
        self.load = dataclasses.replace(
            self.load,
            long_rate_in=rates,
            long_rate_out=np.copysign(0.0, rates),
            preallocations=Preallocations(table[:, 0].astype(np.int64), table[:, 1], nothing),
        )
        return f"{len(lines)} brokers, {len(ahead)} bundles on their way"

    def shed(self) -> str:
        """Let the shedder that is the same object plan where bundles go."""
        (name,) = self.names
        entry = shedder(name, self.release)
        assert entry is not None
        settings = entry.settings(self.conf_lines, self.release)
        decision, self.memory = entry.shed(self.load, self.memory, settings)
        lines = [f"unload {u.bundle} from {u.source} to {u.target}" for u in decision.unloads]
        return "\n".join(lines or ["nothing"])

    def complete(self) -> str:
        """Let the leader have gone through what the shedder selected."""
        (name,) = self.names
        entry = shedder(name, self.release)
        assert entry is not None
        self.memory = entry.completed(self.memory)
        return _remembered(self.memory)

    def place(
        self, *, bundle: str = "x", among: str = "all", exact: str = "no", drawn: str = ""
    ) -> str:
        """Place a bundle; `drawn` is who was drawn, if the placer is told."""
        assert self.load is not None
        number = _number(exact)
        brokers = list(self.load.brokers if among == "all" else filter(None, among.split(",")))
        try:
            placement = self._choose(brokers, bundle)
        except ValueError as error:
            return f"{type(error).__name__}: {error}"
        best = [self.load.brokers[i] for i in placement.best]
        lines = [] if np.isnan(placement.average) else [f"average {number(placement.average)}"]
        lines += [
            f"{broker} {number(score)}"
            + (" best" if broker in best and not placement.is_fallback else "")
            for broker, score in zip(brokers, placement.scores, strict=True)
            if lines
        ]
        among_whom = ("all, for want of a better: " if placement.is_fallback else "") + ", ".join(
            best
        )
        if drawn:
            assert drawn in best
            self.memory = self._entry().drawn(self.memory, bundle, drawn)
        return "\n".join([*lines, f"draw from {among_whom or 'nobody'}"])

    def repeat(self, *, calls: str) -> str:
        """Place again and again on the same reports."""
        assert self.load is not None
        lines = ["call  " + "  ".join(f"{broker:>6}" for broker in self.load.brokers)]
        for i in range(int(calls)):
            scores = self._choose(list(self.load.brokers), "x").scores
            lines.append(f"{i + 1:4}  " + "  ".join(f"{score:6.4f}" for score in scores))
        return "\n".join(lines)

    def remember(self, lines: tuple[str, ...]) -> str:
        """Give the placer a history: `broker smoothed usage`."""
        rows = [line.split() for line in lines]
        usage = np.array([float(row[1]) for row in rows])
        self.memory = History(tuple(row[0] for row in rows), usage)
        return _remembered(self.memory)

    def active(self, *, brokers: str) -> str:
        """Tell the placer who is still there."""
        self.memory = self._entry().forget(self.memory, brokers.split(","))
        return _remembered(self.memory)

    def recall(self) -> str:
        """Show what the placer remembers."""
        return _remembered(self.memory)

    def elect(self) -> str:
        """Make another broker the leader."""
        self.memory = self._entry().memory
        return _remembered(self.memory)

    def _entry(self) -> Any:
        (name,) = self.names
        return placer(name, self.release)

    def _choose(self, brokers: list[str], bundle: str) -> Any:
        assert self.load is not None
        entry = self._entry()
        settings = entry.settings(self.conf_lines, self.release)
        position = {broker: i for i, broker in enumerate(self.load.brokers)}
        candidates = np.array([position.get(broker, -1) for broker in brokers], dtype=np.int64)
        try:
            placement, self.memory = entry.place(
                self.load, bundle, candidates, self.memory, settings
            )
        except ValueError as error:
            self.memory = getattr(error, "memory", self.memory)
            raise
        return placement


class Scores:
    """The arithmetic below the strategies, to the last digit."""

    def usage(
        self,
        lines: tuple[str, ...],
        *,
        cpu: str = "1",
        memory: str = "none",
        direct_memory: str = "0",
        bandwidth: str = "1",
    ) -> str:
        """Weigh `name resource=usage/limit …`."""
        heap = None if memory == "none" else float(memory)
        network = float(bandwidth)
        weights = ResourceWeights(float(cpu), heap, float(direct_memory), network, network)
        load = cluster(tuple(f"{line.split()[0]} {','.join(line.split()[1:])}" for line in lines))
        return "\n".join(
            f"{broker} weighted {weighted!r}, unweighted {unweighted!r}"
            for broker, weighted, unweighted in zip(
                load.brokers,
                weighted_usage(load, weights).tolist(),
                unweighted_usage(load).tolist(),
                strict=True,
            )
        )

    def smooth(self, lines: tuple[str, ...], *, share: str, rounds: str = "1") -> str:
        """Smooth `name before usage`, where `before` may be `new`."""
        rows = [line.split() for line in lines]
        known = [row for row in rows if row[1] != "new"]
        history = History(
            tuple(row[0] for row in known), np.array([float(row[1]) for row in known])
        )
        brokers = tuple(row[0] for row in rows)
        usage = np.array([float(row[2]) for row in rows])
        found = []
        for _ in range(int(rounds)):
            history = History(brokers, smoothed(history, brokers, usage, float(share)))
            found.append(history.usage.tolist())
        return "\n".join(
            f"{broker} " + " ".join(repr(after[i]) for after in found)
            for i, broker in enumerate(brokers)
        )

    def mean(self, lines: tuple[str, ...]) -> str:
        values = np.array([float(word) for line in lines for word in line.split()])
        exact = math.fsum(values) / values.size if values.size else 0.0
        return f"in order {mean_in_order(values)!r}, exact {exact!r}"


def _entries(table: Mapping[tuple[str, str], Any]) -> list[tuple[str, Any]]:
    return [(name, entry) for (name, _), entry in table.items()]


def _file(function: Any) -> str:
    return str(function.__module__.rpartition(".")[2])


def _conf(lines: tuple[str, ...]) -> Mapping[str, str]:
    conf = dict(line.split("=", 1) for line in lines)
    if unknown := unknown_keys(conf):
        raise ValueError(f"unknown keys: {unknown}")
    return conf


def _changes(usual: Any, settings: Any) -> str:
    """Name the settings that differ from the release's defaults."""
    pairs = zip(_fields(usual), _fields(settings), strict=True)
    changed = [f"{name} {after}" for (name, before), (_, after) in pairs if before != after]
    return ", ".join(changed) or "all as by default"


def _fields(settings: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        found += _fields(value) if dataclasses.is_dataclass(value) else [(field.name, value)]
    return found


def _remembered(memory: Any) -> str:
    if memory is None:
        return "remembers nothing, ever"
    if isinstance(memory, AvgShedderMemory):
        return _hits_and_plans(memory)
    if isinstance(memory, RoundRobinMemory):
        return f"remembers {memory.count} turns among {', '.join(memory.brokers) or 'nobody'}"
    known = zip(memory.brokers, memory.usage, strict=True)
    return "remembers " + (", ".join(f"{b} {usage:.3f}" for b, usage in known) or "nothing")


def _hits_and_plans(memory: AvgShedderMemory) -> str:
    parts = [
        f"{which} " + ", ".join(f"{broker} {count}" for broker, count in sorted(hits.items()))
        for which, hits in (("high", memory.hits_high), ("low", memory.hits_low))
        if hits
    ]
    plans = [
        f"{plan.bundle} to {plan.broker}"
        + (" (changed)" if plan.content != inserted else "")
        + (" (forgotten)" if plan.is_forgotten else "")
        for inserted, found in _up_to_date(memory.plans).items()
        for plan in found
    ]
    plans += [
        f"{bundle} from {gives} to {gets}" for bundle, (gives, gets) in memory.pending.items()
    ]
    return "remembers " + ("; ".join([*parts, *plans]) or "nothing")


def _up_to_date(plans: Plans) -> Mapping[bytes, tuple[Plan, ...]]:
    """Return what keys hold now; those that go by identity are a name and a number."""
    names = {plan.bundle.encode() + b" " for found in plans.entries.values() for plan in found}
    by_identity = any(inserted.startswith(tuple(names)) for inserted in plans.entries)
    return brought_up_to_date(plans, BY_IDENTITY if by_identity else BY_VALUE).entries


def _number(exact: str) -> Any:
    """Choose how numbers are printed: rounded for reading, or to the last digit."""
    return {"no": "{:.2f}".format, "yes": lambda x: repr(float(x))}[exact]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("shove\n----\n", ValueError, "no command 'shove'"),
        ("_entry\n----\n", ValueError, "no command '_entry'"),
        ("shed threshhold=1\n----\n", TypeError, "threshhold"),
        ("shed exact\n----\n", ValueError, "expected argument=value"),
        ("cluster\nb0 0.5\n", ValueError, "has no rule"),
        ("cluster\n\n----\n", ValueError, "has no rule"),
        ("elect\nb0\n----\n", ValueError, "takes no input"),
        ("conf\nlowerBoundaryShedingEnabled=true\n----\n", ValueError, "unknown keys"),
    ],
)
def test_a_slip_in_a_file_fails(
    tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    path = tmp_path / "slip.txt"
    path.write_text(text)

    with pytest.raises(error, match=message):
        run(path, Shed("threshold_shedder"))


def test_output_with_blank_lines_stands_between_doubled_rules(tmp_path: Path) -> None:
    class Echo:
        def echo(self, lines: tuple[str, ...]) -> str:
            return "\n\n".join(lines)

    path = tmp_path / "echo.txt"
    path.write_text("# Two.\necho\na\nb\n----\nold\n\n# One.\necho\na\n----\n")
    expected = "# Two.\necho\na\nb\n----\n----\na\n\nb\n----\n----\n\n# One.\necho\na\n----\na\n"

    assert expected == run(path, Echo())
    path.write_text(expected)
    assert expected == run(path, Echo())
