"""What is a recording, and what each file of one is read as."""

from __future__ import annotations

import errno
import gzip
import io
import os
import tarfile
import zipfile
from collections.abc import Iterator
from datetime import UTC, date, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from trimtab.ingest.recording import Recording, UnusedFile, open_recording
from trimtab.ingest.recording_toml import RecordingError

LINE = "2026-11-21T06:00:00,000+0000 [main] INFO  x.Y - z\n"


def make(root: Path, *names: str) -> Path:
    """Make a folder of files that hold one line each."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(LINE)
    return root


def read_as(recording: Recording) -> dict[str, tuple[str, str]]:
    """File → what it is read as, and whose it is."""
    return {
        file.name: (source, file.log_broker)
        for source, files in recording.files.items()
        for file in files
    }


def refusal(path: Path) -> str:
    with pytest.raises(RecordingError) as error, open_recording(path):
        pass
    return str(error.value)


def meta_refusal(root: Path, text: str) -> str:
    (make(root, "logs/b/x.log") / "recording.toml").write_text(text)
    return refusal(root)


EXPECTED = {
    "conf/b1.conf": ("conf", "b1"),
    "conf/shop-values.yaml": ("helm-values", "shop-values"),
    "values.yml": ("helm-values", "values"),
    "runtime-config/b1.json.gz": ("runtime-config", "b1"),
    "runtime-config/b2.txt": ("runtime-config", "b2"),
    "logs/b1/pulsar-broker.log": ("log", "b1"),
    "logs/b1/old/pulsar-broker-2026-11-21-1.log.gz": ("log", "b1"),
    "logs/b1/broker.log.1": ("log", "b1"),
    "logs/b1/broker.log.2026-11-21": ("log", "b1"),
    "logs/b2.log": ("log", "b2"),
    "logs/b2-2026-11-20-1.log.gz": ("log", "b2"),
    "logs/b2.log.1.gz": ("log", "b2"),
    "load-reports.jsonl": ("load-reports", ""),
    "store/brokers.jsonl.gz": ("store-brokers", ""),
    "store/leader.jsonl": ("store-leader", ""),
    "store/bundles.jsonl": ("store-bundles", ""),
    "store/ownership.jsonl": ("store-ownership", ""),
    "store/service-unit-state.jsonl": ("store-states", ""),
    "store/broker-load-data.jsonl": ("store-loads", ""),
    "store/top-bundles-load-data.jsonl.gz": ("store-top-bundles", ""),
    "store/zookeeper/log.1": ("store-zookeeper", ""),
    "store/zookeeper/one/version-2/log.100000001.gz": ("store-zookeeper", ""),
    "store/zookeeper/one/version-2/snapshot.2f": ("store-zookeeper", ""),
    "metrics/b1/2026-11-21T06-00-00Z.prom.gz": ("metrics", "b1"),
    "metrics/cpu.json": ("metrics-export", ""),
    "metrics/b1/cpu.json": ("metrics-export", ""),
    "actions.jsonl": ("actions", ""),
}
UNUSED = {
    ".DS_Store": "hidden",
    "logs/.swp/x.log": "hidden",
    "lab/load.jsonl": "what a test cluster really did, which no operator knows",
    "store/zookeeper/one/currentEpoch": "of ZooKeeper's files only log.* and snapshot.* are read",
    "store/zookeeper/one/snapshot.18.snappy": (
        "a snapshot packed with snappy is not read; expected a plain one, or gzip"
    ),
    "store/etcd/wal": "of the stores' own files only ZooKeeper's are read",
    "store/oxia/db": "of the stores' own files only ZooKeeper's are read",
    "store/rocksdb/000012.sst": "of the stores' own files only ZooKeeper's are read",
    "logs/b1/x.log.zip": "of the packed files only gzip is read",
    "logs/b1/pulsar_gc_1.log": "log of Java's garbage collector",
    "logs/b1/gc.log.0": "log of Java's garbage collector",
    "README.md": "notes for people",
    "photo.jpeg": "not part of a recording's layout",
    "conf/log4j2.yaml": "not part of a recording's layout",
}


def test_every_file_is_read_or_listed_with_a_reason(tmp_path: Path) -> None:
    make(tmp_path, *EXPECTED, *UNUSED)

    with open_recording(tmp_path) as recording:
        assert EXPECTED == read_as(recording)
        assert UNUSED == {file.name: file.reason for file in recording.unused}
        assert all(
            files == tuple(sorted(files, key=lambda file: file.name))
            for files in recording.files.values()
        )


def test_bare_logs_and_confs_are_a_recording(tmp_path: Path) -> None:
    make(tmp_path, "pulsar-broker.log", "east/b1/broker.log.1", "broker.conf")

    with open_recording(tmp_path) as recording:
        assert {
            "pulsar-broker.log": ("log", "pulsar-broker"),
            "east/b1/broker.log.1": ("log", "b1"),
            "broker.conf": ("conf", "broker"),
        } == read_as(recording)


def test_single_log_is_a_recording(tmp_path: Path) -> None:
    make(tmp_path, "b1-2026-11-21-1.log", "notes.txt", "other.log")

    for name, broker in (("b1-2026-11-21-1.log", "b1"), ("notes.txt", "notes")):
        with open_recording(tmp_path / name) as recording:
            assert {name: ("log", broker)} == read_as(recording)
            assert (name, UTC, None) == (recording.name, recording.zone, recording.day)


def test_links_are_followed_and_circles_are_not(tmp_path: Path) -> None:
    make(tmp_path / "real", "x.log")
    (tmp_path / "recording/logs").mkdir(parents=True)
    (tmp_path / "recording/logs/b1").symlink_to(tmp_path / "real")
    (tmp_path / "real/loop").symlink_to(tmp_path / "recording")
    (tmp_path / "recording/gone.log").symlink_to(tmp_path / "nowhere")

    with open_recording(tmp_path / "recording") as recording:
        assert {"logs/b1/x.log": ("log", "b1")} == read_as(recording)
        assert (UnusedFile("gone.log", "not a regular file"),) == recording.unused


@pytest.mark.parametrize(
    ("plain", "packed_text", "is_copy"),
    [
        pytest.param(LINE, LINE, True, id="the same"),
        pytest.param(LINE * 2, LINE, True, id="it has grown since"),
        pytest.param(LINE, LINE * 2, False, id="there is more in it"),
        pytest.param(LINE, LINE.replace("z", "y"), False, id="another one"),
        pytest.param(LINE, "", False, id="nothing in it"),
    ],
)
def test_what_lies_packed_beside_itself_is_read_once(
    tmp_path: Path, plain: str, packed_text: str, is_copy: bool
) -> None:
    make(tmp_path, "logs/b1/x.log", "logs/b1/y.log.gz").joinpath("logs/b1/x.log").write_text(plain)
    (tmp_path / "logs/b1/x.log.gz").write_bytes(gzip.compress(packed_text.encode()))

    with open_recording(tmp_path) as recording:
        read = {"logs/b1/x.log", "logs/b1/x.log.gz", "logs/b1/y.log.gz"}
        assert set(read_as(recording)) == (read - {"logs/b1/x.log.gz"} if is_copy else read)
        unused = (UnusedFile("logs/b1/x.log.gz", "a packed copy of logs/b1/x.log"),)
        assert recording.unused == (unused if is_copy else ())


def test_a_packed_copy_that_breaks_off_is_none(tmp_path: Path) -> None:
    log = make(tmp_path, "logs/b1/x.log") / "logs/b1/x.log"
    log.with_name("x.log.gz").write_bytes(gzip.compress(log.read_bytes())[:-4])

    with open_recording(tmp_path) as recording:
        assert set(read_as(recording)) == {"logs/b1/x.log", "logs/b1/x.log.gz"}


def test_name_that_is_not_utf8_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    Path(bytes(tmp_path / "logs").decode() + "/b\udce9.log").write_text(LINE)

    with open_recording(tmp_path) as recording:
        [file] = recording.files["log"]
        assert ("logs/b\ufffd.log", LINE) == (file.name, file.path.read_text())


@pytest.mark.parametrize("name", ["b\udce9", "b\udce9.tar.gz", "b\udce9.log", "b\udce9.txt"])
def test_recording_whose_name_is_not_utf8_can_be_written(tmp_path: Path, name: str) -> None:
    given = tmp_path / name
    if given.suffix == ".gz":
        packed(given, logs__b1__x=LINE)
    elif given.suffix:
        given.write_text(LINE)
    else:
        make(given, "logs/b1/x.log")

    with open_recording(given) as recording:
        [file] = recording.files["log"]
        assert recording.name == name.removesuffix(".tar.gz").replace("\udce9", "\ufffd")
        assert (recording.name + file.name + file.log_broker).encode()
        assert file.path.read_text() == LINE


# ------------------------------------------------------------ recording.toml


def test_meta_is_flat_and_says_zone_and_day(tmp_path: Path) -> None:
    make(tmp_path, "logs/b/x.log")
    (tmp_path / "recording.toml").write_text(
        '\ufeffname = "night"\ntime_zone = "+08:00"\nfrom = "2026-11-21T20:00:00Z"\nn = [1, true]\n'
        '[brokers.b]\nid = "10.0.0.1:8080"\n'
    )

    with open_recording(tmp_path) as recording:
        assert {
            "name": "night",
            "time_zone": "+08:00",
            "from": "2026-11-21T20:00:00Z",
            "n": "[1, true]",
            "brokers.b.id": "10.0.0.1:8080",
        } == recording.meta
        assert "night" == recording.name
        assert timezone(timedelta(hours=8)) == recording.zone
        # Eight in the evening in Greenwich is the next morning in China.
        assert date(2026, 11, 22) == recording.day


@pytest.mark.parametrize(
    ("text", "zone", "day"),
    [
        ("", UTC, None),
        ('time_zone = "Asia/Shanghai"', ZoneInfo("Asia/Shanghai"), None),
        ('time_zone = "-0330"', timezone(-timedelta(hours=3, minutes=30)), None),
        ("from = 1795255200000", UTC, date(2026, 11, 21)),
        ("from = 2026-11-21T10:00:00Z", UTC, date(2026, 11, 21)),
        ("from = 2026-11-21", UTC, date(2026, 11, 21)),
        ('from = "2026-11-21T23:00:00"\ntime_zone = "+08:00"', None, date(2026, 11, 21)),
    ],
)
def test_zone_and_day(tmp_path: Path, text: str, zone: object, day: date | None) -> None:
    (make(tmp_path, "logs/b/x.log") / "recording.toml").write_text(text)

    with open_recording(tmp_path) as recording:
        assert day == recording.day
        assert zone is None or zone == recording.zone


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cluster = 1", "key cluster: found 1, expected text"),
        (
            'time_zone = "Mars"',
            "key time_zone: found 'Mars', expected such as '+08:00', 'UTC' or 'Asia/Shanghai'",
        ),
        ('time_zone = "../x"', "key time_zone: found '../x', expected such as"),
        ('from = "noon"', "key from: found 'noon', expected a time in ISO 8601"),
        ("to = true", "key to: found True, expected a time in ISO 8601"),
        ("brokers = 1", "key brokers: found 1, expected a table for each broker"),
        ("brokers.b = 1", "key brokers.b: found 1, expected a table such as"),
        ("brokers.b.id = 1", "key brokers.b.id: found 1, expected text such as"),
        ("cluster = ", "Invalid value (at "),
    ],
)
def test_meta_error_names_key_found_and_expected(tmp_path: Path, text: str, expected: str) -> None:
    refused = meta_refusal(tmp_path, text)
    assert refused.startswith(f"{tmp_path}/recording.toml: {expected}")


# -------------------------------------------------- nothing to read, archives


def test_nothing_there_is_an_error(tmp_path: Path) -> None:
    assert f"{tmp_path / 'x'}: no such file or folder" == refusal(tmp_path / "x")


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    empty, pictures = tmp_path / "empty", make(tmp_path / "pictures", "a.jpg", "b/c.jpg")
    empty.mkdir()
    expected = "expected logs/, load-reports.jsonl, store/, metrics/, conf/ or *.log files"

    assert f"{empty}: nothing to read: found nothing; {expected}" == refusal(empty)
    assert (
        f"{pictures}: nothing to read: found a.jpg (not part of a recording's layout), "
        f"b/c.jpg (not part of a recording's layout); {expected}" == refusal(pictures)
    )


def test_a_folder_that_may_not_be_looked_into_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "logs/b1/x.log", "logs/b2/x.log")
    scan = os.scandir

    def scan_if_allowed(path: str) -> Iterator[os.DirEntry[str]]:
        if Path(path).name == "b2":
            # As root, who runs tests in containers, no folder is shut.
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", scan_if_allowed)
    with open_recording(tmp_path) as recording:
        assert {"logs/b1/x.log": ("log", "b1")} == read_as(recording)
        assert (UnusedFile("logs/b2", "a folder that may not be looked into"),) == recording.unused


@pytest.mark.parametrize("name", ["x.log.xz", "night.tar.xz", "x.log.zst"])
def test_a_packed_file_that_is_not_read_is_refused(tmp_path: Path, name: str) -> None:
    make(tmp_path, name)
    assert refusal(tmp_path / name) == (
        f"{tmp_path / name}: of the packed files only gzip is read; "
        "expected a folder, .tar.gz, .tgz, .tar, .zip or a log"
    )


def test_a_file_that_is_no_archive_is_refused_in_one_line(tmp_path: Path) -> None:
    make(tmp_path, "night.tar.gz")
    assert refusal(tmp_path / "night.tar.gz") == (
        f"{tmp_path}/night.tar.gz: the archive cannot be unpacked: "
        "file could not be opened successfully"
    )


def test_an_archive_of_nothing_is_named(tmp_path: Path) -> None:
    archive = packed(tmp_path / "night.zip")
    assert refusal(archive).startswith(f"{archive}: nothing to read: found nothing; expected")


def packed(path: Path, **files: str) -> Path:
    """Make an archive; two underscores in a name stand for a slash."""
    named = {name.replace("__", "/"): text.encode() for name, text in files.items()}
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as zipped:
            for name, text in named.items():
                zipped.writestr(f"{name}.log", text)
    else:
        with tarfile.open(path, "w:gz") as tarred:
            for name, text in named.items():
                member = tarfile.TarInfo(f"{name}.log")
                member.size = len(text)
                tarred.addfile(member, io.BytesIO(text))
    return path


@pytest.mark.parametrize("name", ["night.tar.gz", "night.tgz", "night.zip"])
@pytest.mark.parametrize("around", ["", "around__", "backup__of__monday__"])
def test_archive_is_read_like_its_folder(tmp_path: Path, name: str, around: str) -> None:
    archive = packed(tmp_path / name, **{f"{around}logs__b1__x": LINE})

    with open_recording(archive) as recording:
        assert {"logs/b1/x.log": ("log", "b1")} == read_as(recording)
        [file] = recording.files["log"]
        assert ("night", LINE) == (recording.name, file.path.read_text())

    assert not file.path.exists()


@pytest.mark.parametrize("suffix", [".tar.gz", ".zip"])
@pytest.mark.parametrize("outside", ["..__evil", "logs__..__..__evil", "__evil"])
def test_archive_that_points_outside_is_refused(tmp_path: Path, suffix: str, outside: str) -> None:
    archive = packed(tmp_path / f"night{suffix}", **{outside: LINE})
    name = outside.replace("__", "/") + ".log"

    assert f"{archive}: refused: {name!r} would lie outside of it" == refusal(archive)
    assert [archive] == list(tmp_path.iterdir())


def test_links_in_an_archive_are_listed_and_not_followed(tmp_path: Path) -> None:
    archive = tmp_path / "night.tar"
    with tarfile.open(archive, "w") as tarred:
        link = tarfile.TarInfo("logs/b1/evil.log")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tarred.addfile(link)
        member = tarfile.TarInfo("logs/b1/x.log")
        tarred.addfile(member)

    with open_recording(archive) as recording:
        assert {"logs/b1/x.log": ("log", "b1")} == read_as(recording)
        assert (UnusedFile("logs/b1/evil.log", "not a regular file"),) == recording.unused


@pytest.mark.parametrize("name", ["night.tar.gz", "night.zip"])
def test_damaged_archive_is_an_error(tmp_path: Path, name: str) -> None:
    archive = packed(tmp_path / name, logs__b1__x=LINE * 1000)
    archive.write_bytes(archive.read_bytes()[:100])

    assert refusal(archive).startswith(f"{archive}: the archive cannot be unpacked: ")
