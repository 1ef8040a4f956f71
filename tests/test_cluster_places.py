"""Namespaces and groups for the brokers of a real cluster, as far as no kernel is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cluster import kernel, places
from cluster.java import ClusterError
from cluster.kernel import Made, Step
from cluster.run import down, prepare, stopped_on_failure
from cluster.state import LOOPBACK, State, broker_id, load, log, store

BROKER = """\
ip netns add trimtab-broker2
ip link add trimtab2 type veth peer name eth0 netns trimtab-broker2
ip link set trimtab2 master trimtab0 up
ip -n trimtab-broker2 address add 198.18.1.2/24 dev eth0
ip -n trimtab-broker2 link set eth0 up
ip -n trimtab-broker2 link set lo up"""
BRIDGE = """\
ip link add trimtab0 type bridge
ip address add 198.18.1.250/24 dev trimtab0
ip link set trimtab0 up"""
#: What two brokers leave behind, the last first.
REMOVED = """\
rmdir GROUPS/cpuacct/trimtab-broker2
rmdir GROUPS/cpu/trimtab-broker2
ip link delete trimtab2
ip netns delete trimtab-broker2
rmdir GROUPS/cpuacct/trimtab-broker1
rmdir GROUPS/cpu/trimtab-broker1
ip link delete trimtab1
ip netns delete trimtab-broker1
rmdir GROUPS/cpuacct/trimtab-store
rmdir GROUPS/cpu/trimtab-store
ip link delete trimtab0"""


class FakeKernel:
    """Folders and files of a test instead of links, namespaces and groups."""

    def __init__(self, folder: Path) -> None:
        self.groups = folder / "groups"
        self.ran: list[str] = []
        self.refuses = ""
        for name in ("cpu", "cpuacct"):
            (self.groups / name).mkdir(parents=True)

    def run(self, step: Step) -> None:
        command = " ".join(step.command)
        if self.refuses and self.refuses in command:
            raise ClusterError(f"refused: {command}")
        self.ran.append(command.replace(str(self.groups), "GROUPS"))
        if step.makes is not None:
            step.makes.path.touch()
        elif "delete" in command or "rmdir" in command:
            self._remove(step.command)

    @staticmethod
    def _remove(command: tuple[str, ...]) -> None:
        kind = {"link": "link", "netns": "namespace"}.get(command[1])
        if kind is None:
            shutil.rmtree(command[-1])
        else:
            Path(kernel.FOLDERS[kind], command[-1]).unlink()


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    made = FakeKernel(tmp_path)
    monkeypatch.setattr(kernel, "GROUPS", made.groups)
    monkeypatch.setattr(kernel, "run", made.run)
    monkeypatch.setattr(kernel, "_REMOVAL_S", 0.0)
    monkeypatch.setattr(kernel, "obstacle", lambda: None)
    monkeypatch.setattr(kernel, "require_unrouted", lambda network: None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for kind in ("link", "namespace"):
        (tmp_path / kind).mkdir()
        monkeypatch.setitem(kernel.FOLDERS, kind, str(tmp_path / kind))
    return made


@pytest.fixture
def state(tmp_path: Path) -> State:
    folder = tmp_path / "run"
    folder.mkdir()
    made = State(folder, mode="namespaces")
    made.save()
    return made


def make(state: State, n_brokers: int = 2) -> None:
    places.make_for_store(state)
    for number in range(1, n_brokers + 1):
        places.make_for_broker(state, number)


# ---------------------------------------------------------------- names and commands


def test_addresses_go_by_the_mode(tmp_path: Path, state: State) -> None:
    assert State(tmp_path).network == LOOPBACK
    assert broker_id(3, state.network) == "198.18.1.3:8080"
    assert store(state.network) == "198.18.1.250"
    folder = tmp_path / "logs" / "198.18.1.3_8080"
    assert log(tmp_path, "broker3", state.network) == folder / "pulsar.log"


def test_the_commands_that_are_run(fake: FakeKernel, state: State) -> None:
    make(state)

    ran = "\n".join(fake.ran)
    assert ran == "\n".join([BRIDGE, BROKER.replace("2", "1").replace("/14", "/24"), BROKER])


def test_a_name_of_a_link_is_as_short_as_the_kernel_wants_it() -> None:
    made = [step.makes for step in kernel.broker_steps(200, "198.18.1.200")]

    assert [len(each.name) < 16 for each in made if each and each.kind == "link"] == [True]


def test_in_plain_mode_nothing_is_made(fake: FakeKernel, tmp_path: Path) -> None:
    state = State(tmp_path)

    make(state)

    assert (fake.ran, state.made, places.beginning(state, "broker1")) == ([], [], [])
    assert places.settings(state) == {}


def test_a_brokers_command_enters_groups_first_then_its_namespace(
    fake: FakeKernel, state: State
) -> None:
    shell, _, script, name, *rest = places.beginning(state, "broker2")

    assert (shell, name) == ("sh", "sh")
    assert [str(fake.groups / each / "trimtab-broker2") in script for each in ("cpu", "cpuacct")]
    assert rest[:4] == ["nsenter", "--net=/run/netns/trimtab-broker2", "unshare", "--mount"]
    assert rest[-1] == str(state.folder / "cgroup")
    assert (state.folder / "cgroup").is_dir()


def test_the_store_enters_groups_alone(fake: FakeKernel, state: State) -> None:
    for name in ("zookeeper", "setup", "bookie"):
        assert "trimtab-store" in places.beginning(state, name)[2]
        assert len(places.beginning(state, name)) == 4


def test_who_is_in_the_group_is_the_command_itself(tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    folder.mkdir()
    begun = kernel.in_groups([Made("group", str(folder))])

    said = subprocess.run([*begun, "sh", "-c", "echo $$"], check=True, capture_output=True)

    assert (folder / "cgroup.procs").read_bytes() == said.stdout


def test_one_joins_the_store(fake: FakeKernel, state: State) -> None:
    make(state)

    places.join_store(state)

    for name in ("cpu", "cpuacct"):
        procs = fake.groups / name / "trimtab-store" / "cgroup.procs"
        assert procs.read_text() == str(os.getpid())


# ----------------------------------------------------------------------------- groups


def test_groups_of_version_2_are_one_each(fake: FakeKernel) -> None:
    (fake.groups / "cgroup.controllers").write_text("cpu\n")

    assert kernel.groups("broker", 1) == [Made("group", f"{fake.groups}/trimtab-broker1")]


def test_two_names_of_one_hierarchy_count_once(fake: FakeKernel) -> None:
    (fake.groups / "cpuacct").rmdir()
    (fake.groups / "cpuacct").symlink_to("cpu")

    assert kernel.groups("store") == [Made("group", f"{fake.groups}/cpu/trimtab-store")]


@pytest.mark.parametrize(
    ("file", "kind", "weight"),
    [
        ("cpu.shares", "broker", "4096"),
        ("cpu.shares", "store", "8192"),
        ("cpu.weight", "broker", "400"),
        ("cpu.weight", "store", "800"),
    ],
)
def test_a_group_weighs_more_than_a_single_thread(
    tmp_path: Path, file: str, kind: str, weight: str
) -> None:
    (tmp_path / file).write_text("?")

    kernel.weigh(Made("group", str(tmp_path)), kind)

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {file: weight}


def test_there_are_no_groups_for_cpu(fake: FakeKernel) -> None:
    (fake.groups / "cpu").rmdir()

    with pytest.raises(ClusterError, match=r"no .*/cpu, expected cgroups of version 2, or cpu and"):
        kernel.hierarchies()


def test_groups_cannot_be_written(fake: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    with pytest.raises(ClusterError, match="cpu cannot be written, expected groups that root"):
        kernel.hierarchies()


# ------------------------------------------------------------------ what stands against it


def test_only_root_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert kernel.obstacle() == "found user 1000, expected root (MODE=plain needs none)"


def test_a_tool_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert kernel.obstacle() == "no ip on PATH: install iproute2"


def test_what_stands_against_it_is_said_before_anything_is_made(
    fake: FakeKernel, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "obstacle", lambda: "no ip on PATH")

    with pytest.raises(ClusterError, match="no ip on PATH"):
        places.make_for_store(state)

    assert (fake.ran, state.made) == ([], [])


def says(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Have a program named ip that does what a script says."""
    program = folder / "ip"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_what_the_kernel_refuses_is_said_in_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(tmp_path, monkeypatch, "echo Operation not permitted >&2; exit 1")

    with pytest.raises(ClusterError, match="`ip netns add trimtab-broker1` failed: Operation not"):
        kernel.run(kernel.broker_steps(1, "198.18.1.1")[0])


