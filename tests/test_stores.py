"""Places in a store of objects, of which moto's S3 server is one, and what is written there."""

from __future__ import annotations

import io
import os
import pickle
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import LocalFileSystem

from folder_files import tree
from s3_server import BUCKET, SECRET, environment, faulty_proxy, fill, s3_server
from trimtab.files import stores
from trimtab.files.datasets import tables_in
from trimtab.files.generations import POINTER, GenerationError, begun, commit, current, generation
from trimtab.files.places import StorePath, files_below, named_by_arrow, place_of
from trimtab.files.stores import PlaceError, StoreError
from trimtab.ingest.pipeline import ingest_all
from trimtab.ingest.recording import open_recording
from trimtab.ingest.table_parts import parts_of
from trimtab.spark.runner import Here

pytestmark = pytest.mark.slow

NIGHT = Path(__file__).parent.parent / "recordings" / "threshold"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with s3_server() as running:
        yield running


@pytest.fixture
def place(url: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    use(url, monkeypatch)
    return place_of(f"s3://{BUCKET}/{request.node.name}")


def use(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(url).items():
        monkeypatch.setenv(name, value)
    stores.file_system.cache_clear()


def test_a_place_is_used_as_a_path(place: Path) -> None:
    assert isinstance(place, StorePath)
    assert not place.exists()
    (place / "b c" / "one.txt").write_text("one\ntwo\n")
    (place / "b c" / "two.log.gz").write_bytes(b"as it is")

    assert place.is_dir()
    assert ["b c"] == [it.name for it in place.iterdir()]
    assert ["b c/one.txt", "b c/two.log.gz"] == [
        it.relative_to(place).as_posix() for it in files_below(place)
    ]
    assert [place / "b c" / "one.txt"] == list(place.glob("*/*.txt"))
    assert [place / "b c" / "one.txt"] == list(place.rglob("o*"))
    assert b"as it is" == (place / "b c" / "two.log.gz").read_bytes()
    assert 8 == (place / "b c" / "one.txt").stat().st_size
    with (place / "b c" / "one.txt").open("rb", buffering=0) as file:
        assert (b"one", 5, b"wo\n", b"") == (file.read(3), file.seek(5), file.read(9), file.read(9))
    (place / "b c" / "one.txt").unlink()
    assert not (place / "b c" / "one.txt").exists()
    (place / "b c" / "one.txt").unlink(missing_ok=True)


def test_an_address_stays_one(place: Path) -> None:
    address = f"s3://{BUCKET}/a/b"

    assert address == str(place_of(f"{address}/"))
    assert str(pickle.loads(pickle.dumps(place_of(address)))) == address
    assert f"{address}/c" == str(place_of(address) / "c")
    assert Path("/tmp/x y") == place_of("file:///tmp/x%20y")
    assert Path("s3/b") == place_of("s3/b")


def test_what_a_store_cannot_do_is_not_done_to_this_machine(place: Path) -> None:
    with pytest.raises(TypeError, match="is in a store"):
        os.listdir(place)
    with pytest.raises(io.UnsupportedOperation, match="rename is nothing that a store can do"):
        place.rename("x")
    with pytest.raises(io.UnsupportedOperation, match="objects are written whole"):
        place.open("w")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ftp://host/x", "found an unknown scheme, expected a path, or an address of s3, gs"),
        ("s3:///x", "found no bucket, expected s3://BUCKET/…"),
        (f"s3://AKIA:{SECRET}@bucket/x", "found credentials in an address"),
    ],
)
def test_an_address_that_is_none_is_said(address: str, words: str) -> None:
    with pytest.raises(PlaceError) as error:
        place_of(address)

    assert words in str(error.value)
    assert SECRET not in str(error.value)


