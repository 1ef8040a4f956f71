"""A leader's term: its rounds, its placements, and what it notes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tools.nights.cluster import Cluster
from tools.nights.traffic import Floats
from tools.nights.wording import placement_line, round_lines, unload_line
from trimtab.pulsar.map_order import hash_map_order, hash_map_size
from trimtab.pulsar.model import ClusterLoad, Decision, LostRoundError
from trimtab.pulsar.place import placer
from trimtab.pulsar.scores import unweighted_usage, weighted_usage
from trimtab.pulsar.settings import candidate_settings
from trimtab.pulsar.shed import shedder


@dataclass(slots=True)
class Placed:
    """Whom the placer was asked about for a bundle, and what it said."""

    candidates: tuple[str, ...]
    #: Among whom was drawn, and who it was.
    best: tuple[str, ...]
    broker: str
    #: Nobody passed the bar.
    is_fallback: bool
    #: (n_candidates,) by the placer; NaN where it has none.
    scores: Floats
    #: Brokers that the even distribution left; all of them if it is off.
    evened: int


@dataclass(slots=True)
class Move:
    """A bundle that a round has chosen, and what became of it."""

    time_ms: int
    bundle: str
    source: str
    placed: Placed | None
    #: Why it was not ordered, or failed; None if it was unloaded.
    refusal: str | None = None
    taken_ms: int = 0
    taker: str | None = None


@dataclass(slots=True)
class Round:
    """One round as its leader had it."""

    time_ms: int
    leader: str
    load: ClusterLoad
    decision: Decision | None
    #: (n_brokers,) weighted, fractions, as reported.
    usage: Floats
    grace: dict[str, int] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    end_ms: int = 0


@dataclass(slots=True)
class Term:
    """A leader from its election on."""

    cluster: Cluster
    leader: str
    rounds: list[Round]
    shedder_name: str
    placer_name: str
    is_over: bool = False
    shed_memory: Any = None
    place_memory: Any = None
    #: Bundle → when it was unloaded.
    recent: dict[str, int] = field(default_factory=dict)
    #: Says why the unload of a bundle fails, if it does.
    fails: Callable[[str], str | None] = lambda bundle: None
    #: Says who takes a bundle in place of its destination.
    diverts: Callable[[str, str, str], str | None] = lambda bundle, source, target: target
    #: Seconds that an unload takes.
    takes_s: Callable[[str], float] = lambda bundle: 0.12
    #: Says whether the round ends in an exception, by the second of the night.
    breaks: Callable[[float], bool] = lambda second: False
    #: Brokers that policies leave to a bundle; all if it says none.
    allowed: Callable[[str], frozenset[str] | None] = lambda bundle: None

    def begin(self) -> None:
        """Set the clock of its rounds."""
        cluster = self.cluster
        self._shed = shedder(self.shedder_name, cluster.release)
        self._place = placer(self.placer_name, cluster.release)
        self._candidates = candidate_settings(cluster.conf, cluster.release)
        self.shed_memory = self._shed.memory
        self.place_memory = self._place.memory
        self._table = 0
        interval = cluster.setting("loadBalancerSheddingIntervalMinutes", 1) * 60
        cluster.after(interval, self._round)
        flush = cluster.setting("loadBalancerResourceQuotaUpdateIntervalMinutes", 15) * 60
        cluster.after(flush, lambda: self._flush(flush))

    _shed: Any = None
    _place: Any = None
    _candidates: Any = None
    _table: int = 0

    def _flush(self, period_s: float) -> None:
        if not self.is_over:
            self.cluster.maps.recompute()
            self.cluster.after(period_s, lambda: self._flush(period_s))

    @property
    def name(self) -> str:
        """Return the folder of the leader's logs."""
        return self.cluster.brokers[self.leader].name

    @property
    def is_joint(self) -> bool:
        """Return whether shedder and placer are one object."""
        return self.shedder_name == self.placer_name

    def forget_left(self) -> None:
        """Drop what is remembered of brokers that have left."""
        active = tuple(self.cluster.maps.reports)
        self.shed_memory = self._shed.forget(self.shed_memory, active)
        self.place_memory = self._place.forget(self.place_memory, active)

    # --- a round

    def _round(self) -> None:
        cluster = self.cluster
        interval = cluster.setting("loadBalancerSheddingIntervalMinutes", 1) * 60
        if self.is_over or not cluster.brokers[self.leader].is_up:
            return
        now = cluster.now_ms
        if cluster.conf.get("loadBalancerSheddingEnabled", "true") == "false":
            cluster.after(interval, self._round)
            return
        if len(cluster.maps.reports) <= 1:
            cluster.log.balancer(
                now,
                self.name,
                "ModularLoadManagerImpl",
                "Only 1 broker available: no load shedding will be performed",
            )
            cluster.after(interval, self._round)
            return
        steps = self._steps()

        def go_on() -> None:
            pause = next(steps, None)
            if pause is None:
                cluster.after(interval, self._round)
            else:
                cluster.brokers[self.leader].busy_until_ms = cluster.now_ms + round(pause * 1000)
                cluster.after(pause, go_on)

        go_on()

    def _steps(self) -> Iterator[float]:
        """Yield how long to wait for each unload of a round."""
        cluster, now = self.cluster, self.cluster.now_ms
        self.forget_left()
        grace = cluster.setting("loadBalancerSheddingGracePeriodMinutes", 30) * 60_000
        self.recent = {b: at for b, at in self.recent.items() if at >= now - grace}
        load = cluster.maps.load(set(self.recent))
        settings = self._shed.settings(cluster.conf, cluster.release)
        played = Round(now, self.leader, load, None, usage_of(cluster, load), dict(self.recent))
        self.rounds.append(played)
        if self.breaks(cluster.second):
            self._broken(played)
            return
        before = self.shed_memory
        try:
            decision, self.shed_memory = self._shed.shed(load, before, settings)
        except LostRoundError as lost:
            self.shed_memory = lost.memory
            self._broken(played)
            return
        played.decision = decision
        if self.is_joint:
            self.place_memory = self.shed_memory
        for level, text in round_lines(self, played, before):
            write = cluster.log.warn if level == "WARN" else cluster.log.balancer
            write(now, self.name, self.shedder_name, text)
        by_source: dict[str, list[str]] = {}
        for unload in decision.unloads:
            by_source.setdefault(unload.source, []).append(unload.bundle)
        for source in hash_map_order(by_source):
            for bundle in by_source[source]:
                yield from self._unload(played, bundle, source)
        played.end_ms = cluster.now_ms
        if self.is_joint:
            self.shed_memory = self._shed.completed(self.shed_memory)
            self.place_memory = self.shed_memory

    def _broken(self, played: Round) -> None:
        played.end_ms = self.cluster.now_ms
        self.cluster.log.warn(
            self.cluster.now_ms,
            self.name,
            "LoadSheddingTask",
            "Error during the load shedding"
            "\njava.lang.IllegalArgumentException: Comparison method violates its general contract!"
            "\n\tat java.base/java.util.TimSort.mergeHi(TimSort.java:903) ~[?:?]",
        )

    def _unload(self, played: Round, bundle: str, source: str) -> Iterator[float]:
        cluster = self.cluster
        others = self.allowed(bundle)
        if others is not None and not others - {source}:
            return  # its policies leave nobody else, and no line says so
        placed = self.select(bundle)
        move = Move(cluster.now_ms, bundle, source, placed)
        played.moves.append(move)
        if placed is None or placed.broker == source:
            move.refusal = "none" if placed is None else "same"
            text = (
                f"[{self.shedder_name}] No broker available to unload bundle {bundle}"
                f" from broker {source}"
                if placed is None
                else f"[{self.shedder_name}] The destination broker {source} is the same as the"
                f" current owner broker for Bundle {bundle}"
            )
            write = cluster.log.balancer if placed is None else cluster.log.warn
            write(cluster.now_ms, self.name, "ModularLoadManagerImpl", text)
            return
        cluster.log.balancer(
            cluster.now_ms + 1,
            self.name,
            "ModularLoadManagerImpl",
            unload_line(self.shedder_name, bundle, source, placed.broker),
        )
        took = self.takes_s(bundle)
        why = self.fails(bundle)
        if why is not None:
            yield took
            self._failed(move, why)
            return
        yield took * 0.2
        self._given_up(bundle, source, took * 0.7)
        yield took * 0.8
        self.recent[bundle] = cluster.now_ms
        move.taker = self.diverts(bundle, source, placed.broker)
        if move.taker is not None:
            wait = float(cluster.rng.uniform(0.1, 0.4))
            move.taken_ms = cluster.now_ms + round(wait * 1000)
            taker = move.taker
            cluster.after(wait, lambda: cluster.acquire(bundle, taker))

    def _failed(self, move: Move, why: str) -> None:
        cluster = self.cluster
        move.refusal = "failed"
        cluster.log.warn(
            cluster.now_ms,
            self.name,
            "ModularLoadManagerImpl",
            f"Error when trying to perform load shedding on {move.bundle} for broker {move.source}"
            f"\n{why}\n\tat org.apache.pulsar.client.admin.internal.BaseResource"
            ".getApiException(BaseResource.java:291) ~[pulsar-client-admin.jar:?]",
        )

    def _given_up(self, bundle: str, source: str, took_s: float) -> None:
        cluster = self.cluster
        name, now = cluster.brokers[source].name, cluster.now_ms
        topics = int(cluster.traffic.topics[cluster.at[bundle]])
        log = cluster.log.broker
        log(now - 12, name, "NamespacesBase", f"[null] Unloading namespace bundle {bundle}")
        log(now, name, "OwnedBundle", f"Disabling ownership: {bundle}")
        for topic in range(topics):
            cluster.log.other(
                now + 1,
                name,
                "BrokerService",
                f"[persistent://{bundle.rpartition('/')[0]}/t-{topic}] Unloading topic",
            )
        done = now + round(took_s * 1000)
        log(
            done,
            name,
            "OwnedBundle",
            f"Unloading {bundle} namespace-bundle with {topics} topics completed in"
            f" {float(done - now)} ms",
        )
        cluster.after(took_s, lambda: cluster.release_bundle(bundle))

    # --- a placement

    def select(self, bundle: str) -> Placed | None:
        """Return whom the placer names for a bundle; None if there is nobody to choose from."""
        cluster, maps = self.cluster, self.cluster.maps
        everybody = [b for b in sorted(maps.reports) if cluster.brokers[b].is_up]
        allowed = self.allowed(bundle)
        free = [b for b in everybody if allowed is None or b in allowed]
        self._table = hash_map_size(len(free), self._table)
        candidates = free
        if self._candidates.distributes_evenly and free:
            namespace = bundle.rpartition("/")[0]
            counts = {b: maps.owned_of_namespace(b, namespace) for b in free}
            least = min(counts.values())
            candidates = [b for b in free if counts[b] == least]
        cluster.log.balancer(
            cluster.now_ms,
            self.name,
            "ModularLoadManagerImpl",
            f"{len(candidates)} brokers being considered for assignment of {bundle}",
        )
        if not candidates:
            candidates = free
        if not candidates:
            return None
        load = maps.load(set(self.recent))
        placed = self._asked(load, bundle, candidates, len(candidates))
        usage = (weighted_usage if self._is_weighted() else _unweighted)(
            load, self._candidates.weights
        )
        at = load.brokers.index(placed.broker)
        if usage[at] > self._candidates.overloaded_threshold:
            placed = self._asked(load, bundle, free, len(candidates))
        return placed

    def _is_weighted(self) -> bool:
        return int(self.cluster.release.partition(".")[0]) >= 4

    def _asked(self, load: ClusterLoad, bundle: str, candidates: list[str], evened: int) -> Placed:
        cluster = self.cluster
        walked = hash_map_order(candidates, self._table)
        positions = np.array([load.brokers.index(b) for b in walked], np.int64)
        settings = self._place.settings(cluster.conf, cluster.release)
        answer, memory = self._place.place(load, bundle, positions, self.place_memory, settings)
        best = tuple(load.brokers[i] for i in answer.best.tolist())
        broker = best[int(cluster.rng.integers(len(best)))]
        self.place_memory = self._place.drawn(memory, bundle, broker)
        if self.is_joint:
            self.shed_memory = self.place_memory
        line = placement_line(self.placer_name, answer.is_fallback, len(walked))
        if line:
            cluster.log.warn(cluster.now_ms, self.name, self.placer_name, line)
        return Placed(walked, best, broker, answer.is_fallback, answer.scores, evened)

    def lookup(self, bundle: str) -> str | None:
        """Let a client look a bundle up that nobody owns; return who is to own it."""
        maps = self.cluster.maps
        broker = maps.placed.get(bundle)
        if broker is None:
            placed = self.select(bundle)
            if placed is None:
                return None
            broker = maps.placed[bundle] = placed.broker
        taker = broker
        self.cluster.after(0.03, lambda: self.cluster.acquire(bundle, taker))
        return broker


def _unweighted(load: ClusterLoad, weights: object) -> Floats:
    del weights
    return unweighted_usage(load)


def usage_of(cluster: Cluster, load: ClusterLoad) -> Floats:
    """Return each broker's busiest resource as it was reported, after weighing, as a fraction."""
    return np.array(
        [
            float((cluster.maps.reports[broker].percent() * cluster.weights).max()) / 100
            for broker in load.brokers
        ]
    )
