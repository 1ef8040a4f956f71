"""`trimtab lint`: files in, findings out, in each form; whatever a file holds is only shown."""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from tests.golden_vectors import defaults
from trimtab.cli import main
from trimtab.explanation.conf_text import read_conf
from trimtab.explanation.lint import RULES, Conf, lint
from trimtab.explanation.lint.sarif import sarif
from trimtab.explanation.lint.text import finding_lines

ROOT = Path(__file__).parent.parent
RECORDINGS = ROOT / "recordings"
TESTDATA = ROOT / "tests" / "testdata" / "lint"
#: The schema that OASIS has published, and what of it trimtab writes, more strictly.
SCHEMAS = tuple(
    json.loads((TESTDATA / name).read_text(encoding="utf-8"))
    for name in ("sarif-schema-2.1.0.json", "sarif-2.1.0-used.schema.json")
)
IMPL = "org.apache.pulsar.broker.loadbalance.impl."
SHEDDER_LINE = f"loadBalancerLoadSheddingStrategy={IMPL}"
PLACER_LINE = f"loadBalancerLoadPlacementStrategy={IMPL}"
RELEASES = ["2.10.4", "3.0.0", "3.0.7", "3.3.5", "4.0.0", "4.0.8", "5.0.0-M1"]

# Settings that somebody has thought about.
THRESHOLD = f"""\
loadBalancerLoadSheddingStrategy={IMPL}ThresholdShedder
loadBalancerLoadPlacementStrategy={IMPL}LeastResourceUsageWithWeight
loadBalancerDistributeBundlesEvenlyEnabled=false
loadBalancerHistoryResourcePercentage=0.5
loadBalancerAverageResourceUsageDifferenceThresholdPercentage=2
loadBalancerBundleUnloadMinThroughputThreshold=1
loadBalancerDirectMemoryResourceWeight=0
lowerBoundarySheddingEnabled=true
defaultNumberOfNamespaceBundles=64
"""
AVG = f"""\
loadBalancerLoadSheddingStrategy={IMPL}AvgShedder
loadBalancerLoadPlacementStrategy={IMPL}AvgShedder
loadBalancerDistributeBundlesEvenlyEnabled=false
maxUnloadPercentage=0.5
defaultNumberOfNamespaceBundles=32
"""


def run(*arguments: str, given: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["lint", *arguments], input=given, catch_exceptions=False)


def found(*arguments: str, given: bytes | None = None) -> dict[str, Any]:
    result = run(*arguments, "--format", "json", given=given)
    read: dict[str, Any] = json.loads(result.output)
    assert result.exit_code == bool(read["findings"])
    return read


def codes(*arguments: str, given: bytes | None = None) -> list[str]:
    return [it["code"] for it in found(*arguments, given=given)["findings"]]


def codes_of(text: str, release: str) -> list[str]:
    conf = read_conf("broker.conf", text.encode())
    return [it.code for it in lint([Conf(conf.source, release, conf.written)])]


# ------------------------------------------------------- what gives nothing


@pytest.mark.parametrize("release", ["3.0.7", "3.3.5", "4.0.0", "4.0.8", "5.0.0-M1", "5.0.1"])
def test_sensible_settings_of_threshold_shedder_give_nothing(release: str) -> None:
    assert codes_of(THRESHOLD, release) == []


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("3.3.5", ["avg-shedder-sorting"]),
        ("4.0.8", ["avg-shedder-lost-plans"]),
        ("5.0.1", []),
    ],
)
def test_sensible_settings_of_avg_shedder_leave_what_the_release_has(
    release: str, expected: list[str]
) -> None:
    assert codes_of(AVG, release) == expected


def test_nothing_set_gives_nothing_in_5_0_1() -> None:
    assert codes_of("", "5.0.1") == []
    assert codes_of("", "5.0") == []


@pytest.mark.parametrize("release", RELEASES)
def test_defaults_spelt_out_are_judged_as_defaults(release: str) -> None:
    """A stock broker.conf has a line for every key; none of them is a slip."""
    stock = "".join(
        f"{key}={'' if value in ('Optional.empty', '[]') else json.dumps(value).strip(chr(34))}\n"
        for key, value in defaults(release).items()
    )

    assert stock.count("\n") > 30
    assert sorted(codes_of(stock, release)) == sorted(codes_of("", release))
    assert not any(RULES[code].severity == "error" for code in codes_of(stock, release))


