"""Which release `trimtab lint` goes by, and what it says where nothing tells it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden_vectors import defaults
from tests.test_lint_command import (
    PLACER_LINE,
    SHEDDER_LINE,
    codes,
    codes_of,
    found,
    run,
)
from trimtab.explanation.lint import RELEASES as RELEASES_KNOWN
from trimtab.pulsar.keys import KEYS
from trimtab.pulsar.releases import release_order


def releases_of(read: dict[str, Any], code: str) -> list[str]:
    return [it["releases"] for it in read["findings"] if it["code"] == code]


def test_without_a_release_all_are_looked_at_and_what_only_some_have_says_which() -> None:
    read = found("-", given=f"{SHEDDER_LINE}ThresholdShedder\n".encode())

    assert (read["release"], read["releases"]) == ("5.0.1", "2.10.0 on")
    assert read["release_basis"] == "nothing says which"
    assert releases_of(read, "mixed-scores") == [""]
    assert releases_of(read, "even-distribution") == ["before 5.0.0"]
    assert releases_of(read, "direct-memory-counts") == ["before 3.1.1"]
    assert releases_of(read, "placement-falls-back") == ["5.0.0 on"]
    assert releases_of(read, "unload-to-self") == [
        "before 2.10.6, 2.11.0 to before 2.11.3, 3.0.0 to before 3.0.1"
    ]


def test_what_is_found_without_a_release_is_what_is_found_in_any() -> None:
    conf = f"{SHEDDER_LINE}UniformLoadShedder\nloadBalancerMsgRateDifferenceShedderThreshold=0\n"

    read = codes("-", given=conf.encode())

    for release in RELEASES_KNOWN:
        assert set(codes_of(conf, release)) <= set(read), release


@pytest.mark.parametrize(
    ("line", "release", "basis"),
    [
        ("loadBalancerAvgShedderLowThreshold=15", "3.0.6 on", "(stdin:1) came with 3.0.6"),
        (f"{PLACER_LINE}LeastResourceUsageWithWeight", "2.11.0 on", "came with 2.11.0"),
        (f"{SHEDDER_LINE}AvgShedder", "3.0.6 on", "AvgShedder (stdin:1) came with 3.0.6"),
        ("loadBalancerSheddingIntervalMinutes=1", "2.10.0 on", "nothing says which"),
    ],
)
def test_keys_and_classes_leave_the_releases_that_have_them(
    line: str, release: str, basis: str
) -> None:
    read = found("-", given=line.encode())

    assert read["releases"] == release
    assert basis in read["release_basis"]


@pytest.mark.parametrize("release", ["3.0.7", "3.3.5", "4.0.0", "4.0.8"])
def test_what_a_broker_does_not_tell_came_later(release: str) -> None:
    told = {
        key: str(value) for key, it in KEYS.items() if (value := it.default(release)) is not None
    }
    told |= {key: str(value) for key, value in defaults(release).items()}
    # The other settings of an answer are not the load balancer's.
    told |= {f"managedLedger{i}": "" for i in range(300)}

    read = found("-", given=json.dumps(told, indent=1).encode())

    first, _, after = read["releases"].partition(" to before ")
    assert release_order(first) <= release_order(release) < release_order(after)
    assert release_order(after) <= release_order("5.0.0")


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("defaultPulsarImageTag: 3.0.7\nbroker:\n  configData:\n    a: b\n", "3.0.7"),
        (
            "images:\n  broker:\n    repository: apachepulsar/pulsar-all\n    tag: 2.10.4\n"
            "broker:\n  configData:\n    loadBalancerEnabled: 'true'\n",
            "2.10.4",
        ),
        (
            "services:\n  broker:\n    image: apachepulsar/pulsar:4.0.8\n    environment:\n"
            "      - PULSAR_PREFIX_loadBalancerSheddingIntervalMinutes=5\n",
            "4.0.8",
        ),
    ],
)
def test_the_image_tells_the_release(text: str, release: str) -> None:
    read = found("-", given=text.encode())

    assert read["release"] == release
    assert f"says {release}" in read["release_basis"]


def test_the_environment_of_a_compose_file_is_read() -> None:
    compose = (
        "services:\n  broker:\n    image: apachepulsar/pulsar:3.0.7\n    environment:\n"
        f"      - {SHEDDER_LINE}AvgShedder\n"
        f'      - "PULSAR_PREFIX_{PLACER_LINE}AvgShedder"  # both roles\n'
        "      - PULSAR_MEM=-Xms512m -Xmx512m\n"
    )

    read = found("-", given=compose.encode())["findings"]

    [finding] = [it for it in read if it["code"] == "avg-shedder-wrong-key"]
    assert finding["line"] == 6


def test_a_broker_conf_within_a_config_map_is_read() -> None:
    config_map = (
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  broker.conf: |\n    # ours\n\n"
        "    loadBalancerSheddingIntervalMinutes=1m\n  other: loadBalancerEnabled\n"
    )

    read = found("-", given=config_map.encode())["findings"]

    assert [it["line"] for it in read if it["code"] == "refused-value"] == [7]


def test_a_file_of_some_thousand_lines_is_looked_at_in_no_time() -> None:
    values = "broker:\n" + "  configData:\n    key:    a  b  c\n" * 5000

    assert found("-", given=values.encode())["release"] == "5.0.1"


def night(folder: Path, *lines: str, conf: str = "") -> str:
    """Return a recording of one broker's log and conf."""
    log = folder / "logs" / "broker-1" / "broker.log"
    log.parent.mkdir(parents=True)
    log.write_text("\n".join(lines), encoding="utf-8")
    (folder / "conf").mkdir()
    (folder / "conf" / "broker.conf").write_text(conf, encoding="utf-8")
    return str(folder)


