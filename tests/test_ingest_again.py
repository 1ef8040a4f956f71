"""A recording is read again: only what is new is parsed, and the tables are as if all were."""

from __future__ import annotations

import gzip
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark import SparkContext

from folder_files import tree
from trimtab.files.partitions import clusters, part_files
from trimtab.ingest import pipeline, splits
from trimtab.ingest.accounting import Accounting, IngestError
from trimtab.ingest.pipeline import ingest, ingest_all
from trimtab.ingest.recording import open_recording

RECORDINGS = Path(__file__).parent.parent / "recordings"
LOG = "logs/broker1/pulsar-broker.log"
UNLOAD = (
    "2026-11-21T06:00:0{0},000+0000 [main] INFO  o.a.p.b.l.impl.ModularLoadManagerImpl - "
    "[ThresholdShedder] Unloading bundle: public/default/0x0000000{0}_0x80000000 "
    "from broker 10.0.0.1:8080 to dest broker 10.0.0.2:8080\n"
)


def inodes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_ino for path in folder.rglob("*.parquet")}


class Place:
    """A recording, and its tables."""

    def __init__(self, spark: SparkContext, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.recording, self.tables = folder / "night", folder / "tables"

    def ingest(self) -> Accounting:
        with open_recording(self.recording) as opened:
            return ingest(self.spark, opened, self.tables)

    def assert_as_anew(self) -> None:
        """The tables are, to the byte, those of somebody who never read it before."""
        anew = self.folder / "anew"
        with open_recording(self.recording) as opened:
            ingest(self.spark, opened, anew)
        assert tree(self.tables) == tree(anew)
        shutil.rmtree(anew)


@pytest.fixture
def place(spark: SparkContext, recordings: Path, tmp_path: Path) -> Place:
    """The mixed recording, which has been read once."""
    made = Place(spark, tmp_path)
    shutil.copytree(recordings / "mixed", made.recording)
    append(made.recording / LOG, "\n")
    made.ingest()
    return made


def size(recording: Path) -> int:
    """Add up the bytes of what is read line by line or whole, recording.toml aside."""
    unused = ("recording.toml", "README.md")
    files = (path for path in recording.rglob("*") if path.is_file() and "lab" not in path.parts)
    return sum(path.stat().st_size for path in files if path.name not in unused)


def test_nothing_new_is_nothing_parsed_and_nothing_changed(place: Place) -> None:
    before, files = tree(place.tables), inodes(place.tables)
    for path in place.recording.rglob("*"):
        # When a file was written is nobody's business.
        path.touch()

    accounting = place.ingest()

    assert before == tree(place.tables)
    assert size(place.recording) == accounting.bytes_known > 1000
    parts = [name for name in files if not name.startswith(("files", "recording", "store_files"))]
    again = inodes(place.tables)
    kept = [name for name in parts if again[name] == files[name]]
    # All but those that only show the columns of a table without rows.
    assert {name.split("/")[0] for name in parts} - {name.split("/")[0] for name in kept} == {
        "store_writes",
        "store_moves",
        "published_loads",
        "published_bundles",
    }
    assert ["night", "tables"] == sorted(path.name for path in place.folder.iterdir())


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_of_a_file_that_grew_only_the_new_lines_are_parsed(place: Place) -> None:
    read = size(place.recording)
    append(place.recording / LOG, UNLOAD.format(1) + "\tat a.b(C.java:1)\n" + UNLOAD.format(2))

    accounting = place.ingest()

    assert read == accounting.bytes_known
    rows = [row for file in accounting.files if file.file == LOG for row in (file.rows, file.lines)]
    assert [3, 9] == rows
    place.assert_as_anew()


def test_a_line_that_was_not_whole_is_read_again(place: Place) -> None:
    whole = size(place.recording)
    append(place.recording / LOG, UNLOAD.format(3)[:70])
    torn = place.ingest()
    append(place.recording / LOG, UNLOAD.format(3)[70:])

    accounting = place.ingest()

    assert (whole, whole) == (torn.bytes_known, accounting.bytes_known)
    place.assert_as_anew()


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8", errors="surrogateescape")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8", errors="surrogateescape")