@pytest.mark.parametrize("release", RELEASES)
def test_a_broker_that_tells_its_defaults_is_judged_alike(release: str) -> None:
    told = json.dumps({key: str(value) for key, value in defaults(release).items()}, indent=1)
    conf = read_conf("broker.json", told.encode())
    conf = Conf(conf.source, release, conf.written, is_runtime=True)

    assert sorted(it.code for it in lint([conf])) == sorted(codes_of("", release))


# ------------------------------------------------------------------- inputs


@pytest.mark.parametrize(
    ("recording", "expected"),
    [
        ("avg", ["avg-shedder-lost-plans"]),
        ("threshold", ["idle-broker-unnoticed", "even-distribution"]),
        ("uniform", ["uniform-empties-broker", "rate-shadows-throughput", "even-distribution"]),
    ],
)
def test_recordings_tell_their_release_and_brokers_share_findings(
    recording: str, expected: list[str]
) -> None:
    read = found(str(RECORDINGS / recording))

    assert [it["code"] for it in read["findings"]] == expected
    assert read["release"] == "4.0.8"
    assert len(read["files"]) == 4
    assert all(len(it["also"]) == 3 for it in read["findings"])


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        # How many cards they count stands in load reports, which are not here.
        ("extensible.conf", ["not-heeded", "nic-speed-per-card", "transfer-debug-mode"]),
        ("three-brokers.conf", ["nic-speed-per-card", "even-distribution"]),
    ],
)
def test_confs_of_real_brokers_raise_no_false_alarm(conf: str, expected: list[str]) -> None:
    assert codes(str(TESTDATA / conf), "--release", "4.0.8") == expected


def test_brokers_of_a_recording_are_held_against_each_other(tmp_path: Path) -> None:
    shutil.copytree(RECORDINGS / "avg" / "conf", tmp_path / "night" / "conf")
    (tmp_path / "night" / "recording.toml").write_text('pulsar = "4.0.8"\n', encoding="utf-8")
    with (tmp_path / "night" / "conf" / "broker2.conf").open("a", encoding="utf-8") as conf:
        conf.write("maxUnloadPercentage=0.4\n")

    read = found(str(tmp_path / "night"))["findings"]

    (differ,) = [it for it in read if it["code"] == "settings-differ"]
    assert differ["key"] == "maxUnloadPercentage"
    assert "0.4 in" in differ["message"]


def test_what_a_broker_tells_wins_over_its_file(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "runtime-config").mkdir()
    (tmp_path / "conf" / "b1.conf").write_text(THRESHOLD, encoding="utf-8")
    told = {"loadBalancerDistributeBundlesEvenlyEnabled": "true", "clusterName": "c"}
    (tmp_path / "runtime-config" / "b1.json").write_text(json.dumps(told), encoding="utf-8")

    read = found(str(tmp_path), "--release", "4.0.8")["findings"]

    assert [it["code"] for it in read] == ["overruled", "even-distribution"]
    assert [Path(it["file"]).name for it in read] == ["b1.conf", "b1.json"]
    assert [it["line"] for it in read] == [3, 1]


def test_helm_values_and_the_environment_of_images_are_read() -> None:
    helm = b"broker:\n  configData:\n    PULSAR_PREFIX_loadBalancerSheddingIntervalMinute: '5'\n"
    expected = ["misspelt-key"]

    assert codes("-", "--release", "5.0.1", given=helm) == expected
    assert (
        codes("-", "--release", "5.0.1", given=helm.replace(b"    PULSAR_PREFIX_", b"")) == expected
    )


def test_of_helm_values_the_brokers_own_count() -> None:
    helm = (
        b"proxy:\n  configData:\n    loadBalancerSheddingIntervalMinute: '5'\n"
        b"broker:\n  configData:\n    loadBalancerEnabled: 'true'\n"
        b"    PULSAR_MEM: >\n      -Xmx1g\n"
    )

    assert codes("-", "--release", "5.0.1", given=helm) == []


def test_helm_values_of_a_recording_are_every_brokers(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    helm = "broker:\n  configData:\n    loadBalancerSheddingIntervalMinute: '5'\n"
    (tmp_path / "conf/values.yaml").write_text(helm, encoding="utf-8")
    alone = codes(str(tmp_path), "--release", "5.0.1")
    (tmp_path / "runtime-config").mkdir()
    for broker in ("b1", "b2"):
        told = '{"loadBalancerEnabled": "true"}'
        (tmp_path / f"runtime-config/{broker}.json").write_text(told, encoding="utf-8")

    assert alone == ["misspelt-key"]
    assert "settings-differ" not in codes(str(tmp_path), "--release", "5.0.1")


def test_a_dump_of_the_settings_is_what_a_broker_tells() -> None:
    told = b"configs=ServiceConfiguration(loadBalancerOverrideBrokerNicSpeedGbps=Optional.empty, "
    dumped = told + b"loadBalancerSheddingIntervalMinute=5)"

    assert codes("-", "--release", "5.0.1", given=dumped) == codes(
        "-",
        "--release",
        "5.0.1",
        given=b'{"loadBalancerOverrideBrokerNicSpeedGbps": "Optional.empty", '
        b'"loadBalancerSheddingIntervalMinute": "5"}',
    )


def test_a_gzipped_conf_a_byte_order_mark_and_line_ends_of_windows(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + AVG.replace("\n", "\r\n").encode()))

    assert codes(str(path), "--release", "5.0.1") == []