def test_a_file_system_may_call_the_top_as_it_likes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = LocalFileSystem(), str(tmp_path)
    monkeypatch.setattr(stores, "file_system", lambda *_: here)
    (tmp_path / "night").mkdir()
    place = place_of("hdfs://namenode:8020/night")
    (place / "one").write_text("1")

    assert ["hdfs://namenode:8020/night/one"] == list(map(str, files_below(place)))
    assert "1" == (tmp_path / "night" / "one").read_text()
    assert place / "x" == named_by_arrow(place, f"{tmp_path}/night/x")


def test_a_bucket_that_is_not_there_is_said(place: Path) -> None:
    nowhere = place_of("s3://nowhere-at-all/x")

    for call in (
        nowhere.exists,
        lambda: nowhere.write_bytes(b"x"),
        lambda: list(nowhere.iterdir()),
    ):
        with pytest.raises(StoreError, match=r"^s3://nowhere-at-all/x: there is no such bucket$"):
            call()


def test_a_server_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        use(f"http://127.0.0.1:{port}", monkeypatch)

        with pytest.raises(StoreError, match=f"^s3://b/x: nobody answers: 127.0.0.1 port {port}$"):
            place_of("s3://b/x").exists()


@pytest.mark.parametrize(
    ("said", "means"),
    [
        (
            "AWS Error SIGNATURE_DOES_NOT_MATCH during ListObjectsV2: AKIA… " + SECRET,
            "s3://b/x: the store refuses the credentials of the environment: "
            "SIGNATURE_DOES_NOT_MATCH",
        ),
        (
            "curlCode: 6; Could not resolve host: s3.local",
            "s3://b/x: there is no such host: s3.local",
        ),
        ("curlCode: 7, Couldn't connect to server", "s3://b/x: nobody answers: connection refused"),
        (
            "AWS Error SLOW_DOWN during GetObject: " + SECRET,
            "s3://b/x: the store failed: SLOW_DOWN",
        ),
        (SECRET, "s3://b/x: the store failed"),
    ],
)
def test_what_a_library_says_is_one_line_without_what_was_sent(said: str, means: str) -> None:
    with pytest.raises(StoreError) as error, stores.plain_faults("s3://b/x"):
        raise OSError(said)

    assert means == str(error.value)


def test_no_right_is_the_fault_of_one_object() -> None:
    with (
        pytest.raises(PermissionError, match="the store gives no right to it: 's3://b/x'"),
        stores.plain_faults("s3://b/x"),
    ):
        raise OSError("AWS Error ACCESS_DENIED during HeadObject operation: No response body.")