#: What happens between two runs; each run sees all changes up to it.
CHANGES: dict[str, tuple[Callable[[Path], object], ...]] = {
    "edited, cut, removed, added": (
        lambda night: edited(night / LOG, "10.0.0.2:8080", "10.0.0.3:8080"),
        lambda night: (night / "actions.jsonl").write_bytes(
            (night / "actions.jsonl").read_bytes()[:-10]
        ),
        lambda night: (night / "store/brokers.jsonl").unlink(),
        lambda night: (night / "logs/broker1/a.log").write_text(UNLOAD.format(4)),
    ),
    "emptied, renamed, packed, a longer document": (
        lambda night: (night / "load-reports.jsonl").write_text(""),
        lambda night: (night / LOG).rename(night / LOG.replace(".log", "-1.log")),
        lambda night: (night / "logs/broker1/a.log").write_bytes(
            gzip.compress((night / "logs/broker1/a.log").read_bytes())
        ),
        lambda night: edited(
            night / "runtime-config/broker1.json", "{", '{"loadBalancerSheddingEnabled": "true",'
        ),
    ),
    "another zone": (lambda night: edited(night / "recording.toml", "+08:00", "+07:00"),),
    "another cluster": (lambda night: edited(night / "recording.toml", "mixed", "b=c/d"),),
}


def test_whatever_changes_the_tables_are_as_anew(place: Place) -> None:
    known = []
    for changes in CHANGES.values():
        for change in changes:
            change(place.recording)
        known.append((place.ingest().bytes_known, size(place.recording)))
        place.assert_as_anew()

    assert all(0 < count < whole for count, whole in known[:2])
    assert [0, 0] == [count for count, _ in known[2:]]