def test_a_gzipped_conf_that_is_damaged_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf.gz"
    packed = bytearray(gzip.compress(AVG.encode()))
    packed[12:40] = bytes(28)
    path.write_bytes(packed)

    result = run(str(path), "--release", "5.0.1")

    assert result.exit_code == 2
    assert result.output.startswith(f"trimtab: {path}: Error -3 while decompressing data: ")


def test_an_archive_is_a_recording(tmp_path: Path) -> None:
    archive = tmp_path / "night.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(RECORDINGS / "avg" / "conf", "night/conf")
        packed.add(RECORDINGS / "avg" / "recording.toml", "night/recording.toml")

    assert codes(str(archive)) == ["nic-speed-per-card", "avg-shedder-lost-plans"]


def test_in_the_folder_of_pulsars_confs_only_the_brokers_is_read(tmp_path: Path) -> None:
    for name in ("bookkeeper", "broker", "client", "proxy", "standalone", "zookeeper"):
        (tmp_path / f"{name}.conf").write_text("loadBalancerEnable=1\n", encoding="utf-8")

    read = found(str(tmp_path), "--release", "5.0.1")

    assert [Path(name).name for name in read["files"]] == ["broker.conf"]


def test_several_files_are_judged_one_by_one(tmp_path: Path) -> None:
    for name, text in (("a.conf", AVG), ("b.conf", "")):
        (tmp_path / name).write_text(text, encoding="utf-8")

    read = found(str(tmp_path / "a.conf"), str(tmp_path / "b.conf"), "--release", "5.0.1")

    assert [Path(name).name for name in read["files"]] == ["a.conf", "b.conf"]
    assert read["findings"] == []


