"""A cluster's admin APIs that unload and look up as real brokers do, and fail as a test asks.

What is answered follows transcripts of Pulsar 4.0.8 under the modular load manager: an unload
that names a destination is redirected to the leader, which notes the destination, and from
there without it to the owner; the destination is good for the first look-up; one that is not
registered is refused with 409; a killed broker stays registered for a while, and until then
whoever looks one of its bundles up is sent there; a second unload of a bundle while the first
runs fails and has yet changed the destination.
"""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

from trimtab.live.control.plan import Plan, PlannedMove

#: How long an unload takes, s.
UNLOAD_S = 0.02
#: How long a killed broker stays registered, s.
SESSION_S = 0.6
#: How long a broker is away that is restarted, s.
RESTART_S = 0.2
#: How soon clients look a bundle up that has lost its owner, s.
CLIENTS_S = 0.02
NAME = "fake"
SHEDDING = "loadBalancerSheddingEnabled"
#: What a broker of the extensible load manager answers who asks for its load report.
UNSUPPORTED = (
    "\n --- An unexpected error occurred in the server ---\n\nMessage: null\n\nStacktrace:\n\n"
    "java.lang.UnsupportedOperationException\n\tat org.apache.pulsar.broker.loadbalance"
)

#: Is called with "before" or "after" when an owner has been told to unload; it may sleep, kill
#: a broker, or return a status to be answered in place of what really is.
Fault = Callable[[str, str], int | None]


@dataclass
class FakeBroker:
    """One broker."""

    server: ThreadingHTTPServer
    killed_s: float | None = None
    usage_percent: float = 40.0
    started_s: float = 1_000_000.0
    #: It is being restarted.
    is_down: bool = False
    #: What its check of itself says; 200 if it is healthy.
    health: int = 200

    @property
    def id(self) -> str:
        return f"127.0.0.1:{self.server.server_address[1]}"

    @property
    def is_registered(self) -> bool:
        if self.is_down:
            return False
        return self.killed_s is None or time.monotonic() < self.killed_s + SESSION_S


