"""One cluster has one lock: in the ZooKeeper that its own settings name, or nowhere unasked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fake_pulsar import FakePulsar, fake_pulsar
from trimtab.cli import main
from trimtab.live.apply.files import write_plan
from trimtab.live.apply.one_lock import own_store


@pytest.mark.parametrize(
    ("settings", "store"),
    [
        ({"metadataStoreUrl": "zk:127.0.1.250:2181"}, "zk://127.0.1.250:2181"),
        ({"metadataStoreUrl": "zk://z-1:2181,z-2:2181/pulsar"}, "zk://z-1:2181,z-2:2181/pulsar"),
        ({"metadataStoreUrl": "z-1:2181,z-2:2181"}, "zk://z-1:2181,z-2:2181"),
        ({"zookeeperServers": "z-1:2181/eu"}, "zk://z-1:2181/eu"),
        ({"metadataStoreUrl": "", "zookeeperServers": "z-1:2181"}, "zk://z-1:2181"),
        ({"metadataStoreUrl": "etcd:http://e-1:2379"}, None),
        ({"metadataStoreUrl": "oxia://o-1:6648/default"}, None),
        ({"metadataStoreUrl": "rocksdb:///pulsar/data"}, None),
        ({}, None),
    ],
)
def test_the_store_is_the_one_that_the_brokers_use(
    settings: dict[str, str], store: str | None
) -> None:
    assert own_store(settings) == store


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakePulsar]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIMTAB_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("trimtab.live.apply.one_lock.CONNECT_S", 0.5)
    with fake_pulsar(busy=6) as running:
        yield running


def apply(cluster: FakePulsar, *words: str) -> Result:
    write_plan(Path("plan.json"), cluster.plan(1))
    admin = ("--admin", f"http://{cluster.brokers[0].id}")
    return CliRunner().invoke(main, ["apply", "plan.json", *admin, *words])


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        # A port that nobody listens at.
        ({"metadataStoreUrl": "zk:127.0.0.1:9"}, "zk://127.0.0.1:9: no ZooKeeper answers"),
        ({"metadataStoreUrl": "oxia://o-1:6648"}, "its settings name no ZooKeeper"),
    ],
)
def test_without_the_clusters_lock_nothing_is_moved_unasked(
    cluster: FakePulsar, settings: dict[str, str], why: str
) -> None:
    cluster.settings = settings
    refused = apply(cluster, "--yes")

    assert refused.exit_code == 2
    assert why in refused.stderr
    assert "--lock-here" in refused.stderr
    assert cluster.unloads.total() == 0
    assert not Path("state").exists()

    # A look is free, and says what would come of it.
    looked = apply(cluster)
    assert looked.exit_code == 1
    assert why in looked.stderr

    asked_for = apply(cluster, "--lock-here", "--yes")
    assert asked_for.exit_code == 0, asked_for.output
    assert "warning: --lock-here: " in asked_for.stderr
    assert cluster.unloads.total() == 1


def test_a_lock_is_in_one_place(cluster: FakePulsar) -> None:
    both = apply(cluster, "--lock-here", "--metadata", "zk://127.0.0.1:9", "--yes")

    assert both.exit_code == 2
    assert "--lock-here: found with --metadata, expected one of them" in both.stderr
