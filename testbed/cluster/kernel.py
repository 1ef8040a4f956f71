"""A network namespace and a group of processes (cgroup) for each broker of a cluster.

So each broker reports CPU and network traffic of its own, not those of the whole machine.
Namespaces hang on one bridge, which has no port to the outside; the machine itself is on it
with the store's address, so whoever asks a broker needs to enter nothing.

All that is made is noted in the cluster's state before, and is removed by that note alone.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cluster.java import ClusterError

GROUPS = Path("/sys/fs/cgroup")
#: What is in these exists as long as it has not been removed.
FOLDERS = {"link": "/sys/class/net", "namespace": "/run/netns", "group": "/"}
#: Of one name each thing is at most once on a machine, and so is a cluster of this kind.
BRIDGE = "trimtab0"
_TOOLS = {"ip": "iproute2", "nsenter": "util-linux", "unshare": "util-linux", "mount": "mount"}
_CONTROLLERS = ("cpu", "cpuacct")
_POLL_S = 0.05
_REMOVAL_S = 5.0
#: A group competes with each single thread that is in none, and those weigh 1: a broker that
#: weighed no more would starve beside a busy program, and the store beside the brokers.
_WEIGHTS = {"broker": 4, "store": 8}
#: What 1 is in the files that the two versions have for it.
_UNITS = {"cpu.shares": 1024, "cpu.weight": 100}
#: Groups stay in sight of a broker while it sees the network cards of its namespace alone.
_VIEW = (
    'set -e; mount --rbind /sys/fs/cgroup "$1"; mount -t sysfs sysfs /sys; '
    'mount --rbind "$1" /sys/fs/cgroup; shift; exec "$@"'
)


@dataclass(frozen=True, slots=True)
class Made:
    """Something in the kernel that stays until it is removed."""

    kind: Literal["link", "namespace", "group"]
    #: Of a group it is the path.
    name: str

    @property
    def path(self) -> Path:
        """Return what exists as long as it does."""
        return Path(FOLDERS[self.kind], self.name)


@dataclass(frozen=True, slots=True)
class Step:
    """A command, and what there is once it has run."""

    command: tuple[str, ...]
    makes: Made | None = None


def namespace(number: int) -> str:
    """Name the network namespace of a broker."""
    return f"trimtab-broker{number}"


def bridge_steps(address: str) -> list[Step]:
    """Return what makes the bridge, with the machine on it at an address."""
    return [
        Step(_words(f"ip link add {BRIDGE} type bridge"), Made("link", BRIDGE)),
        Step(_words(f"ip address add {address}/24 dev {BRIDGE}")),
        Step(_words(f"ip link set {BRIDGE} up")),
    ]


def broker_steps(number: int, address: str) -> list[Step]:
    """Return what makes a broker's namespace and hangs it on the bridge.

    Quirks:
        No route leads out of it, so nothing that a broker sends leaves the machine.
    """
    inside, outside = namespace(number), f"trimtab{number}"
    peer = f"type veth peer name eth0 netns {inside}"
    return [
        Step(_words(f"ip netns add {inside}"), Made("namespace", inside)),
        Step(_words(f"ip link add {outside} {peer}"), Made("link", outside)),
        Step(_words(f"ip link set {outside} master {BRIDGE} up")),
        Step(_words(f"ip -n {inside} address add {address}/24 dev eth0")),
        Step(_words(f"ip -n {inside} link set eth0 up")),
        Step(_words(f"ip -n {inside} link set lo up")),
    ]


def hierarchies() -> list[Path]:
    """Return the folders in which a group for CPU is made: one of version 2, else two.

    Raises:
        ClusterError: there are none, or they cannot be written.
    """
    if (GROUPS / "cgroup.controllers").exists():
        found = [GROUPS]
    else:
        # They may be two names of one.
        found = sorted({(GROUPS / each).resolve() for each in _CONTROLLERS})
    for folder in found:
        if not folder.is_dir():
            raise ClusterError(f"no {folder}, expected cgroups of version 2, or cpu and cpuacct")
        if not os.access(folder, os.W_OK):
            raise ClusterError(f"{folder} cannot be written, expected groups that root can make")
    return found


def groups(kind: str, number: int | None = None) -> list[Made]:
    """Return the groups of a broker, or of the store if there is no number."""
    name = f"trimtab-{kind}{number or ''}"
    return [Made("group", str(folder / name)) for folder in hierarchies()]


def weigh(group: Made, kind: str) -> None:
    """Give a group the weight of its kind, where the kernel weighs groups at all."""
    for name, unit in _UNITS.items():
        if (file := group.path / name).exists():
            file.write_text(str(_WEIGHTS[kind] * unit), encoding="utf-8")


def in_groups(made: list[Made]) -> list[str]:
    """Return the beginning of a command that is to run in groups."""
    enters = [f"echo $$ > {shlex.quote(str(each.path / 'cgroup.procs'))}" for each in made]
    return ["sh", "-c", "; ".join(["set -e", *enters, 'exec "$@"']), "sh"]


def in_namespace(number: int, spare: Path) -> list[str]:
    """Return the beginning of a command that is to run in a broker's namespace.

    Args:
        number: the broker's.
        spare: an empty folder; what is mounted there only the command sees.
    """
    enter = ["nsenter", f"--net=/run/netns/{namespace(number)}", "unshare", "--mount"]
    return [*enter, "sh", "-c", _VIEW, "sh", str(spare)]


def join(made: list[Made]) -> None:
    """Go into groups, with this process."""
    for group in made:
        (group.path / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")


def run(step: Step) -> None:
    """Run a step.

    Raises:
        ClusterError: the kernel refuses; the message is the command's.
    """
    done = subprocess.run(step.command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise ClusterError(f"`{shlex.join(step.command)}` failed: {said}")


def removal(made: Made) -> tuple[str, ...]:
    """Return the command that removes something."""
    commands = {"link": "ip link delete", "namespace": "ip netns delete", "group": "rmdir"}
    return (*_words(commands[made.kind]), made.name)


def remove(made: Made) -> None:
    """Remove something, if it is still there, and return when it has gone.

    Raises:
        ClusterError: it stays.
    """
    last = time.monotonic() + _REMOVAL_S
    while made.path.exists():
        if made.kind == "group":
            _empty(made.path)
        try:
            run(Step(removal(made)))
        except ClusterError:
            # A process that was killed may take a moment to leave.
            if time.monotonic() > last:
                raise
            time.sleep(_POLL_S)


def obstacle() -> str | None:
    """Return why there can be neither namespaces nor groups here; None if there can be."""
    if os.geteuid() != 0:
        return f"found user {os.geteuid()}, expected root (MODE=plain needs none)"
    for tool, package in _TOOLS.items():
        if shutil.which(tool) is None:
            return f"no {tool} on PATH: install {package}"
    try:
        hierarchies()
        # It ends at once, and its namespaces with it.
        run(Step(_words("unshare --net --mount mount -t sysfs sysfs /sys")))
    except ClusterError as error:
        return str(error)
    return None


def require_free(made: Made) -> None:
    """See that a name is nobody's yet.

    Raises:
        ClusterError: there is something of the name, which then is not ours to remove.
    """
    if made.path.exists():
        raise ClusterError(
            f"found {made.path}, expected none: another cluster runs; stop it first "
            f"(if one has left it behind, `{shlex.join(removal(made))}` removes it)"
        )


def require_unrouted(network: str) -> None:
    """See that the machine knows no way to the addresses of a cluster.

    Raises:
        ClusterError: it does, so that they are somebody else's.
    """
    for which in ("root", "match"):
        ask = _words(f"ip -o route show to {which} {network}.0/24")
        routes = subprocess.run(ask, check=False, capture_output=True, text=True).stdout
        for route in routes.splitlines():
            if not route.startswith("default"):
                raise ClusterError(f"found the route `{route.strip()}`, expected none there")


def _empty(group: Path) -> None:
    """Put whoever is still in a group, which none of a cluster's processes is, one up."""
    # Where there is no such file rmdir tells what is wrong; a process may end meanwhile.
    with contextlib.suppress(OSError):
        for pid in (group / "cgroup.procs").read_text(encoding="utf-8").split():
            (group.parent / "cgroup.procs").write_text(pid, encoding="utf-8")


def _words(command: str) -> tuple[str, ...]:
    return tuple(command.split())
