"""Faults that show in the brokers' logs alone.

Source:
    lines as users have posted them; docs/log-messages.md has each with an example.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tools.precision.draft import Draft, when
from tools.precision.truth import Planted
from trimtab.lab.simulate.world import Kind
from trimtab.pulsar.bundles import namespace
from trimtab.trials.record.lines import SHEDDING, log_line, log_lines

_IMPL = "org.apache.pulsar.broker.loadbalance.impl"
_MANAGER = f"{_IMPL}.ModularLoadManagerImpl"
_SPLITTER = f"{_IMPL}.BundleSplitterTask"
_SERVICE = "org.apache.pulsar.broker.service.BrokerService"
_ADMIN = "org.apache.pulsar.client.admin.internal.BaseResource"
_NAMESPACES = "org.apache.pulsar.broker.namespace.NamespaceService"
_TASK = "org.apache.pulsar.broker.loadbalance.LoadSheddingTask"
_HOST = f"{_IMPL}.LinuxBrokerHostUsageImpl"
_MINUTE_MS = 60_000
#: Causes that are found in what the leader remembers from round to round.
BY_MEMORY = (
    *("cold-history", "score-disagreement", "grace-starvation", "throughput-floor"),
    *("blind-to-imbalance", "cold-cpu", "even-distribution-override"),
)
_STORM, _HOUR_MS = 8, 3_600_000


def came_back(draft: Draft) -> None:
    """Have sources take bundles again that nobody else took: the simulator keeps silent."""
    witness = draft.witness
    up_to = draft.ms(draft.run.world.duration_s) - 5_000
    counts = draft.run.counts.get("unloads that came back", 0)
    if not counts:
        return
    for _, unload in witness.unloads:
        until = unload.time_ms + 5 * _MINUTE_MS
        is_taken = any(
            bundle == unload.bundle and unload.time_ms <= time_ms < until
            for time_ms, bundle, _ in witness.taken
        )
        if is_taken or unload.time_ms > up_to:
            continue
        name = witness.bundles[unload.bundle]
        again_ms = unload.time_ms + round(unload.took_s * 1000.0) + 240
        for line in log_lines("taken", bundle=name):
            draft.say(unload.source, again_ms, line)
        draft.plant(Planted("same-broker", None, None, (draft.brokers[unload.source],), (name,)))


def split_refused(draft: Draft, *, why: str, times: int) -> None:
    """Have the leader refuse to split a bundle, again and again."""
    witness, random = draft.witness, draft.random
    bundle = witness.bundles[int(random.integers(len(witness.bundles)))]
    first = draft.ms(float(random.uniform(3, 8)) * 60.0)
    full = int(random.choice([64, 128, 256]))
    text, level = {
        "full": (
            f"Could not split namespace bundle {bundle} because namespace {namespace(bundle)} "
            f"has too many bundles: {full}",
            "WARN",
        ),
        "one topic": (
            f"The count of topics on the bundle {bundle} is less than 2, skip split!",
            "INFO",
        ),
        "failed": (
            f"Failed to split namespace bundle {bundle}\n"
            "org.apache.pulsar.client.admin.PulsarAdminException$PreconditionFailedException: "
            "Invalid bundle range\n\tat org.apache.pulsar.client.admin.internal.BaseResource."
            "getApiException(BaseResource.java:241) ~[?:?]",
            "ERROR",
        ),
    }[why]
    logger = _MANAGER if why == "failed" else _SPLITTER
    for i in range(times):
        time_ms = first + i * _MINUTE_MS + int(random.integers(-900, 900))
        draft.say(draft.leader(time_ms), time_ms, log_line(SHEDDING, logger, text, level))
    draft.plant(Planted("split-refused", first, first, (), (bundle,)))


def splits_told(draft: Draft) -> None:
    """Have the leader tell of the splits that happen; many of a namespace are a storm."""
    by_namespace: dict[str, list[int]] = {}
    for event in draft.run.world.events:
        if event.kind != Kind.SPLIT:
            continue
        for subject in event.subjects:
            bundle, time_ms = draft.witness.bundles[subject], draft.ms(event.time_s) - 40
            by_namespace.setdefault(namespace(bundle), []).append(time_ms)
            for text in (
                f"Load-manager splitting bundle {bundle} and unloading false",
                f"Successfully split namespace bundle {bundle}",
            ):
                draft.say(draft.leader(time_ms), time_ms, log_line(SHEDDING, _MANAGER, text))
    for times in by_namespace.values():
        if len(times) >= _STORM and max(times) - min(times) <= _HOUR_MS:
            draft.plant(Planted("split-storm", min(times), min(times)))


def repeated_split(draft: Draft, *, after_s: float) -> None:
    """Have the leader choose a bundle that it has split once more, by the same report."""
    witness, random = draft.witness, draft.random
    bundle = witness.bundles[int(random.integers(len(witness.bundles)))]
    first = draft.ms(float(random.uniform(3, 8)) * 60.0)
    due = (
        f"The bundle {bundle} is considered to be unload. Topics: 12/1000, Sessions: (20+31)/1000, "
        f"Message Rate: {random.uniform(30_000, 60_000)}/30000 (msgs/s), "
        f"Message Throughput: {random.uniform(10, 90)}/100 (MB/s)"
    )
    leader, later = draft.leader(first), first + round(after_s * 1000.0)
    for time_ms, logger, text in (
        (first, _SPLITTER, due),
        (first + 1, _MANAGER, f"Load-manager splitting bundle {bundle} and unloading false"),
        (first + 90, _MANAGER, f"Successfully split namespace bundle {bundle}"),
        (later, _SPLITTER, due),
    ):
        draft.say(leader, time_ms, log_line(SHEDDING, logger, text))
    draft.plant(Planted("repeated-split", first, later, (), (bundle,)))


def lookup_without_broker(draft: Draft, *, times: int) -> None:
    """Have a broker say of one bundle after the other that nobody is there to take it."""
    random = draft.random
    broker = int(random.integers(len(draft.brokers)))
    first = draft.ms(float(random.uniform(3, 8)) * 60.0)
    names = [f"away/n/0x{i:x}0000000_0x{i + 1:x}0000000" for i in range(3)]
    for i in range(times):
        time_ms, name = first + 2_500 * i, names[i % 3]
        for logger, text, level in (
            (_MANAGER, f"0 brokers being considered for assignment of {name}", "INFO"),
            (_NAMESPACES, f"No broker is available for {name}", "WARN"),
        ):
            draft.say(broker, time_ms, log_line("pulsar-2-3", logger, text, level))
    draft.plant(Planted("lookup-without-broker", first, first, (), tuple(names)))


def unload_failed(draft: Draft, *, how: str, share: float) -> None:
    """Have unloads that the leader made fail, or run out of time, as it is told of them."""
    witness, random = draft.witness, draft.random
    for number, unload in witness.unloads:
        if random.random() >= share:
            continue
        name, source = witness.bundles[unload.bundle], draft.brokers[unload.source]
        end_ms = unload.time_ms + round(unload.took_s * 1000.0)
        leader = draft.leader(witness.rounds[number].time_ms)
        if how == "late":
            text = f"Unloading of {name} has timed out"
            draft.say(unload.source, end_ms, log_line("pulsar-2-7", _SERVICE, text, "WARN"))
        else:
            path = f"http://{source}/admin/v2/namespaces/{name}/unload"
            error = "javax.ws.rs.InternalServerErrorException: HTTP 500 Internal Server Error"
            call = f"[{path}] Failed to perform http put request: {error}"
            draft.say(leader, end_ms, log_line("AsyncHttpClient-48-1", _ADMIN, call, "WARN"))
            text = f"Error when trying to perform load shedding on {name} for broker {source}"
            below = (
                "org.apache.pulsar.client.admin.PulsarAdminException$ServerSideErrorException: "
                f"Namespace bundle {name} is being unloaded\n\tat org.apache.pulsar.client.admin."
                "internal.BaseResource.getApiException(BaseResource.java:228) ~[?:?]"
            )
            line = log_line(SHEDDING, _MANAGER, f"{text}\n{below}", "WARN")
            draft.say(leader, end_ms, line)
        draft.plant(Planted("unload-failed", None, None, (), (name,)))


def skipped_bundles(draft: Draft, *, share: float) -> None:
    """Have bundles be chosen that policies or the placer then hold back."""
    witness, random = draft.witness, draft.random
    for number, decided in enumerate(witness.rounds):
        moved = [unload for i, unload in witness.unloads if i == number]
        if not moved or random.random() >= share:
            continue
        source, shedder = draft.brokers[moved[0].source], decided.shed.shedder
        load = decided.shed.load
        at = load.brokers.index(source)
        gone = {witness.bundles[unload.bundle] for unload in moved}
        mine = [
            bundle
            for bundle, owner in zip(load.bundles, load.bundle_broker.tolist(), strict=True)
            if owner == at and bundle not in gone
        ]
        if not mine:
            continue
        name = mine[int(random.integers(len(mine)))]
        if random.random() < 0.5:
            text = f"[{shedder}] No broker available to unload bundle {name} from broker {source}"
        else:
            text = (
                f"[{shedder}] The destination broker {source} is the same as the current owner "
                f"broker for Bundle {name}"
            )
        time_ms = moved[-1].time_ms + 1
        draft.say(draft.leader(time_ms), time_ms, log_line(SHEDDING, _MANAGER, text, "WARN"))
        draft.plant(Planted("skipped-bundles", decided.time_ms, time_ms, (source,), (name,)))


def two_leaders(draft: Draft, *, is_told: bool) -> None:
    """Have the old leader's task go on: it makes rounds after another has been elected.

    Where it is told the old one says that it follows, and nothing was kept of the election.
    """
    # What a leader remembers cannot be followed where two take turns.
    draft.leave_open(BY_MEMORY)
    witness = draft.witness
    [(_, old), (elected_ms, new), *_] = witness.elections
    later = [
        number
        for number in sorted({number for number, _ in witness.unloads})
        if witness.rounds[number].time_ms > elected_ms + 10_000
    ]
    spans = []
    for number in later[:2]:
        start = witness.rounds[number].time_ms
        mine = [unload for i, unload in witness.unloads if i == number]
        end = mine[-1].time_ms
        folder = draft.folder(new)
        is_round = [
            start <= time_ms <= end and f"[{SHEDDING}]" in line and "Writing local" not in line
            for time_ms, line in draft.logs[folder]
        ]
        pairs = list(zip(draft.logs[folder], is_round, strict=True))
        draft.logs[folder] = [line for line, is_moved in pairs if not is_moved]
        draft.logs[draft.folder(old)] += [line for line, is_moved in pairs if is_moved]
        spans.append((start, end))
    if spans:
        since, until = spans[0][0], spans[-1][1]
        draft.plant(Planted("two-leaders", since, until, (draft.brokers[old],)))
    if is_told:
        _follows(draft, old, elected_ms)


def _follows(draft: Draft, old: int, elected_ms: int) -> None:
    """Have a broker say that it follows, and nothing be kept of elections from then on."""
    draft.leave_open(["leader-change", "no-acting-leader"])
    name = draft.brokers[old]
    text = f"This broker {name} is a follower. No leader has been elected yet"
    line = log_line("metadata-store-10-1", "org.apache.pulsar.broker.PulsarService", text)
    draft.say(old, elected_ms - 20, line)

    def kept(time_ms: int, line: str) -> str | None:
        is_of_election = "elected leader" in line or "Acquired leadership" in line
        return None if time_ms >= elected_ms - 5_000 and is_of_election else line

    for broker in range(len(draft.brokers)):
        draft.rewrite(broker, kept)
    rows = draft.rows("store/leader.jsonl")
    rows[:] = [row for row in rows if row["time"] < when(elected_ms - 5_000)]


def shedding_aborted(draft: Draft, *, since_min: float, until_min: float) -> None:
    """Have rounds end in an exception, in a time in which nothing is shed."""
    random = draft.random
    leader = draft.leader(draft.ms(since_min * 60.0))
    error = str(
        random.choice(
            [
                "java.lang.IllegalArgumentException: Comparison method violates its general "
                "contract!",
                'java.lang.NullPointerException: Cannot invoke "LocalBrokerData.getBundles()"',
                "java.util.ConcurrentModificationException",
            ]
        )
    )
    text = (
        f"Error during the load shedding\n{error}\n\tat {_MANAGER}.doLoadShedding"
        "(ModularLoadManagerImpl.java:642) ~[?:?]"
    )
    first = draft.ms(since_min * 60.0) + int(random.integers(1_000, 20_000))
    for time_ms in range(first, draft.ms(until_min * 60.0), _MINUTE_MS):
        draft.say(leader, time_ms, log_line(SHEDDING, _TASK, text, "WARN"))
    draft.plant(Planted("shedding-aborted", first, first))


def nic_unread(draft: Draft) -> None:
    """Have a broker say that it cannot read the speed of its network."""
    broker = int(draft.random.integers(len(draft.brokers)))
    time_ms = draft.ms(float(draft.random.uniform(1, 10)) * 60.0)
    text = (
        "Failed to read speed for nic eth0, maybe you can set broker config "
        "[loadBalancerOverrideBrokerNicSpeedGbps] to override it.\n"
        "java.io.IOException: Invalid argument"
    )
    draft.say(broker, time_ms, log_line(SHEDDING, _HOST, text, "ERROR"))
    draft.plant(Planted("bad-nic-limit", None, None, (draft.brokers[broker],)))


def left_open(draft: Draft, *, codes: tuple[str, ...]) -> None:
    """Leave open what is judged by numbers that this recording does not have."""
    draft.leave_open(codes)


def known(draft: Draft, *, code: str, broker: int | None = None) -> None:
    """Note a cause that the cluster itself was made to have."""
    names = () if broker is None else (draft.brokers[broker],)
    draft.plant(Planted(code, None, None, names))


LINES: Mapping[str, Callable[..., None]] = {
    "came back": came_back,
    "split refused": split_refused,
    "splits told": splits_told,
    "repeated split": repeated_split,
    "lookup without broker": lookup_without_broker,
    "unload failed": unload_failed,
    "skipped bundles": skipped_bundles,
    "two leaders": two_leaders,
    "shedding aborted": shedding_aborted,
    "nic unread": nic_unread,
    "left open": left_open,
    "known": known,
}