def test_an_upgrade_names_what_to_pin_and_what_it_brings(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_text(f"loadBalancerLoadSheddingStrategy={IMPL}ThresholdShedder\n", encoding="utf-8")

    read = found(str(path), "--from", "4.0.8", "--to", "5.0.1")

    assert (read["from"], read["to"]) == ("4.0.8", "5.0.1")
    flips = {it["key"]: it["instead"] for it in read["findings"] if it["code"] == "default-flips"}
    assert set(flips) == {
        "defaultNumberOfNamespaceBundles",
        "loadBalancerDistributeBundlesEvenlyEnabled",
        "loadBalancerLoadPlacementStrategy",
    }
    assert flips["defaultNumberOfNamespaceBundles"].startswith("defaultNumberOfNamespaceBundles=4 ")
    assert "placement-falls-back" in {it["code"] for it in read["findings"]}
    assert "slow-scores" not in {it["code"] for it in read["findings"]}, "it was there before"


@pytest.mark.parametrize("before", RELEASES)
@pytest.mark.parametrize("after", RELEASES)
def test_flips_are_the_differences_of_the_recorded_defaults(before: str, after: str) -> None:
    old, new = defaults(before), defaults(after)
    differing = {key for key in set(old) & set(new) if old[key] != new[key]}
    read = found("-", "--from", before, "--to", after, given=b"")
    flipped = {it["key"] for it in read["findings"] if it["code"] == "default-flips"}

    # The heap counts in 2.10 alone, under the modular load manager.
    unread = set() if "2.10.4" in (before, after) else {"loadBalancerMemoryResourceWeight"}
    assert flipped - {"supportedNamespaceBundleSplitAlgorithms"} == differing - unread


# ------------------------------------------------------------------ options


def test_severity_and_ignore_leave_things_out() -> None:
    everything = codes("-", "--release", "4.0.8", given=b"")
    assert {"mixed-scores", "slow-scores"} <= set(everything)
    assert "slow-scores" not in codes("-", "--release", "4.0.8", "--severity", "warning", given=b"")
    assert codes("-", "--release", "4.0.8", "--severity", "error", given=b"") == []
    fewer = codes("-", "--release", "4.0.8", "--ignore", "mixed-scores", given=b"")
    assert [code for code in everything if code != "mixed-scores"] == fewer


def test_why_and_evidence_are_told_when_asked() -> None:
    plain = run("-", "--release", "4.0.8", given=b"").output
    explained = run("-", "--release", "4.0.8", "--explain", given=b"").output

    assert "stdin: even-distribution warning: " in plain
    assert "instead: loadBalancerDistributeBundlesEvenlyEnabled=false" in plain
    assert "apache/pulsar#16059" not in plain
    assert "evidence: apache/pulsar#388, apache/pulsar#16059, apache/pulsar#8492" in explained
    assert max(map(len, explained.splitlines()[1:6])) < 300


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-", "--release", "four"], "release 'four' is not understood"),
        (["-", "--from", "4.0.8"], "--from and --to go together"),
        (["-", "--from", "4.0.8", "--to", "5.0", "--release", "4.0.8"], "--release does not go"),
        (["-", "--release", "4.0.8", "--ignore", "mixed"], "--ignore: found 'mixed'"),
        (["nowhere.conf", "--release", "4.0.8"], "nowhere.conf: No such file"),
        ([str(ROOT / "docs" / "findings"), "--release", "4.0.8"], "nothing to read"),
        ([str(RECORDINGS / "seed-001")], "found no settings"),
    ],
)
def test_wrong_use_is_told_in_one_line(arguments: list[str], expected: str) -> None:
    result = run(*arguments, given=b"")

    assert result.exit_code == 2
    assert expected in result.output
    assert len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"hello\nworld\n", "found no setting in 3 lines"),
        (bytes(range(256)) * 40, "found no setting"),
        (b'{"loadBalancerEnabled": ', "not JSON"),
        (b"{}", "found an empty object"),
        (b"{" * 100_000, "not JSON"),
        (b"#" * (2 * 1024 * 1024 + 1), "found more than 2,097,152 bytes"),
    ],
)
def test_what_is_no_conf_is_refused(content: bytes, expected: str) -> None:
    result = run("-", "--release", "4.0.8", given=content)

    assert result.exit_code == 2
    assert expected in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_a_conf_of_comments_alone_is_one_of_defaults() -> None:
    assert run("-", "--release", "5.0.1", given=b"# nothing here\n\n").exit_code == 0


# -------------------------------------------------- outputs, whatever is in a file

HOSTILE = (
    b"loadBalancerSheddingIntervalMinute=<script>alert('x')</script>\n"
    b'loadBalancerSheddingGracePeriodMinutes="5"\x1b[31m\x07\x00\xe2\x80\xae\n'
    b"loadBalancerLoadSheddingStrategy=" + b"a" * 10_240 + b"\n"
    b"loadBalancerFavourite\xf0\x9f\x98\x80=1\n"
    b"loadBalancerAvgShedderLowThreshold=\xff\xfe\n"
    b"lowerBoundarySheddingEnabled=a\x0bb\xc2\x85c\n"
    b"lowerBoundarySheddingEnabled=%s\n"
)


def test_a_terminal_is_told_nothing_that_it_would_act_on() -> None:
    output = run("-", "--release", "4.0.8", "--explain", given=HOSTILE).output

    assert all(character == "\n" or character.isprintable() for character in output)
    assert "<script>alert('x')</script>" in output
    assert '"5"\\x1b[31m\\x07\\x00\\u202e' in output
    assert "a\\x0bb\\x85c" in output
    assert "(10,240 characters)" in output
    assert max(map(len, output.splitlines())) < 500


@pytest.mark.parametrize("output_format", ["json", "sarif"])
def test_programs_get_the_same_as_text(output_format: str) -> None:
    result = run("-", "--release", "4.0.8", "--format", output_format, given=HOSTILE)
    read = json.loads(result.output)
    shown = json.dumps(read, ensure_ascii=False)

    assert result.exit_code == 1
    assert result.output.isascii()
    assert "<script>" in shown
    assert "\\\\x1b[31m" in shown
    assert len(result.output) < 200_000


def check_sarif(read: Any) -> None:
    for schema in SCHEMAS:
        checker = jsonschema.FormatChecker()
        jsonschema.Draft7Validator(schema, format_checker=checker).validate(read)