START = (
    "2026-11-21T06:37:17,331+0000 [main] INFO  org.apache.pulsar.broker.PulsarService - "
    "Starting Pulsar Broker service; version: '3.0.7'"
)
EXTENSIONS_LINE = (
    "2026-11-21T06:38:17,331+0000 [pulsar-load-manager-1-1] INFO  org.apache.pulsar.broker."
    "loadbalance.extensions.scheduler.TransferShedder - Shed nothing"
)


def test_a_log_tells_the_release(tmp_path: Path) -> None:
    read = found(night(tmp_path / "n", START, conf="loadBalancerEnabled=true\n"))

    assert (read["release"], read["releases"]) == ("3.0.7", "")
    assert read["release_basis"].endswith("logs/broker-1/broker.log:1 says 3.0.7")
    assert read["running"] == []


def test_a_log_tells_the_load_manager_that_the_settings_leave_open(tmp_path: Path) -> None:
    conf = "loadBalancerBrokerLoadTargetStd=0.2\n"

    read = found(night(tmp_path / "n", START, EXTENSIONS_LINE, conf=conf))

    assert [it.partition(" ")[0] for it in read["running"]] == [
        "ExtensibleLoadManagerImpl",
        "TransferShedder",
    ]
    assert not {"not-heeded", "even-distribution", "mixed-scores"} & set(
        it["code"] for it in read["findings"]
    )


def test_what_is_set_is_not_replaced_by_what_logged(tmp_path: Path) -> None:
    conf = "loadManagerClassName=org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl\n"

    read = found(night(tmp_path / "n", START, EXTENSIONS_LINE, conf=conf))

    assert "even-distribution" in [it["code"] for it in read["findings"]]


def test_helm_values_hold_beside_the_conf_of_the_image(tmp_path: Path) -> None:
    folder = Path(night(tmp_path / "n", START, conf=f"{SHEDDER_LINE}ThresholdShedder\n"))
    (folder / "values.yaml").write_text(
        f"broker:\n  configData:\n    {SHEDDER_LINE.replace('=', ': ')}OverloadShedder\n",
        encoding="utf-8",
    )

    assert "overload-shedder" in codes(str(folder))


def test_load_reports_tell_how_many_cards_count(tmp_path: Path) -> None:
    conf = "loadBalancerOverrideBrokerNicSpeedGbps=9\n"
    folder = Path(night(tmp_path / "n", START, conf=conf))
    report = {"brokerVersionString": "3.0.7", "bandwidthIn": {"usage": 1.0, "limit": 18000000.0}}
    line = json.dumps({"time": 1, "broker": "b:8080", "report": report}) + "\n"
    reports = folder / "load-reports.jsonl"

    reports.write_text(line, encoding="utf-8")
    [finding] = [it for it in found(str(folder))["findings"] if it["code"] == "nic-speed-per-card"]
    assert "by the load reports 2: a limit of 18 Gbit/s" in finding["message"]
    assert "loadBalancerOverrideBrokerNicSpeedGbps=4.5 with 2" in finding["instead"]

    reports.write_text(line.replace("18000000", "9000000"), encoding="utf-8")
    assert "nic-speed-per-card" not in codes(str(folder))


def test_a_release_before_2_10_is_looked_at_as_2_10_with_its_own_shedder() -> None:
    read = found("-", "--release", "2.7.3", given=b"loadBalancerEnabled=true\n")

    assert read["release"] == "2.7.3"
    assert "older than 2.10.0" in read["release_basis"]
    assert "overload-shedder" in [it["code"] for it in read["findings"]]


def test_a_person_reads_first_what_is_assumed() -> None:
    plain = run("-", given=b"loadBalancerEnabled=true\n").output.splitlines()

    assert plain[0].startswith("stdin: the release is not told, and may be any of 2.10.0 on")
    assert any(": even-distribution (before 5.0.0) warning: " in line for line in plain)
    assert plain[-1].startswith("stdin, any release of 2.10.0 on: ")
