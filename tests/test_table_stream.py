"""`spark.readStream.format("trimtab")`: rows are those of `spark.read`, however they came."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxFiles

from tests.follow_writer import Cluster
from tests.table_streams import Offset, between, following, read, reader_of, rows, streamed
from trimtab.files.datasets import columns_of
from trimtab.files.errors import TrimtabError
from trimtab.files.tables import INGESTED
from trimtab.ingest.data_source import TrimtabSource
from trimtab.ingest.growing.positions import offset_of, positions_of
from trimtab.ingest.growing.table_stream import StreamReader
from trimtab.ingest.recording_toml import RecordingError
from trimtab.ingest.table_reader import TableReader

ROOT = Path(__file__).parents[1]
NIGHT = ROOT / "recordings" / "threshold"
#: Which of ZooKeeper's writes count is known once all of them were looked at.
WHOLE = {"store_moves", "store_writes", "store_files"}
_LOGGER = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"


def stored(path: Path, table: str) -> pa.Table:
    """Return what `spark.read` gives."""
    reader = TableReader(path, table, from_arrow_schema(columns_of(table)))
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return pa.Table.from_batches(batches, reader.columns)


def line(n: int) -> str:
    """Return a line that is an event."""
    text = f"[ThresholdShedder] Unloading bundle: t/n/0x{n:08x}_0xffffffff from broker b0:1"
    return f"2026-11-21T06:00:{n:02},000+0000 [pulsar-load-manager-1-1] INFO  {_LOGGER} - {text}\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of three lines in a recording."""
    path = tmp_path / "night" / "logs" / "b0" / "broker.log"
    path.parent.mkdir(parents=True)
    path.write_text("".join(map(line, range(3))))
    return path


def summed(files: pa.Table) -> list[str]:
    """Return the accounting with what was read of a file at several times as one row."""
    counts = ["lines", "rows", "other", "continuation", "rejected"]
    sums = files.group_by(["file", "source"]).aggregate([(name, "sum") for name in counts])
    return rows(sums)