def test_addresses_that_somebody_has_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(tmp_path, monkeypatch, "echo 'default via 192.0.2.1'; echo '198.18.0.0/15 dev tun0 '")

    with pytest.raises(ClusterError, match=r"found the route `198.18.0.0/15 dev tun0`, expected"):
        kernel.require_unrouted("198.18.1")


def test_another_cluster_is_named_before_its_route(
    fake: FakeKernel, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(network: str) -> None:
        raise ClusterError("found the route")

    monkeypatch.setattr(kernel, "require_unrouted", refuse)
    Path(kernel.FOLDERS["link"], kernel.BRIDGE).touch()

    with pytest.raises(ClusterError, match="another cluster runs; stop it first"):
        places.make_for_store(state)


def test_a_way_to_everywhere_is_no_way_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(tmp_path, monkeypatch, "echo 'default via 192.0.2.1 dev eth0'")

    kernel.require_unrouted("198.18.1")


# ---------------------------------------------------------------------------- removal


def test_all_that_was_made_is_removed_the_last_first(fake: FakeKernel, state: State) -> None:
    make(state)
    fake.ran.clear()

    assert down(state.folder) == 0

    assert "\n".join(fake.ran) == REMOVED
    assert load(state.folder).made == []


@pytest.mark.parametrize("step", [*BRIDGE.splitlines(), *BROKER.splitlines()])
def test_a_start_that_fails_leaves_nothing(fake: FakeKernel, state: State, step: str) -> None:
    fake.refuses = step

    with pytest.raises(ClusterError, match="refused"), stopped_on_failure(state.folder):
        make(state)

    left = [path for kind in ("link", "namespace") for path in Path(kernel.FOLDERS[kind]).iterdir()]
    assert left == []
    assert list(fake.groups.glob("*/trimtab-*")) == []
    assert load(state.folder).made == []


@pytest.mark.parametrize("taken", ["link/trimtab0", "namespace/trimtab-broker1"])
def test_what_has_our_name_and_is_not_ours_stays(
    fake: FakeKernel, state: State, tmp_path: Path, taken: str
) -> None:
    (tmp_path / taken).touch()

    said = f"found .*{taken}, expected none.*`ip .* delete"
    with pytest.raises(ClusterError, match=said), stopped_on_failure(state.folder):
        make(state)

    assert (tmp_path / taken).exists()
    assert load(state.folder).made == []


def test_a_broker_that_comes_back_finds_its_place(fake: FakeKernel, state: State) -> None:
    make(state)
    fake.ran.clear()

    places.make_for_broker(state, 2)

    assert fake.ran == []


def test_what_cannot_be_removed_is_tried_again_the_next_time(
    fake: FakeKernel, state: State
) -> None:
    make(state)
    fake.refuses = "netns delete trimtab-broker1"

    with pytest.raises(ClusterError, match="refused"):
        prepare(state)

    assert load(state.folder).made[-1] == Made("namespace", "trimtab-broker1")
    fake.refuses = ""
    prepare(State(state.folder))
    assert load(state.folder).made == []


def test_what_has_gone_by_itself_is_not_removed(fake: FakeKernel, state: State) -> None:
    make(state)
    Path(kernel.FOLDERS["link"], "trimtab1").unlink()
    fake.ran.clear()

    places.clear(state)

    assert "ip link delete trimtab1" not in fake.ran
    assert len(fake.ran) == len(REMOVED.splitlines()) - 1


def test_who_is_still_in_a_group_is_put_out_and_lives(fake: FakeKernel, state: State) -> None:
    make(state)
    (fake.groups / "cpu" / "trimtab-store" / "cgroup.procs").write_text("4711\n")

    places.clear(state)

    assert (fake.groups / "cpu" / "cgroup.procs").read_text() == "4711"


def test_what_root_started_only_root_stops(
    fake: FakeKernel, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(state)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with pytest.raises(ClusterError, match="root started the cluster, so only root can stop it"):
        down(state.folder)

    assert load(state.folder).made == state.made
