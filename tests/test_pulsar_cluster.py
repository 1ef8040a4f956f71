"""A real cluster is driven, hurt, recorded and explained.

Three brokers of 4.0.8 are under load.  One that does not lead is killed; its bundles go to
the other two.  It comes back with nothing, and a few new topics are placed on it.  From then
on it has far less traffic than the others, and the leader sheds to it.  All this is recorded
by `trimtab gather`, which must miss nothing, and explained: the rounds are recomputed to the
last digit from what was recorded.
"""

from __future__ import annotations

import gzip
import json
import signal
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from beside import ROOT, WAIT_S, running, trimtab, wait_until
from loopback_cluster import asked, load_report

pytestmark = pytest.mark.pulsar

PROFILES = ROOT / "testbed" / "cluster" / "profiles"


def rate(address: str) -> float:
    report = load_report(address)
    return float(report["msgRateIn"]) + float(report["msgRateOut"])


def unload_lines(folder: Path) -> int:
    """Count as `zgrep -c` would, without any of our parsers."""
    count = 0
    for log in sorted(folder.glob("*/pulsar.log*")):
        content = gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
        count += content.count(b"Unloading bundle: ")
    return count


def stands_still(folder: Path) -> bool:
    """Tell whether there were unloads, and none in the last seconds."""
    before = unload_lines(folder)
    time.sleep(5)
    return 0 < before == unload_lines(folder)


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The recording of it all, and what `gather` said in the end."""
    from cluster.run import FOLDER, begin, leave, stopped_on_failure, up
    from cluster.state import STORE, State, broker_id, web

    output = tmp_path_factory.mktemp("cluster") / "night"
    logs = FOLDER / "logs"
    # It goes on running, for the tests that move bundles on it.
    with stopped_on_failure(FOLDER):
        state = up(State(FOLDER), 3)
        with running("-m", "cluster.load", str(PROFILES / "steady.toml")):
            wait_until("traffic", lambda: all(rate(web(i)) > 10 for i in (1, 2, 3)))
            gathering = (
                *("trimtab", "gather", "--admin", web(1), "--metadata", f"zk://{STORE}:2181"),
                *("--every", "5s", "--logs", str(logs), "-o", str(output)),
                *("--zookeeper-data", str(FOLDER / "zookeeper"), "--for", f"{WAIT_S:.0f}s"),
            )
            with running("-m", *gathering) as gather:
                wait_until("the first look", (output / "load-reports.jsonl").exists)
                leader = asked(web(1), "brokers/leaderBroker")["brokerId"]
                victim = next(i for i in (3, 2, 1) if broker_id(i) != leader)
                witness = next(i for i in (1, 2, 3) if i != victim)
                leave(state, victim, signal.SIGKILL)
                gone = broker_id(victim)
                wait_until("its departure", lambda: gone not in asked(web(witness), "brokers"))
                begin(state, victim)
                with running("-m", "cluster.load", str(PROFILES / "late.toml")):
                    wait_until("a round that is over", lambda: stands_still(logs))
                    # What was unloaded is to be seen where it landed.
                    wait_until("the landing", lambda: rate(web(victim)) > 50)
                    gather.send_signal(signal.SIGTERM)
                    said, _ = gather.communicate(timeout=60)
                    assert gather.returncode == 0, said
    (output / "actions.jsonl").write_bytes((FOLDER / "actions.jsonl").read_bytes())
    return output, said


@pytest.fixture(scope="module")
def explained(night: tuple[Path, str]) -> Path:
    recording, _ = night
    output = recording.with_name("explained")
    done = trimtab("explain", str(recording), "-o", str(output), within_s=None)
    assert done.returncode == 0, done.stderr
    return output


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def table(explained: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ds.dataset(explained / "tables" / name).to_table().to_pylist()
    return rows


def test_every_version_of_every_report_was_recorded(
    night: tuple[Path, str], explained: Path
) -> None:
    recording, said = night
    assert ", 0 missed; " in said
    assert "changes of owners, 0 missed" in said
    begun, *_, ended = lines(recording / "gather.jsonl")
    recorded = {
        (line["broker"], line["mtime"], line["version"])
        for line in lines(recording / "store" / "brokers.jsonl")
        if line["report"] is not None
    }
    # What ZooKeeper itself has logged of the same time.
    writes = {
        (row["broker"], round(row["written"].timestamp() * 1000), row["version"])
        for row in table(explained, "load_reports")
        if row["file"].startswith("store/zookeeper/") and not row["is_gone"]
    }
    first, last = (_milliseconds(line["time"]) for line in (begun, ended))
    meant = {write for write in writes if first <= write[1] < last - 1000}

    assert len(meant) > 10
    assert meant <= recorded
    assert recorded <= writes


def test_the_broker_that_was_killed_is_a_line_and_no_crash(night: tuple[Path, str]) -> None:
    recording, _ = night
    noted = lines(recording / "gather.jsonl")
    failed = {line["broker"] for line in noted if line.get("error") and line.get("broker")}
    again = {line["broker"] for line in noted if line.get("event") == "answers again"}

    (gone,) = {
        line["broker"]
        for line in lines(recording / "store" / "brokers.jsonl")
        if line["report"] is None
    }
    assert failed <= {gone}
    assert again <= failed


def test_no_line_is_lost(explained: Path) -> None:
    accounting = json.loads((explained / "findings.json").read_text())["accounting"]

    assert accounting["lines"] > 1000
    assert accounting["rejected"] == 0
    kinds = ("rows", "other", "continuation", "rejected")
    assert sum(accounting[kind] for kind in kinds) == accounting["lines"]
    assert [it["file"] for it in accounting["unused"]] == ["gather.jsonl"]


def test_what_the_leader_did_is_found_and_recomputed(
    night: tuple[Path, str], explained: Path
) -> None:
    recording, _ = night
    document = json.loads((explained / "findings.json").read_text())

    assert len(document["unloads"]) == unload_lines(recording / "logs") > 0
    rounds = document["round_list"]
    assert [it["recomputed"]["why"] for it in rounds if it["recomputed"]["equal"] is not True] == []
    assert len(rounds) == document["rounds"] > 0
    assert document["warnings"] == []


def _milliseconds(time_text: str) -> int:
    return round(datetime.fromisoformat(time_text).timestamp() * 1000)