def test_a_large_object_is_read_by_ranges_and_further_ahead(
    url: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = os.urandom(20 << 20)
    (place / "large").write_bytes(content)
    with faulty_proxy(url, 1 << 30) as proxy:
        use(proxy.url, monkeypatch)
        with place_of(str(place / "large")).open("rb", buffering=0) as file:
            file.seek(1 << 20)
            assert content[1 << 20 : 9 << 20] == b"".join(file.read(1 << 20) for _ in range(8))
        gets = [path for command, path in proxy.calls if command == "GET"]

    # 1, 2, 4 and 8 MiB.
    assert 4 == len(gets)


def test_what_fails_now_and_then_is_tried_again(
    url: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {f"{i:02}": os.urandom(10_000 * i) for i in range(12)}
    with faulty_proxy(url, 4) as proxy:
        use(proxy.url, monkeypatch)
        for name, content in contents.items():
            (place / name).write_bytes(content)

        assert contents == {path.name: path.read_bytes() for path in files_below(place)}
        assert {"SlowDown", "InternalError", "cut"} == set(proxy.faults)


def test_who_looks_long_for_what_is_not_there_yet_meets_no_fault(
    url: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the library's own retries are worth.
    monkeypatch.setattr("trimtab.files.stores._ANEW", 1)
    with faulty_proxy(url, 3) as proxy:
        use(proxy.url, monkeypatch)
        absent = place_of(str(place / "absent"))
        for _ in range(150):
            assert not absent.exists()
            assert [] == list(files_below(absent))

        assert 100 < len(proxy.faults)


def test_a_generation_counts_at_once_and_the_one_before_stays(place: Path) -> None:
    names = []
    for number in range(3):
        earlier, new = generation(place), begun(place)
        (new / "file").write_text(str(number))
        before = current(place)
        commit(place, earlier, new)
        assert before != current(place) == new
        names.append(new.name)

    assert {POINTER, *names[1:]} == {it.name for it in place.iterdir()}
    assert "2" == (current(place) / "file").read_text()
    # Whoever asks for its size and then for its bytes may get those of the next one.
    assert 512 == (place / POINTER).stat().st_size


def test_the_docs_say_how_to_read_what_counts(url: str, place: Path, tmp_path: Path) -> None:
    with open_recording(NIGHT) as recording:
        [accounting] = ingest_all(Here(), [recording], tmp_path / "tables")
    new = begun(place / "tables")
    fill(tmp_path / "tables", new)
    commit(place / "tables", generation(place / "tables"), new)
    page = (NIGHT.parent.parent / "docs" / "spark.md").read_text("utf-8")
    programs = re.findall(r"(?ms)^```python\n(.*?)^```", page)
    [program] = (each for each in programs if "s3://explained/shop/tuesday/tables" in each)
    where = f"{place}/tables?scheme=http&endpoint_override={url.removeprefix('http://')}"
    names: dict[str, Any] = {}

    exec(program.replace("s3://explained/shop/tuesday/tables", where), names)

    assert accounting.tables["log_events"] == names["lines"].count_rows() > 0


def test_who_writes_beside_another_is_told(place: Path) -> None:
    earlier, one, other = generation(place), begun(place), begun(place)
    for new in (one, other):
        (new / "file").write_text(new.name)
    commit(place, earlier, one)

    with pytest.raises(GenerationError, match="another run has written there meanwhile; run again"):
        commit(place, earlier, other)
    assert one == current(place)


def test_what_is_not_ours_is_not_written_to(place: Path) -> None:
    (place / "of somebody else").write_text("")

    with pytest.raises(GenerationError, match="of somebody else: found something that no run has"):
        generation(place)


def test_ingest_is_the_same_with_faults_and_a_reader_beside(
    url: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(NIGHT, place / "threshold")
    with open_recording(NIGHT) as recording:
        [expected] = ingest_all(Here(), [recording], tmp_path / "tables")
    faults, generations, is_done = [], set(), threading.Event()

    def look() -> None:
        while not is_done.is_set():
            try:
                folder = current(place / "tables")
                files = {it.relative_to(folder).as_posix() for it in files_below(folder)}
            except Exception as error:
                faults.append(repr(error))
                continue
            if folder != place / "tables":
                generations.add(folder.name)
                faults.extend(sorted(set(tree(tmp_path / "tables")) ^ files))

    with faulty_proxy(url, 20) as proxy:
        use(proxy.url, monkeypatch)
        reader = threading.Thread(target=look)
        reader.start()
        try:
            for _ in range(2):
                with open_recording(place_of(str(place / "threshold"))) as recording:
                    [accounting] = ingest_all(Here(), [recording], place / "tables")
        finally:
            is_done.set()
            reader.join()
        assert {"SlowDown", "InternalError", "cut"} == set(proxy.faults)
    use(url, monkeypatch)

    assert not faults
    assert generations
    assert expected.totals == accounting.totals
    assert tree(tmp_path / "tables") == {
        path.relative_to(current(place / "tables")).as_posix(): path.read_bytes()
        for path in files_below(current(place / "tables"))
    }
    assert all(SECRET.encode() not in it.read_bytes() for it in files_below(place / "tables"))
    tables = tables_in(place / "tables", {}, ())
    assert expected.tables["log_events"] == tables["log_events"].count_rows() > 0
    for read in (tables.folder, place / "threshold"):
        parts = parts_of(read, "log_events", None)
        rows = sum(it.count_rows() for part in parts for it in part.datasets())
        assert expected.tables["log_events"] == rows