@dataclass
class FakePulsar:
    """The cluster, and what was done to it."""

    brokers: list[FakeBroker] = field(default_factory=list)
    leader: int = 0
    owners: dict[str, str | None] = field(default_factory=dict)
    meant: dict[str, str] = field(default_factory=dict)
    unloading: set[str] = field(default_factory=set)
    #: Bundles with clients, which look them up at once.
    busy: set[str] = field(default_factory=set)
    #: How often each bundle was really unloaded.
    unloads: Counter[str] = field(default_factory=Counter)
    #: Calls that came while the bundle was being unloaded: must never be.
    doubles: list[str] = field(default_factory=list)
    fault: Fault = lambda moment, bundle: None
    #: By the brokers' own files.
    is_shedding: bool = False
    #: Dynamic settings.
    overrides: dict[str, str] = field(default_factory=dict)
    #: Every change of them, in order.
    changes: list[str] = field(default_factory=list)
    #: Releases without pull request 22673 go on with a value that was removed.
    notices_removals: bool = True
    #: How often each broker was restarted.
    restarts: Counter[str] = field(default_factory=Counter)
    #: What a broker owned when it was restarted, and whether Pulsar shed then.
    owned_at_restart: list[int] = field(default_factory=list)
    shed_at_restart: list[bool] = field(default_factory=list)
    #: Points of CPU that a bundle takes of its owner.
    bundle_percent: float = 0.0
    #: Settings of the brokers besides; no metadata store, so whoever acts has to say where.
    settings: dict[str, str] = field(default_factory=dict)
    #: Under the extensible load manager brokers have no load report to give.
    is_extensible: bool = False
    #: Releases before 2.11 have no address that tells the release.
    tells_release: bool = True
    #: Isolation policies by name, and anti-affinity groups by namespace.
    isolation: dict[str, object] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    #: Who asked, call by call.
    headers: list[str] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    is_over: threading.Event = field(default_factory=threading.Event)

    def broker(self, name: str) -> FakeBroker:
        return next(each for each in self.brokers if each.id == name)

    def kill(self, name: str) -> None:
        """End a broker at once; its registration stays until its session ends."""
        with self.lock:
            broker = self.broker(name)
            broker.killed_s = time.monotonic()
            if self.brokers[self.leader] is broker:
                self.leader = next(
                    i for i, each in enumerate(self.brokers) if each.killed_s is None
                )
        broker.server.shutdown()
        broker.server.server_close()
        # Its bundles are found to have no owner when its session has ended.
        threading.Timer(SESSION_S, partial(self._disown, name)).start()

    def restart(self, name: str, away_s: float = RESTART_S) -> None:
        """Stop a broker in good order, and start another process of it a little later."""
        broker = self.broker(name)
        with self.lock:
            owned = [each for each, owner in self.owners.items() if owner == name]
            self.restarts[name] += 1
            self.owned_at_restart.append(len(owned))
            self.shed_at_restart.append(self.sheds)
            broker.is_down = True
            if self.brokers[self.leader] is broker:
                up = [i for i, each in enumerate(self.brokers) if each.is_registered]
                self.leader = up[0]
            self.owners |= dict.fromkeys(owned)

        def begin() -> None:
            with self.lock:
                broker.started_s += 1000.0
                broker.is_down = False

        threading.Timer(away_s, begin).start()

    @property
    def sheds(self) -> bool:
        """Return whether Pulsar's own shedding is on."""
        return self.overrides.get(SHEDDING, str(self.is_shedding)).lower() == "true"

    def override(self, key: str, value: str | None) -> None:
        """Change a dynamic setting, or with None remove it."""
        with self.lock:
            self.changes.append(f"{key}={value}")
            if value is not None:
                self.overrides[key] = value
            elif not self.notices_removals:
                self.is_shedding = self.sheds
            if value is None:
                self.overrides.pop(key, None)

    def plan(self, n_moves: int, **limits: float) -> Plan:
        """Plan to move bundles off the first broker, in turn to the others."""
        from trimtab.live.control.limits import Limits

        owned = sorted(name for name, of in self.owners.items() if of == self.brokers[0].id)
        others = [each.id for each in self.brokers[1:]]
        moves = tuple(
            PlannedMove(name, self.brokers[0].id, others[i % len(others)], "to see")
            for i, name in enumerate(owned[:n_moves])
        )
        quick = {"settle_s": 0.01, "in_flight_s": 0.4, "verify_s": 0.3, "look_up_s": 0.1}
        bounds = Limits(**{"wait_max_s": 4.0, "moves_per_round": 99.0, **quick, **limits})
        return Plan(NAME, time.time(), moves, bounds)

    # ----------------------------------------------------------------- what brokers do

    def assign(self, bundle: str) -> str | None:
        """Answer a look-up: the owner, or one that is made it now."""
        with self.lock:
            if bundle in self.unloading:
                return None
            owner = self.owners[bundle]
            if owner is None:
                owner = self.meant.pop(bundle, None) or self._any()
                if not self.broker(owner).is_registered:
                    owner = self._any()
                if self.broker(owner).killed_s is not None:
                    # Whoever looks it up is sent to a broker that is gone.
                    self.meant[bundle] = owner
                    return None
                self.owners[bundle] = owner
            return owner

    def unload(self, bundle: str) -> int:
        """Unload a bundle at its owner; returns the status."""
        early = self.fault("before", bundle)
        if early is not None:
            return early
        with self.lock:
            if bundle in self.unloading:
                self.doubles.append(bundle)
                return 500
            self.unloading.add(bundle)
            self.unloads[bundle] += 1
        time.sleep(UNLOAD_S)
        with self.lock:
            self.owners[bundle] = None
            self.unloading.discard(bundle)
        late = self.fault("after", bundle)
        return 204 if late is None else late

    def run_clients(self) -> None:
        """Look up, again and again, what has lost its owner."""
        while not self.is_over.wait(CLIENTS_S):
            for bundle in sorted(self.busy):
                if self.owners[bundle] is None:
                    self.assign(bundle)

    def _any(self) -> str:
        """Place a bundle as one that knows nothing would."""
        up = (each for each in self.brokers if each.killed_s is None and not each.is_down)
        return next(up).id

    def _disown(self, name: str) -> None:
        with self.lock:
            for bundle, owner in self.owners.items():
                if owner == name:
                    self.owners[bundle] = None


