"""Starts a cluster, changes it and stops it: ZooKeeper, a bookie and brokers on one machine."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from string import Template
from types import FrameType

from cluster import places, tokens
from cluster.java import BUILD, HERE, ClusterError, Memory, command
from cluster.processes import end, end_all, start
from cluster.quick import HOST_USAGE, ROUNDS, TRANSFERS, quickened
from cluster.state import NUMBER, State, broker_id, host, is_known, load, log, store, web

FOLDER = BUILD / ("run" if NUMBER == 1 else f"run{NUMBER}")
_READY_S = 180.0
_POLL_S = 0.2
_ZOOKEEPER = Memory(heap=96, direct=32)
_BOOKIE = Memory(heap=128, direct=96)
_SETUP = Memory(heap=96, direct=64)
_ZOOKEEPER_PORT = 2181
#: A bookie listens at every address of the machine, so each cluster has a port of its own.
_BOOKIE_PORT = 3180 + NUMBER


def up(state: State, n_brokers: int) -> State:
    """Start a cluster anew, and return when every broker serves.

    What an earlier one left in the folder is stopped and removed.  If anything goes wrong,
    or the start is interrupted, all that was started is stopped again.

    Raises:
        ClusterError: a process does not come up; the message names its log.
    """
    prepare(state)
    with stopped_on_failure(state.folder):
        places.make_for_store(state)
        for port in (_ZOOKEEPER_PORT, _BOOKIE_PORT):
            _require_free(store(state.network), port)
        for number in range(1, n_brokers + 1):
            places.make_for_broker(state, number)
            _require_free(host(number, state.network), 8080)
        _start_store(state)
        for number in range(1, n_brokers + 1):
            _start_broker(state, number)
        for number in range(1, n_brokers + 1):
            _wait_for_broker(state, number)
    state.acted("cluster_up", brokers=[_id(state, i + 1) for i in range(n_brokers)])
    return state


def prepare(state: State) -> None:
    """Make an empty folder for a cluster, and stop what an earlier one left in it.

    Quirks:
        Namespaces have the same names for every cluster, so one that another left is stopped too.
    """
    for folder in (state.folder, *_of_namespaces(state)):
        if is_known(folder):
            down(folder)
    shutil.rmtree(state.folder, ignore_errors=True)
    for part in ("conf", "zookeeper", "bookie"):
        (state.folder / part).mkdir(parents=True)
    state.save()


def _of_namespaces(state: State) -> list[Path]:
    """Return the folders beside a cluster's own whose clusters have the names that it needs."""
    if state.mode == "plain":
        return []
    beside = [path.parent for path in sorted(state.folder.parent.glob("run*/state.json"))]
    return [it for it in beside if it != state.folder and load(it).mode == state.mode]


def down(folder: Path) -> int:
    """Stop every process of a cluster, remove what it made; return how many there were.

    Raises:
        ClusterError: nothing was started in the folder, or something cannot be removed.
    """
    state = load(folder)
    places.require_rights(state)
    running = [each for each in state.processes.values() if each.is_alive]
    # Nothing of it is kept, so nobody has to leave in good order.
    end_all(running, signal.SIGKILL)
    state.processes.clear()
    state.save()
    places.clear(state)
    return len(running)


def add(state: State) -> int:
    """Start one broker more, and return its number when it serves."""
    numbers = [int(name.removeprefix("broker")) for name in _brokers(state)]
    number = max(numbers, default=0) + 1
    begin(state, number)
    return number


def begin(state: State, number: int) -> None:
    """Start a broker that is not running, and return when it serves."""
    state.acted("broker_start", broker=_id(state, number))
    _start_broker(state, number)
    _wait_for_broker(state, number)
    state.acted("broker_ready", broker=_id(state, number))


def leave(state: State, number: int, with_signal: signal.Signals) -> float:
    """End a broker, in good order (SIGTERM) or not (SIGKILL); return the seconds it took."""
    name = f"broker{number}"
    process = state.processes.get(name)
    if process is None or not process.is_alive:
        running = ", ".join(_brokers(state)) or "none"
        raise ClusterError(f"found no {name} running, expected one of: {running}")
    event = "broker_kill" if with_signal is signal.SIGKILL else "broker_stop"
    state.acted(event, broker=_id(state, number))
    took_s = end(process, with_signal)
    del state.processes[name]
    state.save()
    state.acted("broker_gone", broker=_id(state, number))
    return took_s


@contextlib.contextmanager
def stopped_on_failure(folder: Path) -> Iterator[None]:
    """Stop the cluster of a folder if the block fails, is interrupted or is asked to end."""

    def asked_to_end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, asked_to_end)
    try:
        yield
    except BaseException:
        down(folder)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def start_zookeeper(state: State) -> str:
    """Start ZooKeeper, on the files that it left if it ran before; return its address.

    Raises:
        ClusterError: it does not come up.
    """
    address = store(state.network)
    zoo_cfg = _conf(state, "zoo.cfg")
    _start(
        state, "zookeeper", _ZOOKEEPER, ["org.apache.zookeeper.server.ZooKeeperServerMain", zoo_cfg]
    )
    _wait(state, "zookeeper", lambda: _is_open(address, _ZOOKEEPER_PORT))
    return f"{address}:{_ZOOKEEPER_PORT}"


