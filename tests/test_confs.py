"""Settings in whichever form they are found."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.diagnose.deployment import deployment, logged_releases, logged_settings
from trimtab.diagnose.night import Event
from trimtab.pulsar.confs import dumped_entries, helm_entries, without_script
from trimtab.pulsar.keys import KEYS

RECORDINGS = Path(__file__).parent.parent / "recordings"
HELM = """\
# what a chart is given
broker:
  replicaCount: 3
  configData:
    PULSAR_MEM: >
      -Xms128m -Xmx256m
      loadBalancerEnabled: "no"
    # why
    loadBalancerEnabled: "true"
    PULSAR_PREFIX_loadBalancerSheddingIntervalMinutes: '5'   # minutes
    allowed: [one, two]
  ports:
    http: 8080
proxy:
  configData:
    loadBalancerEnabled: "false"
"""


def test_of_helm_values_the_settings_of_the_broker_are_read() -> None:
    assert list(helm_entries(HELM)) == [
        ("loadBalancerEnabled", "true", 9),
        ("loadBalancerSheddingIntervalMinutes", "5", 10),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("configData:\n  a: 1\nother: 2\n", [("a", "1", 2)]),
        ('kind: ConfigMap\ndata:\n  PULSAR_PREFIX_a: "1"\n', [("a", "1", 3)]),
        ("\ufeffa: 1\nb:\n  c: 2\n", [("a", "1", 1)]),
        ("broker:\n  replicas: 3\n", []),
        ("", []),
    ],
)
def test_headings_say_what_is_a_setting(text: str, expected: list[tuple[str, str, int]]) -> None:
    assert list(helm_entries(text)) == expected


@given(st.text(alphabet="ab:#\"'|> \n-{", max_size=60))
def test_whatever_stands_in_helm_values_is_read_or_passed_over(text: str) -> None:
    for key, _, line in helm_entries(text):
        assert key in text.splitlines()[line - 1]


def test_a_dump_may_be_wrapped_anywhere_and_cut_off() -> None:
    whole = (
        "configs=ServiceConfiguration(a=null, loadOn=Optional[0.01], l=[x, y], m={c=d, e=f}, z=)"
    )
    expected = {"a": "null", "loadOn": "Optional[0.01]", "l": "[x, y]", "m": "{c=d, e=f}", "z": ""}
    assert {key: value for key, value, _ in dumped_entries(whole)} == expected

    begin = whole.index("(") + 1
    for at in range(begin, len(whole)):
        wrapped = f"{whole[:at]}\n{whole[at:]}"
        assert {key: value for key, value, _ in dumped_entries(wrapped)} == expected
        cut = {key: value for key, value, _ in dumped_entries(whole[:at])}
        assert cut.items() <= expected.items()
    assert [line for *_, line in dumped_entries("\nServiceConfiguration(a=1,\nb=2)")] == [2, 3]
    assert list(dumped_entries("configs=none")) == []


def test_the_start_scripts_word_is_taken_off_for_brokers_alone() -> None:
    assert without_script("Adding config: a=1") == "a=1"
    assert without_script("[conf/broker.conf] Updating config a.b = 1") == "a.b = 1"
    for other in ("[conf/proxy.conf] Updating config a=1", "Updating config soon", "a=1"):
        assert without_script(other) == other


def test_a_log_alone_tells_the_settings_and_the_release() -> None:
    """What a broker of a real cluster printed when it became ready is what its file said."""
    log = RECORDINGS / "threshold/logs/broker1/pulsar-broker.log.gz"
    lines = gzip.decompress(log.read_bytes()).decode().splitlines()
    conf = (RECORDINGS / "threshold/conf/broker1.conf").read_text(encoding="utf-8")

    def events(kind: str, needle: str) -> list[Event]:
        at = datetime(2026, 11, 21, tzinfo=UTC)
        found = [(i, text) for i, text in enumerate(lines, 1) if needle in text]
        return [Event(at, "broker1", "a.log", i, kind, text) for i, text in found]

    told = logged_settings(events("broker-ready", "ServiceConfiguration("))
    releases = logged_releases(events("broker-starting", "Starting Pulsar Broker service"))
    assert {row["key"] for row in told} <= set(KEYS)
    assert len(told) > 50
    assert releases[:1] == ["4.0.8"]
    written = [
        {"log_broker": "broker1", "key": key, "value": value, "origin": "conf"}
        | {"file": "a.conf", "line": 1}
        for key, _, value in (line.partition("=") for line in conf.splitlines())
        if key in KEYS
    ]
    assert len(written) > 5
    logged, deployed = (deployment({}, rows, releases, ([], [])) for rows in (told, written))
    assert logged.warnings == ()
    for what in ("release", "shedder", "placer", "manager", "threshold_shedder"):
        assert getattr(logged, what) == getattr(deployed, what)


@pytest.mark.parametrize("release", ["2.7.3", "2.9.2"])
def test_a_release_before_2_10_is_named_and_2_10_decides_for_it(release: str) -> None:
    ran = deployment({"pulsar": release}, [], [], ([], []))

    assert ran.release == "2.10.0"
    assert ran.release_basis == (
        f"in place of {release}, which is what recording.toml says: 2.10.0 is the oldest release "
        "whose classes were run"
    )
    assert ran.shedder == "OverloadShedder"
    assert ran.warnings == ()


def test_what_is_no_release_is_a_warning_and_another_is_assumed() -> None:
    ran = deployment({"pulsar": "four"}, [], [], ([], []))

    assert ran.release == "4.0.8"
    assert ran.release_basis.startswith("assumed")
    assert "'four' is not understood" in ran.warnings[0]


def test_a_release_between_those_that_were_run_decides_as_itself() -> None:
    ran = deployment({"pulsar": "2.11.4"}, [], ["2.11.4"], ([], []))

    assert (ran.release, ran.release_basis) == ("2.11.4", "recording.toml")
    assert ran.shedder == "ThresholdShedder"
