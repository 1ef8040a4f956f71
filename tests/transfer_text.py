"""The extensible load manager's strategies as text: clusters, rounds, selections."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tests.cluster_text import MEBIBYTE
from trimtab.pulsar.model import ExtensibleLoad, Transfer
from trimtab.pulsar.place import EXTENSIBLE_PLACERS, extensible_placer
from trimtab.pulsar.shed import EXTENSIBLE_SHEDDERS, extensible_shedder

NOW_MS = 1_790_000_000_000
SECOND_MS = 1000
#: What may be said of a bundle: unloaded just now, owned by another broker, of a namespace
#: with a policy, let go nowhere by the filters.
SAID = ("recent", "elsewhere", "policy", "nowhere")


def extensible_cluster(lines: tuple[str, ...]) -> ExtensibleLoad:
    """Read `name usage [@now] [~smoothed] [age:s] [unloaded:s] [unregistered] [bundle=now[:said]]`.

    A broker a line; traffic is in MiB/s, and without `@` what the bundles add up to, without
    `~` what it is now.  A usage of `-` is that of a broker without load data.
    """
    rows = [line.split() for line in lines]
    bundles = [(i, *_bundle(word)) for i, row in enumerate(rows) for word in row if "=" in word]
    owner = np.array([i for i, *_ in bundles], dtype=np.int64)
    traffic = np.array([weight for *_, weight, _ in bundles], dtype=np.float64)
    sums = np.bincount(owner, traffic, minlength=len(rows))
    carried = np.array([_said(row, "@", sums[i]) for i, row in enumerate(rows)])
    ages = np.array([_said(row, "age:", 10 * MEBIBYTE) / MEBIBYTE for row in rows])
    unloaded = {row[0]: _said(row, "unloaded:", -1.0) / MEBIBYTE for row in rows}
    return ExtensibleLoad(
        brokers=tuple(row[0] for row in rows),
        has_load_data=np.array([row[1] != "-" for row in rows], np.bool_),
        is_available=np.array(["unregistered" not in row for row in rows], np.bool_),
        usage=np.array([0.0 if row[1] == "-" else float(row[1]) for row in rows]),
        throughput_smoothed=np.array([_said(row, "~", carried[i]) for i, row in enumerate(rows)]),
        throughput_in=carried,
        throughput_out=np.zeros(len(rows)),
        updated_at_ms=NOW_MS - (ages * SECOND_MS).astype(np.int64),
        now_ms=NOW_MS,
        bundles=tuple(name for _, name, *_ in bundles),
        bundle_broker=owner,
        bundle_throughput_in=traffic,
        bundle_throughput_out=np.zeros(len(bundles)),
        bundle_is_sheddable=np.array(
            [said not in ("recent", "elsewhere") for *_, said in bundles], np.bool_
        ),
        bundle_has_policy=np.array([said == "policy" for *_, said in bundles], np.bool_),
        filtered={name: frozenset() for _, name, _, said in bundles if said == "nowhere"},
        unloaded_at_ms={
            name: NOW_MS - int(ago * SECOND_MS) for name, ago in unloaded.items() if ago >= 0
        },
    )


def _said(row: list[str], sign: str, otherwise: float) -> float:
    """Read what a broker's line says behind a sign, times a mebibyte."""
    found = (word.removeprefix(sign) for word in row[2:] if word.startswith(sign))
    return next((float(value) * MEBIBYTE for value in found), otherwise)


def _bundle(word: str) -> tuple[str, float, str]:
    name, _, value = word.partition("=")
    weight, colon, said = value.partition(":")
    if colon and said not in SAID:
        raise ValueError(f"{word}: found {said!r}, expected one of {SAID}")
    return name, float(weight) * MEBIBYTE, said


def _described(load: ExtensibleLoad) -> str:
    return f"{len(load.brokers)} brokers, {len(load.bundles)} bundles"


def _conf(lines: tuple[str, ...]) -> Mapping[str, str]:
    return {key: value for key, _, value in (line.partition("=") for line in lines)}


def _changes(default: Any, settings: Any) -> str:
    before, after = dataclasses.asdict(default), dataclasses.asdict(settings)
    changed = [f"{name} {_shown(value)}" for name, value in after.items() if value != before[name]]
    return "\n".join(changed) or "all as by default"


