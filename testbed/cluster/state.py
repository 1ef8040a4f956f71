"""What runs, in one file, so that any command finds it and an interrupted one leaves it behind."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from cluster.java import ClusterError, Memory
from cluster.kernel import Made
from cluster.processes import Process

Mode = Literal["plain", "namespaces"]
#: Which cluster of this machine a process speaks of, from 1 on; tests run some side by side.
NUMBER = int(os.environ.get("TRIMTAB_CLUSTER", "1"))
#: The first three numbers of all addresses of a cluster, by its mode.  The second are some
#: that were set aside for measurements between machines, so that they are nobody's.
NETWORKS: dict[Mode, str] = {"plain": f"127.0.{NUMBER}", "namespaces": "198.18.1"}
LOOPBACK = NETWORKS["plain"]
BROKERS_MAX = 200
WEB_PORT = 8080


def store(network: str = LOOPBACK) -> str:
    """Return where ZooKeeper and the bookie listen."""
    return f"{network}.250"


STORE = store()


@dataclass
class State:
    """A cluster: what it was asked to be, and which processes it is."""

    folder: Path
    name: str = "loopback"
    release: str = "4.0.8"
    #: Whether the brokers share the machine, or each has its own part of it, see `kernel.py`.
    mode: Mode = "plain"
    #: Of each broker.
    memory: Memory = field(default_factory=lambda: Memory(heap=192, direct=96))
    #: Keys of broker.conf that differ from conf/broker.conf.
    settings: dict[str, str] = field(default_factory=dict)
    #: The leader's shedding task counts its interval in seconds, see `quick.py`.
    is_quick: bool = False
    #: Brokers look at CPU and network cards with the interval counted in seconds.
    is_sampled_quickly: bool = False
    #: The processor that all brokers run on; None: any.
    broker_processor: int | None = None
    #: Everybody needs a token, see `tokens.py`.
    asks_for_tokens: bool = False
    processes: dict[str, Process] = field(default_factory=dict)
    #: In the order in which it was made.
    made: list[Made] = field(default_factory=list)

    @property
    def network(self) -> str:
        """Return the first three numbers of its addresses."""
        return NETWORKS[self.mode]

    def save(self) -> None:
        """Write the file at once or not at all."""
        written = asdict(self) | {"folder": str(self.folder)}
        draft = self.folder / "state.json.draft"
        draft.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
        os.replace(draft, _file(self.folder))

    def acted(self, event: str, **detail: object) -> None:
        """Note what was done to the cluster, as actions.jsonl of a recording has it."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        with (self.folder / "actions.jsonl").open("a", encoding="utf-8") as actions:
            actions.write(json.dumps({"time": time, "event": event, **detail}) + "\n")


def is_known(folder: Path) -> bool:
    """Return whether a cluster was ever started in a folder."""
    return _file(folder).exists()


def load(folder: Path) -> State:
    """Read what runs in a folder.

    Raises:
        ClusterError: nothing was started there.
    """
    if not is_known(folder):
        raise ClusterError(f"no cluster in {folder}: start one with `make pulsar-up`")
    found = json.loads(_file(folder).read_text(encoding="utf-8"))
    found["folder"] = folder
    found["memory"] = Memory(**found["memory"])
    found["processes"] = {key: Process(**it) for key, it in found["processes"].items()}
    found["made"] = [Made(**it) for it in found.get("made", [])]
    return State(**found)


def host(number: int, network: str = LOOPBACK) -> str:
    """Return the address of a broker, which are counted from 1."""
    if not 1 <= number <= BROKERS_MAX:
        raise ClusterError(f"found broker {number}, expected a number from 1 to {BROKERS_MAX}")
    return f"{network}.{number}"


def broker_id(number: int, network: str = LOOPBACK) -> str:
    """Return what Pulsar calls a broker."""
    return f"{host(number, network)}:{WEB_PORT}"


def web(number: int, network: str = LOOPBACK) -> str:
    """Return the address of a broker's admin API."""
    return f"http://{broker_id(number, network)}"


def log(folder: Path, part: str, network: str = LOOPBACK) -> Path:
    """Return where a process logs; a broker's folder is named as `trimtab gather` names it."""
    number = part.removeprefix("broker")
    if number.isdigit():
        name = broker_id(int(number), network).replace(":", "_")
        return folder / "logs" / name / "pulsar.log"
    return folder / "logs-of-others" / part / f"{part}.log"


def _file(folder: Path) -> Path:
    return folder / "state.json"