HOSTILE_NAME = "b\x1b[31m\n<script>alert('1')<br>\u202e%s\"&"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A recording whose folder and whose brokers have names that somebody made up to harm."""
    folder = tmp_path / "night\x1b]0;owned\x07\n" / "conf"
    folder.mkdir(parents=True)
    for name in ("a", HOSTILE_NAME, "c" * 240):
        (folder / f"{name}.conf").write_text("loadBalancerSheddingIntervalMinute=1\n")
    return folder.parent


@pytest.mark.parametrize("path", ["", f"conf/{HOSTILE_NAME}.conf"])
def test_names_of_files_and_brokers_are_only_text_on_a_terminal(hostile: Path, path: str) -> None:
    result = run(str(hostile / path), "--release", "4.0.8", "--explain")

    assert result.exit_code == 1
    assert all(character == "\n" or character.isprintable() for character in result.output)
    assert r"b\x1b[31m\x0a<script>alert('1')<br>\u202e%s" in result.output
    if not path:
        assert "c" * 241 not in result.output


def test_names_of_files_and_brokers_are_only_addresses_in_sarif(hostile: Path) -> None:
    result = run(str(hostile), "--release", "4.0.8", "--format", "sarif")
    read = json.loads(result.output)

    check_sarif(read)
    assert result.output.isascii()
    assert "<script>" not in result.output
    uris = {
        place["physicalLocation"]["artifactLocation"]["uri"]
        for found in read["runs"][0]["results"]
        for place in (*found["locations"], *found.get("relatedLocations", ()))
    }
    assert len(uris) == 3
    assert any("%1B%5B31m%0A%3Cscript%3E" in uri for uri in uris)


@pytest.mark.parametrize("output_format", ["plain", "sarif"])
def test_a_place_of_ten_kilobytes_does_not_fill_the_screen(output_format: str) -> None:
    conf = Conf("\x1b[2J" + "x" * 10_240, "4.0.8", {})
    findings = lint([conf])
    assert findings
    if output_format == "plain":
        lines = list(finding_lines(findings, lambda text, _: text, explains=False))
        assert all(line.isprintable() and len(line) < 1000 for line in lines)
        assert any("(10,244 characters)" in line for line in lines)
    else:
        check_sarif(sarif(findings, RULES, "0.1.0"))


@pytest.mark.parametrize("name", ["x" * 9000, "x" * 9000 + ".zip", "no\x1b[31m\n"])
def test_a_name_that_cannot_be_opened_is_told_in_one_line(name: str) -> None:
    result = run(name, "--release", "4.0.8")
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    assert result.output.strip().isprintable()
    assert len(result.output) < 1200


def test_sarif_is_as_the_standard_has_it(tmp_path: Path) -> None:
    folder = tmp_path / "a night: 100 %"
    shutil.copytree(RECORDINGS / "threshold" / "conf", folder / "conf")
    inputs = [("-", HOSTILE), (str(folder), None), (str(RECORDINGS / "uniform"), None)]
    for path, given in inputs:
        arguments = [path, "--release", "3.0.0", "--format", "sarif"]
        read = json.loads(run(*arguments, given=given).output)
        check_sarif(read)
        (only,) = read["runs"]
        rules = only["tool"]["driver"]["rules"]
        assert only["results"]
        assert [rule["id"] for rule in rules] == list(RULES)
        assert all(rules[it["ruleIndex"]]["id"] == it["ruleId"] for it in only["results"])
        assert any("region" in it["locations"][0]["physicalLocation"] for it in only["results"])
    uri = only["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///")


def test_nothing_found_is_still_a_document() -> None:
    read = json.loads(run("-", "--release", "5.0.1", "--format", "sarif", given=b"").output)

    check_sarif(read)
    assert read["runs"][0]["results"] == []
    assert found("-", "--release", "5.0.1", given=b"") == {
        "release": "5.0.1",
        "release_basis": "as told",
        "releases": "",
        "running": [],
        "files": ["stdin"],
        "counts": {"error": 0, "warning": 0, "note": 0},
        "findings": [],
    }


# --------------------------------------------------------------- the rules' words


def test_every_rule_says_what_it_has_to() -> None:
    for code, rule in RULES.items():
        assert code == rule.code
        assert rule.evidence, code
        assert rule.why.endswith("."), code
        assert rule.title[:1].islower() or rule.title.split()[0] in _NAMES, code
        assert not rule.title.endswith("."), code
        assert rule.instead, code
        assert not rule.instead.endswith("."), code
        assert rule.spans, code


#: What a title may begin with besides a small letter.
_NAMES = {
    "AvgShedder",
    "AvgShedder's",
    "LeastLongTermMessageRate",
    "LeastResourceUsageWithWeight",
    "OverloadShedder,",
    "SimpleLoadManagerImpl,",
    "ThresholdShedder",
    "TransferShedder",
    "UniformLoadShedder",
}