@pytest.mark.slow
@pytest.mark.parametrize("table", [name for name in INGESTED if name not in WHOLE])
def test_a_finished_recording_gives_the_rows_of_the_batch_reader(table: str) -> None:
    expected, found = stored(NIGHT, table), streamed(NIGHT, table, ReadMaxBytes(1 << 20))

    if table == "files":
        assert summed(expected) == summed(found)
    else:
        assert rows(expected) == rows(found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_each_line_of_a_recording_that_lives_comes_once(tmp_path: Path, seed: int) -> None:
    """Logs grow in pieces, are rotated and packed between batches, and within them."""
    dice = random.Random(seed)
    cluster = Cluster(tmp_path / "night", seed)
    tables = ("log_events", "actions", "metrics", "load_reports", "files")
    come: dict[str, list[pa.Table]] = {name: [] for name in tables}
    start: Offset = {}
    planner = reader_of(tmp_path / "night", "files")

    def take() -> bool:
        """Read a batch; the disk may change between its plan and its reading."""
        nonlocal start, planner
        if dice.random() < 0.4:
            planner = reader_of(tmp_path / "night", "files")
        limit = dice.choice([ReadAllAvailable(), ReadMaxBytes(dice.randrange(1, 9000))])
        end = following(planner, start, dice.choice([limit, ReadMaxFiles(2)]))
        assert end == offset_of(positions_of(end, planner.path), planner.path)
        if end == start:
            return False
        parts = planner.partitions(start, end)
        for _ in range(dice.choice([0, 0, 1, 4])):
            cluster.tick()
        come["files"].append(read(planner, parts))
        for name in tables[:-1]:
            come[name].append(between(tmp_path / "night", name, start, end))
        start = end
        return True

    for _ in range(60):
        cluster.tick()
        if dice.random() < 0.5:
            take()
    cluster.finish()
    shown = cluster.told
    while take() or cluster.told != shown:
        cluster.finish()
        shown = dict(cluster.told)

    all_rows = {name: pa.concat_tables(those) for name, those in come.items()}
    events = all_rows["log_events"]
    assert cluster.told["lines"] == pc.sum(all_rows["files"]["lines"]).as_py()
    assert 0 == pc.sum(all_rows["files"]["rejected"]).as_py()
    bundles = Counter(f"t/n/0x{i:08x}_0xffffffff" for i in range(cluster.told["unloads"]))
    assert bundles == Counter(events["bundle"].to_pylist())
    places = zip(events["file"].to_pylist(), events["line"].to_pylist(), strict=True)
    assert len(set(places)) == len(events)
    counts = {"actions": "actions", "metrics": "samples", "load_reports": "reports"}
    for name, count in counts.items():
        assert cluster.told[count] == len(all_rows[name])


def test_a_torn_line_waits_for_its_end(log: Path) -> None:
    root = log.parents[2]
    with log.open("a") as file:
        file.write(line(3)[:70])
    first = following(reader_of(root, "log_events"), {})
    assert 3 == len(between(root, "log_events", {}, first))

    assert first == following(reader_of(root, "log_events"), first)
    with log.open("a") as file:
        file.write(line(3)[70:])
    second = following(reader_of(root, "log_events"), first)
    [row] = between(root, "log_events", first, second).to_pylist()
    assert ("t/n/0x00000003_0xffffffff", 4) == (row["bundle"], row["line"])


def test_what_is_wrong_with_a_line_is_counted_as_by_the_batch_reader(log: Path) -> None:
    root = log.parents[2]
    actions = root / "actions.jsonl"
    actions.write_text('{"time": 1795212000000, "event": "begin"}\n{"time": \n')
    first = following(reader_of(root, "rejects"), {})
    with actions.open("a") as file:
        file.write('no JSON\n{"time": 1795212000001, "event": "end"}\n')
    second = following(reader_of(root, "rejects"), first)

    for table in ("rejects", "files", "actions"):
        steps = ((), first), (first, second)
        found = pa.concat_tables(between(root, table, dict(a), b) for a, b in steps)
        expected = stored(root, table)
        if table == "files":
            assert summed(expected) == summed(found)
        else:
            assert rows(expected) == rows(found)
    assert [2, 3] == sorted(stored(root, "rejects")["line"].to_pylist())


@pytest.mark.parametrize("packed", [True, False])
def test_a_batch_that_was_begun_is_read_from_where_the_log_is_by_then(
    log: Path, packed: bool
) -> None:
    root = log.parents[2]
    reader = reader_of(root, "log_events")
    end = following(reader, {})
    parts = reader.partitions({}, end)
    expected = read(reader, parts)
    old = log.with_name("broker.log.1")
    if packed:
        old.with_name("broker.log.1.gz").write_bytes(gzip.compress(log.read_bytes()))
    else:
        shutil.copyfile(log, old)
    # As copytruncate leaves it: the same file, with other lines.
    with log.open("r+") as file:
        file.truncate()
        file.write("".join(map(line, range(30, 40))))

    assert 3 == len(expected)
    assert rows(expected) == rows(read(reader, parts))
    assert rows(expected) == rows(between(root, "log_events", {}, end))
    after = following(reader_of(root, "log_events"), end)
    assert 10 == len(between(root, "log_events", end, after))


@pytest.mark.parametrize("happens", ["packed", "replaced", "removed"])
def test_a_log_may_be_packed_while_it_is_read_and_nothing_else(log: Path, happens: str) -> None:
    root = log.parents[2]
    reader = reader_of(root, "log_events")
    [task] = reader.partitions({}, following(reader, {}))
    [piece] = task.value.pieces
    held = log.read_bytes()
    blocks = task.value._blocks(piece)
    assert next(blocks)
    log.unlink()
    if happens == "packed":
        log.with_name("broker.log.1.gz").write_bytes(gzip.compress(held))
        assert [] == list(blocks)
        return
    if happens == "replaced":
        # By one that begins and ends alike, as if it had been copied, cut and written to.
        log.with_name("broker.log.1").write_bytes(held[:64] + b"x" + held[65:])
    with pytest.raises(RecordingError, match=r"broker.log: found no file that has its bytes 0 to"):
        list(blocks)


def test_bytes_that_are_gone_end_the_query_unless_they_may_be_lost(log: Path) -> None:
    root = log.parents[2]
    reader = reader_of(root, "files")
    end = following(reader, {})
    parts = reader.partitions({}, end)
    log.write_text("".join(map(line, range(30, 40))))
    message = (
        r"^logs/b0/broker.log: found no file that has its bytes 0 to \d+, expected them for a "
        "batch that was begun; with failOnDataLoss=false they count as one rejected line$"
    )

    with pytest.raises(RecordingError, match=message):
        read(reader, parts)
    with pytest.raises(RecordingError, match=message):
        between(root, "files", {}, end)
    [lost] = between(root, "files", {}, end, failOnDataLoss="false").to_pylist()
    assert (1, 1) == (lost["lines"], lost["rejected"])
    [said] = between(root, "rejects", {}, end, failOnDataLoss="false").to_pylist()
    assert f"vanished or was replaced with {3 * len(line(0))} bytes" in said["reason"]
    after = following(reader_of(root, "files"), end)
    assert 10 == len(between(root, "log_events", end, after))


def test_a_log_that_vanishes_unread_is_accounted_for(log: Path) -> None:
    root = log.parents[2]
    reader = reader_of(root, "files")
    first = following(reader, {}, ReadMaxBytes(1))
    log.unlink()
    waiting = reader_of(root, "files", rest="1000")
    assert first == following(waiting, first) == following(waiting, first)
    second = following(reader, first)

    assert "vanished with" in between(root, "rejects", first, second)["reason"][0].as_py()
    assert [1] == between(root, "files", first, second)["rejected"].to_pylist()
    assert second == following(reader_of(root, "files"), second)


def test_what_comes_later_is_not_read_by_what_is_available_now(log: Path) -> None:
    root = log.parents[2]
    reader = reader_of(root, "log_events")
    reader.prepareForTriggerAvailableNow()
    with log.open("a") as file:
        file.write(line(3))
    log.with_name("other.log").write_text(line(4))
    end = following(reader, {})

    assert 3 == len(read(reader, reader.partitions({}, end)))
    assert end == following(reader, end)


def test_limits_are_kept(log: Path) -> None:
    root = log.parents[2]
    for n in range(5):
        (root / "logs" / f"b{n}").mkdir(exist_ok=True)
        shutil.copyfile(log, root / "logs" / f"b{n}" / "broker.log") if n else None

    for limit, option in (
        (ReadMaxFiles(2), {"maxFilesPerTrigger": "2"}),
        (ReadMaxBytes(2 * len(line(0))), {"maxBytesPerTrigger": str(2 * len(line(0)))}),
    ):
        reader = reader_of(root, "files", **option)
        assert limit == reader.getDefaultReadLimit()
        start: Offset = {}
        sizes = []
        while (end := following(reader, start, limit)) != start:
            sizes.append(read(reader, reader.partitions(start, end))["lines"].to_pylist())
            start = end
        assert 15 == sum(map(sum, sizes))
        assert all(len(it) <= 2 and (len(it) <= 2 or sum(it) <= 2) for it in sizes)
    assert (
        ReadMaxBytes(64 << 20)
        == reader_of(root, "files", maxBytesPerTrigger="64m").getDefaultReadLimit()
    )


def test_options_drop_rows_and_schemas_drop_columns(log: Path) -> None:
    root = log.parents[2]
    source = TrimtabSource(
        {"path": str(root), "from": "2026-11-21T06:00:01", "to": "2026-11-21T06:00:02", "rest": "0"}
    )
    asked = pa.schema([columns_of("log_events").field("bundle")])
    reader = source.streamReader(from_arrow_schema(asked))
    assert isinstance(reader, StreamReader)
    end = reader.latestOffset({}, ReadAllAvailable())

    found = read(reader, reader.partitions({}, end))
    assert [{"bundle": "t/n/0x00000001_0xffffffff"}] == found.to_pylist()


def test_recording_toml_counts_as_it_was_at_first(log: Path) -> None:
    root = log.parents[2]
    toml = root / "recording.toml"
    toml.write_text('cluster = "one"\ntime_zone = "+08:00"\n')
    first = following(reader_of(root, "recording"), {})
    expected = rows(stored(root, "recording"))
    toml.write_text('cluster = "two"\n')
    with log.open("a") as file:
        file.write(line(3))
    second = following(reader_of(root, "recording"), first)

    assert expected == rows(between(root, "recording", {}, first))
    assert 0 == len(between(root, "recording", first, second))
    assert ["one"] == between(root, "log_events", first, second)["cluster"].to_pylist()


def test_a_line_without_a_date_is_rejected_unless_the_recording_has_one(log: Path) -> None:
    log.write_text(line(0).partition("T")[2])
    [rejected] = streamed(log.parents[2], "rejects").to_pylist()
    assert "time 06:00:00 without a date; expected a date in the line" in rejected["reason"]

    (log.parents[2] / "recording.toml").write_text('from = "2026-11-21T05:00:00Z"\n')
    [event] = streamed(log.parents[2], "log_events").to_pylist()
    assert datetime(2026, 11, 21, 6, tzinfo=UTC) == event["time"]


def test_an_empty_folder_is_waited_for(tmp_path: Path) -> None:
    assert {} == following(reader_of(tmp_path, "log_events"), {})
    assert [] == reader_of(tmp_path, "log_events").partitions({}, {})


WRONG = [
    ({"table": "store_writes"}, "table: found store_writes, expected one that is read line by "),
    ({"table": "replayed_rounds"}, "table: found replayed_rounds, expected one that is read line"),
    ({"path": "s3://bucket/night"}, "path: found an address, s3://bucket/night, expected the "),
    ({"path": "{log}"}, "path: found a file, {log}, expected the folder of a recording on this "),
    ({"pushdown": "true"}, "option: found pushdown, expected none: Spark hands no filters to a "),
    ({"kinds": "unload"}, "option: found kinds, expected 'kind'"),
    ({"maxFilesPerTrigger": "0"}, "maxFilesPerTrigger: found '0', expected a whole number above 0"),
    ({"maxBytesPerTrigger": "2 mb"}, "maxBytesPerTrigger: found '2 mb', expected a size, such as "),
    (
        {"maxBytesPerTrigger": "2", "maxFilesPerTrigger": "2"},
        "maxBytesPerTrigger: found maxFilesPerTrigger beside it, expected one of the two",
    ),
    ({"failOnDataLoss": "no"}, "failOnDataLoss: found 'no', expected true or false"),
    ({"rest": "-1"}, "rest: found '-1', expected a number of seconds, 0 or more"),
    ({"from": "noon"}, "key from: found 'noon', expected a time in ISO 8601"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_cannot_be_streamed_is_refused(
    log: Path, options: dict[str, str], message: str
) -> None:
    given = {name: value.replace("{log}", str(log)) for name, value in options.items()}
    source = TrimtabSource({"path": str(log.parents[2]), **given})

    with pytest.raises(TrimtabError) as error:
        source.streamReader(from_arrow_schema(columns_of("files")))
    assert str(error.value).startswith(message.replace("{log}", str(log)))


def test_folders_that_are_no_growing_recording_are_refused(tmp_path: Path, log: Path) -> None:
    (tmp_path / "tables" / "files" / "cluster=one").mkdir(parents=True)
    with pytest.raises(TrimtabError, match=r"^path: found a folder of tables, .*, expected the "):
        reader_of(tmp_path / "tables", "files")
    with pytest.raises(TrimtabError, match="nothing: found nothing, expected the folder of a rec"):
        following(reader_of(tmp_path / "nothing", "files"), {})

    root = log.parents[2]
    end = following(reader_of(root, "files"), {})
    other = shutil.copytree(root, tmp_path / "other")
    with pytest.raises(TrimtabError, match=r"^path: found .*other, expected .*night, as the check"):
        following(reader_of(other, "files"), end)
    with pytest.raises(TrimtabError, match=r"offset: found version 2, expected version 1$"):
        following(reader_of(root, "files"), {**end, "version": 2})


def test_a_table_of_files_that_are_not_made_of_lines_is_refused(log: Path) -> None:
    root = log.parents[2]
    store = root / "store" / "zookeeper" / "version-2" / "log.1"
    store.parent.mkdir(parents=True)
    store.write_bytes(b"")

    with pytest.raises(TrimtabError) as error:
        following(reader_of(root, "ownership"), {})
    assert str(error.value) == (
        "store/zookeeper/version-2/log.1: found a file of ZooKeeper's, which has rows of "
        "ownership, expected files that are made of lines: read ownership with spark.read"
    )
    assert 3 == len(streamed(root, "log_events"))


def test_an_offset_says_how_far_each_file_was_read(log: Path) -> None:
    root = log.parents[2]
    end = following(reader_of(root, "files"), {})

    assert {"0": (log.stat().st_size, "logs/b0/broker.log")} == {
        number: (file["offset"], file["name"]) for number, file in end["files"].items()
    }
    assert {"logs/b0/broker.log": 3} == end["lines"]
    assert len(json.dumps(end)) < 1000