def test_of_zookeepers_files_what_counts_is_asked_again_if_one_changed(
    spark: SparkContext, tmp_path: Path
) -> None:
    place = Place(spark, tmp_path)
    shutil.copytree(RECORDINGS / "uniform", place.recording)
    first = place.ingest()
    before = tree(place.tables)

    same = place.ingest()

    assert before == tree(place.tables)
    assert same.bytes_known == sum(it["bytes"] for it in pieces(place.tables))
    [log] = (place.recording / "store/zookeeper").rglob("log.*")
    whole = gzip.decompress(log.read_bytes()).rstrip(b"\0")
    log.write_bytes(gzip.compress(whole[: len(whole) // 2]))
    less = place.ingest()
    assert 0 < less.tables["store_writes"] < first.tables["store_writes"]
    assert 0 < less.bytes_known < same.bytes_known
    place.assert_as_anew()


def pieces(tables: Path) -> list[dict[str, int]]:
    from trimtab.ingest.history import entries

    return [piece for entry in entries(tables) for piece in entry["pieces"]]


def test_any_history_gives_the_same_tables(
    spark: SparkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Splits of 200 bytes in many parts; files grow, are cut, edited and renamed."""
    monkeypatch.setattr(
        pipeline, "cut", lambda path, origin, source: splits.cut(path, origin, source, size=200)
    )
    monkeypatch.setattr(splits, "_TASK_WEIGHT_MIN", 1 << 16)
    place = Place(spark, tmp_path)
    place.recording.mkdir()
    rng = random.Random(3)
    names = ["actions.jsonl", "store/leader.jsonl", "logs/b/a.log", "logs/b/b.log"]
    known = []
    for step in range(5):
        for name in names if step == 0 else rng.sample(names, 2):
            changed(place.recording / name, rng)
        known.append(place.ingest().bytes_known)
        place.assert_as_anew()

    assert known[0] == 0
    # Once lines were joined, so that what follows has other numbers and all is read.
    assert sum(count > 0 for count in known) == 3


def changed(path: Path, rng: random.Random) -> None:
    """Write more lines to a file, or do something worse to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = path.read_bytes() if path.exists() else b""
    day = rng.choice([0, 86_400_000])
    more = "".join(
        f'{{"time": {day + 1000 * i}, "event": "e{rng.randrange(99)}", "leader": null}}\n'
        if path.suffix == ".jsonl"
        else UNLOAD.format(i % 10)
        for i in range(rng.randrange(1, 20))
    ).encode()
    match rng.choice(["grow", "grow", "grow", "tear", "cut", "join"]) if content else "grow":
        case "grow":
            content += more
        case "tear":
            content += more[: rng.randrange(len(more))]
        case "cut":
            content = content[: rng.randrange(len(content))]
        case "join":
            # As many bytes, but a line less: what follows has other numbers.
            content = content.replace(b"}\n{", b"} {", 1) if rng.random() < 0.5 else content
            content = content.replace(b"\n", b" ", 1)
    path.write_bytes(content)


def test_lines_before_that_were_joined_number_the_rest_anew(
    spark: SparkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        pipeline, "cut", lambda path, origin, source: splits.cut(path, origin, source, size=200)
    )
    monkeypatch.setattr(splits, "_TASK_WEIGHT_MIN", 1)
    monkeypatch.setattr(splits, "_TASKS", 1 << 20)
    place = Place(spark, tmp_path)
    place.recording.mkdir()
    log = place.recording / "actions.jsonl"
    log.write_text("".join(f'{{"time": {i}, "event": "e"}}\n' for i in range(60)))
    first = place.ingest()
    log.write_text(log.read_text().replace("\n", " ", 1))

    second = place.ingest()

    assert (60, 59) == (first.totals["lines"], second.totals["lines"])
    # What was known holds line by line, but no part could be kept with its numbers.
    assert 0 == second.bytes_known
    place.assert_as_anew()


def test_nights_and_clusters_stand_beside_each_other(
    place: Place, spark: SparkContext, recordings: Path
) -> None:
    tables = place.folder / "all"
    one, two = place.folder / "one", place.folder / "two"
    for night, cluster in ((one, "shop"), (two, "shop/eu 1%")):
        (night / "logs/b").mkdir(parents=True)
        (night / "logs/b/b.log").write_text(UNLOAD.format(1))
        (night / "recording.toml").write_text(f'cluster = "{cluster}"')
    nights = [place.recording, one, two]

    def read(paths: list[Path]) -> list[Accounting]:
        with open_recording(paths[0]) as a, open_recording(paths[-1]) as b:
            return ingest_all(spark, [a, b] if len(paths) > 1 else [a], tables)

    read(nights[:2])
    read([two])
    at_first = tree(tables)
    assert ["mixed", "shop", "shop/eu 1%"] == clusters(tables)
    [part] = part_files(tables, "log_events", "shop/eu 1%")
    assert "cluster=shop%2Feu 1%25/day=2026-11-21/part-two-00000.parquet" == str(
        part.relative_to(tables / "log_events")
    )

    # Another night of a cluster that is there, and one of those that are there once more.
    (two / "recording.toml").write_text('cluster = "shop"')
    read([two, one])

    files = part_files(tables, "log_events", "shop")
    assert ["part-one-00000.parquet", "part-two-00000.parquet"] == [path.name for path in files]
    now = tree(tables)
    untouched = {name for name in at_first if "cluster=mixed" in name or "eu 1" in name}
    assert len(untouched) > 20
    assert {name: at_first[name] for name in untouched} == {name: now[name] for name in untouched}

    # In any order it comes to the same.
    shutil.rmtree(tables)
    read([two, one])
    (two / "recording.toml").write_text('cluster = "shop/eu 1%"')
    read([two, place.recording])
    assert now == tree(tables)


def test_two_recordings_of_one_name_are_refused(place: Place, spark: SparkContext) -> None:
    (place.folder / "other").mkdir()
    shutil.copytree(place.recording, place.folder / "other/night")

    with (
        open_recording(place.recording) as one,
        open_recording(place.folder / "other/night") as two,
        pytest.raises(IngestError) as error,
    ):
        ingest_all(spark, [one, two], place.tables)

    assert (
        "two recordings of cluster mixed are named night; give one of them another name in its "
        "recording.toml" == str(error.value)
    )