class Transfers:
    """TransferShedder, a cluster, and what happens to them; a method is a command."""

    def __init__(self) -> None:
        ((self.name, _), *_others) = EXTENSIBLE_SHEDDERS
        self.conf_lines: Mapping[str, str] = {}
        self.release = "4.0"
        self.load = extensible_cluster(())
        self.hits = 0

    def cluster(self, lines: tuple[str, ...]) -> str:
        self.load = extensible_cluster(lines)
        return _described(self.load)

    def conf(self, lines: tuple[str, ...], *, release: str = "4.0") -> str:
        self.conf_lines, self.release = _conf(lines), release
        entry = extensible_shedder(self.name, release)
        assert entry is not None
        return _changes(entry.settings({}, release), entry.settings(self.conf_lines, release))

    def elect(self) -> str:
        """Make another broker the leader."""
        self.hits = 0
        return "remembers nothing"

    def shed(self, *, exact: str = "no") -> str:
        entry = extensible_shedder(self.name, self.release)
        assert entry is not None
        settings = entry.settings(self.conf_lines, self.release)
        decision, self.hits = entry.shed(self.load, self.hits, settings)
        number: Callable[[float], str] = str if exact == "yes" else "{:.2f}".format
        lines = [f"average {number(decision.average)}, deviation {number(decision.deviation)}"]
        for transfer in decision.transfers:
            lines += self._told(transfer, number)
        lines += [f"{name} no longer counts as unloaded" for name in decision.rested]
        if decision.skipped is not None:
            lines.append(f"nothing: {decision.skipped}")
        return "\n".join([*lines, f"remembers {self.hits}"])

    def _told(self, transfer: Transfer, number: Callable[[float], str]) -> Iterator[str]:
        source, target = self.load.brokers[transfer.source], self.load.brokers[transfer.target]
        offload = number(transfer.offload / MEBIBYTE)
        yield f"{transfer.cause}: {source} to lose {offload} MiB/s to {target}"
        ways = dict.fromkeys((unload.source, unload.target) for unload in transfer.unloads)
        for way in ways:
            mine = [u.bundle for u in transfer.unloads if (u.source, u.target) == way]
            yield f"  unload {', '.join(mine)} from {way[0]}{f' to {way[1]}' if way[1] else ''}"
        if transfer.refusal is not None:
            yield f"  {transfer.refusal}"
            return
        lost, gained = (number(value / MEBIBYTE) for value in (transfer.lost, transfer.gained))
        yield f"  loses {lost}, gains {gained}, deviation {number(transfer.deviation)} then"


class ExtensiblePlace:
    """The extensible load manager's placer and a cluster; a method is a command."""

    def __init__(self) -> None:
        ((self.name, _),) = EXTENSIBLE_PLACERS
        self.conf_lines: Mapping[str, str] = {}
        self.load = extensible_cluster(())

    def cluster(self, lines: tuple[str, ...]) -> str:
        self.load = extensible_cluster(lines)
        return _described(self.load)

    def conf(self, lines: tuple[str, ...]) -> str:
        self.conf_lines = _conf(lines)
        entry = extensible_placer(self.name, "4.0")
        assert entry is not None
        return _changes(entry.settings({}, "4.0"), entry.settings(self.conf_lines, "4.0"))

    def place(self, *, among: str = "all") -> str:
        entry = extensible_placer(self.name, "4.0")
        assert entry is not None
        names = self.load.brokers if among == "all" else tuple(filter(None, among.split(",")))
        candidates = np.array([self.load.brokers.index(name) for name in names], dtype=np.int64)
        placement = entry.place(self.load, candidates, entry.settings(self.conf_lines, "4.0"))
        best = [self.load.brokers[i] for i in placement.best.tolist()]
        lines = [f"average {placement.average:.2f}"]
        for name, score in zip(names, placement.scores.tolist(), strict=True):
            is_best = name in best and not placement.is_fallback
            lines.append(f"{name} {score:.2f}{' best' if is_best else ''}")
        fallback = ", as nobody is the best" if placement.is_fallback else ""
        return "\n".join([*lines, f"draw from {', '.join(best) or 'nobody'}{fallback}"])


def _shown(value: object) -> object:
    """Put a set in order: its own is another in every process."""
    return sorted(value) if isinstance(value, frozenset) else value