class FakeRequest(BaseHTTPRequestHandler):
    """One request to a broker."""

    protocol_version = "HTTP/1.1"
    # Head and body of an answer go as one: the second packet would wait for the first's receipt.
    wbufsize = -1

    def __init__(self, box: tuple[FakePulsar, list[FakeBroker]], *given: object) -> None:
        self.cluster, (self.broker,) = box[0], box[1]
        super().__init__(*given)  # type: ignore[arg-type]  # as the server hands them on

    def log_message(self, *given: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        parts = unquote(urlsplit(self.path).path).split("/")
        if parts[1] == "restart":
            self.cluster.restart(parts[2])
        else:
            self.cluster.override(*parts[-2:])
        self._say(204, "")

    def do_DELETE(self) -> None:
        self.cluster.override(unquote(self.path).rpartition("/")[2], None)
        self._say(204, "")

    def parse_request(self) -> bool:
        """Answer nothing at all while the broker is down."""
        if self.broker.is_down:
            self.close_connection = True
            return False
        return super().parse_request()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        cluster = self.cluster
        registered = [each.id for each in cluster.brokers if each.is_registered]
        answers: dict[str, object] = {
            "/admin/v2/brokers": registered,
            "/admin/v2/brokers/leaderBroker": _leader(cluster),
            "/admin/v2/brokers/version": "4.0.8",
            "/admin/v2/brokers/configuration/runtime": {
                "clusterName": NAME,
                **cluster.settings,
                "loadBalancerEnabled": "true",
                SHEDDING: str(cluster.sheds).lower(),
            },
            "/admin/v2/brokers/configuration/values": cluster.overrides,
            "/admin/v2/broker-stats/load-report": self._report(),
        }
        cluster.headers.append(self.headers.get("Authorization", ""))
        if path.endswith("/brokers/health"):
            self._say(self.broker.health, "ok" if self.broker.health == 200 else "")
        else:
            self._answer(path, answers)

    def _answer(self, path: str, answers: dict[str, object]) -> None:
        cluster = self.cluster
        if path == "/metrics/":
            self._say(200, self._metrics())
        elif cluster.is_extensible and path.endswith("/load-report"):
            self._say(500, json.dumps({"reason": UNSUPPORTED}))
        elif path.endswith("/version") and not cluster.tells_release:
            self._say(404, "")
        elif path in answers:
            found = answers[path]
            self._say(200, found if isinstance(found, str) else json.dumps(found))
        elif path.endswith("/namespaceIsolationPolicies"):
            self._say(200, json.dumps(cluster.isolation))
        elif path.endswith("/antiAffinity"):
            group = cluster.groups.get("/".join(path.split("/")[-3:-1]), "")
            self._say(200 if group else 204, group)
        elif path.startswith("/admin/v2/namespaces/") and path.endswith("/bundles"):
            self._cut(path.split("/")[-3:-1])
        elif path.endswith("/ownedNamespaces"):
            self._owned(path.split("/")[-2])
        elif path.startswith("/lookup/v2/topic/"):
            self._looked_up(path.removeprefix("/lookup/v2/topic/").replace("/", "://", 1))
        else:
            self._say(404, "")

    def do_PUT(self) -> None:
        parts = urlsplit(self.path)
        bundle = unquote(parts.path).removeprefix("/admin/v2/namespaces/").removesuffix("/unload")
        destination = parse_qs(parts.query).get("destinationBroker", [""])[0]
        cluster, leader = self.cluster, self.cluster.brokers[self.cluster.leader]
        if destination:
            if destination not in [each.id for each in cluster.brokers if each.is_registered]:
                reason = "Not allowed unload namespace bundle to inactive destination broker"
                self._say(409, json.dumps({"reason": reason}))
                return
            if self.broker is not leader:
                query = f"destinationBroker={quote(destination, safe='')}&authoritative=false"
                self._say(307, "", f"http://{leader.id}{parts.path}?{query}")
                return
            cluster.meant[bundle] = destination
        owner = cluster.owners[bundle]
        if owner is None:
            self._say(204, "")
        elif owner != self.broker.id:
            self._say(307, "", f"http://{owner}{parts.path}?authoritative=true")
        else:
            status = cluster.unload(bundle)
            self._say(status, "" if status == 204 else json.dumps({"reason": "is being unloaded"}))

    def _report(self) -> dict[str, object]:
        broker = self.broker
        owned = [name for name, of in self.cluster.owners.items() if of == broker.id]
        stats = {"msgRateIn": 1000.0, "msgRateOut": 1000.0, "topics": 3}
        stats |= {"msgThroughputIn": 1e6, "msgThroughputOut": 1e6}
        stats |= {"producerCount": 2, "consumerCount": 2, "cacheSize": 0}
        idle = {name: {"usage": 0.0, "limit": 100.0} for name in ("memory", "directMemory")}
        nic = {name: {"usage": 0.0, "limit": 50000.0} for name in ("bandwidthIn", "bandwidthOut")}
        usage = broker.usage_percent + self.cluster.bundle_percent * len(owned)
        return {
            "webServiceUrl": f"http://{broker.id}",
            "cpu": {"usage": min(100.0, usage), "limit": 100.0},
            **(idle | nic),
            **{name: len(owned) * value for name, value in stats.items() if "msg" in name},
            "bundles": owned,
            **{"numBundles": len(owned), "numTopics": 3 * len(owned)},
            **{"numProducers": 2 * len(owned), "numConsumers": 2 * len(owned)},
            "lastUpdate": time.time() * 1000,
            "startTimestamp": broker.started_s * 1000,
            "brokerVersionString": "2.10.4",
            "lastStats": dict.fromkeys(owned, stats),
        }

    def _metrics(self) -> str:
        labels = '{cluster="fake", broker="127.0.0.1", metric="loadBalancing"}'
        return (
            f"pulsar_lb_cpu_usage{labels} {self.broker.usage_percent}\n"
            f"pulsar_lb_directMemory_usage{labels} 8.333334\n"
            f'process_start_time_seconds{{cluster="fake"}} {self.broker.started_s:E}\n'
        )

    def _cut(self, name: list[str]) -> None:
        """Tell where a namespace is cut."""
        bundles = [each for each in self.cluster.owners if each.split("/")[:2] == name]
        bounds = sorted({at for each in bundles for at in each.rpartition("/")[2].split("_")})
        if bounds:
            self._say(200, json.dumps({"boundaries": bounds, "numBundles": len(bounds) - 1}))
        else:
            self._say(404, json.dumps({"reason": "Namespace does not exist"}))

    def _owned(self, name: str) -> None:
        if name != self.broker.id:
            self._say(307, "", f"http://{name}{self.path}")
            return
        own = f"pulsar/{name}/0x00000000_0xffffffff"
        with self.cluster.lock:
            held = [own, *(each for each, of in self.cluster.owners.items() if of == name)]
        self._say(200, json.dumps({each: {"is_active": True} for each in held}))

    def _looked_up(self, topic: str) -> None:
        code = zlib.crc32(topic.encode())
        for bundle in self.cluster.owners:
            first, last = (int(each, 16) for each in bundle.rpartition("/")[2].split("_"))
            if first <= code < last:
                owner = self.cluster.assign(bundle)
                told = {"httpUrl": f"http://{owner}"}
                self._say(500 if owner is None else 200, json.dumps(told))
                return
        self._say(404, "")

    def _say(self, status: int, body: str, location: str | None = None) -> None:
        content = body.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if location is not None:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(content)


def _leader(cluster: FakePulsar) -> dict[str, str]:
    """Give the answer of who leads."""
    name = cluster.brokers[cluster.leader].id
    return {"brokerId": name, "serviceUrl": f"http://{name}"}


@contextmanager
def fake_pulsar(n_brokers: int = 3, n_bundles: int = 6, busy: int = 3) -> Iterator[FakePulsar]:
    """Run a cluster; its first broker owns every bundle, and the first ones have clients."""
    cluster = FakePulsar()
    for _ in range(n_brokers):
        box: list[FakeBroker] = []
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(FakeRequest, (cluster, box)))
        server.daemon_threads = True
        box.append(FakeBroker(server))
        cluster.brokers.append(box[0])
        serving = partial(server.serve_forever, poll_interval=0.05)
        threading.Thread(target=serving, daemon=True).start()
    width = (1 << 32) // n_bundles
    for i in range(n_bundles):
        end = 0xFFFFFFFF if i == n_bundles - 1 else (i + 1) * width
        name = f"t/n/0x{i * width:08x}_0x{end:08x}"
        cluster.owners[name] = cluster.brokers[0].id
    cluster.busy = set(list(cluster.owners)[:busy])
    clients = threading.Thread(target=cluster.run_clients, daemon=True)
    clients.start()
    try:
        yield cluster
    finally:
        cluster.is_over.set()
        clients.join()
        for each in cluster.brokers:
            if each.killed_s is None:
                each.server.shutdown()
                each.server.server_close()