def _start_store(state: State) -> None:
    """Start ZooKeeper and the bookie, and write what a new cluster needs into the store."""
    metadata = f"zk:{start_zookeeper(state)}"
    arguments = [
        *("org.apache.pulsar.PulsarClusterMetadataSetup", "--cluster", state.name),
        *("--metadata-store", metadata, "--configuration-metadata-store", metadata),
        *("--web-service-url", web(1, state.network)),
        *("--broker-service-url", f"pulsar://{host(1, state.network)}:6650"),
    ]
    printed = _printed(state, "setup")
    with printed.open("wb") as out:
        setup = [*places.beginning(state, "setup"), *_java(state, "setup", _SETUP), *arguments]
        done = subprocess.run(setup, stdout=out, stderr=out, check=False, timeout=_READY_S)
    if done.returncode != 0:
        raise ClusterError(f"the store could not be set up: see {printed}")
    conf = _conf(state, "bookkeeper.conf")
    _start(state, "bookie", _BOOKIE, ["org.apache.bookkeeper.server.Main", "--conf", conf])
    _wait(state, "bookie", lambda: _is_open(store(state.network), _BOOKIE_PORT))


def _start_broker(state: State, number: int) -> None:
    name = f"broker{number}"
    places.make_for_broker(state, number)
    conf = _conf(state, "broker.conf", f"{name}.conf", host=host(number, state.network))
    asked = places.settings(state)
    if state.asks_for_tokens:
        asked |= tokens.settings(state.folder)
    with Path(conf).open("a", encoding="utf-8") as file:
        # Of a key that stands twice the last counts.
        file.writelines(f"{key}={value}\n" for key, value in {**asked, **state.settings}.items())
    arguments = ["org.apache.pulsar.PulsarBrokerStarter", "--broker-conf", conf]
    _start(state, name, state.memory, arguments)


def _wait_for_broker(state: State, number: int) -> None:
    _wait(state, f"broker{number}", lambda: _is_ready(web(number, state.network)))


def _start(state: State, name: str, memory: Memory, arguments: list[str]) -> None:
    printed = _printed(state, name)
    begun = [*places.beginning(state, name), *_java(state, name, memory), *arguments]
    state.processes[name] = start(begun, printed)
    state.save()


def _java(state: State, name: str, memory: Memory) -> list[str]:
    properties = {
        "trimtab.log": str(_log(state, name)),
        "log4j.configurationFile": str(HERE / "conf" / "log4j2.xml"),
    }
    asked = dict.fromkeys((ROUNDS, TRANSFERS), state.is_quick)
    asked[HOST_USAGE] = state.is_sampled_quickly
    parts = [part for part, is_asked in asked.items() if is_asked and name.startswith("broker")]
    before = dict.fromkeys(quickened(state.release, part) for part in parts)
    return command(state.release, memory, properties, tuple(before))


def _printed(state: State, name: str) -> Path:
    """Return where what a process prints goes, beside its log."""
    printed = _log(state, name).with_name("printed.txt")
    printed.parent.mkdir(parents=True, exist_ok=True)
    return printed


def _conf(state: State, template: str, name: str | None = None, **more: str) -> str:
    text = (HERE / "conf" / template).read_text(encoding="utf-8")
    path = state.folder / "conf" / (name or template)
    where = {"folder": str(state.folder), "store": store(state.network), "bookie": _BOOKIE_PORT}
    known = {**where, "name": state.name, **more}
    path.write_text(Template(text).substitute(known), encoding="utf-8")
    return str(path)


def _wait(state: State, name: str, is_up: Callable[[], bool]) -> None:
    """Wait until a process serves."""
    last = time.monotonic() + _READY_S
    while not is_up():
        if not state.processes[name].is_alive:
            raise ClusterError(f"{name} ended: see {_log(state, name).parent}")
        if time.monotonic() > last:
            folder = _log(state, name).parent
            raise ClusterError(f"{name} does not serve after {_READY_S:.0f} s: see {folder}")
        time.sleep(_POLL_S)


def _is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/admin/v2/brokers/ready", timeout=5) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError as error:
        # It asks who we are, and so is up.
        return error.code == HTTPStatus.UNAUTHORIZED
    except (urllib.error.URLError, OSError):
        return False


def _is_open(address: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((address, port)) == 0


def _require_free(address: str, port: int) -> None:
    if _is_open(address, port):
        raise ClusterError(
            f"{address}:{port} is taken, expected it free: another cluster runs; stop it first"
        )


def _id(state: State, number: int) -> str:
    return broker_id(number, state.network)


def _log(state: State, name: str) -> Path:
    return log(state.folder, name, state.network)


def _brokers(state: State) -> list[str]:
    """Name the brokers that were started and not ended."""
    return [name for name in state.processes if name.startswith("broker")]
