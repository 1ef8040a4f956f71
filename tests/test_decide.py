"""`trimtab decide` on the command line: what goes in, what comes out, and when."""

from __future__ import annotations

import gzip
import json
import os
import select
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from click.testing import CliRunner, Result
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from trimtab.cli import main

FIXTURE = Path(__file__).parent / "testdata" / "decide" / "decide.txt"
# A generous wait for a first answer: a process starts, and the machine is shared.
PATIENCE_S = 240


class Decide:
    """The command, with the input on its standard input."""

    def decide(
        self,
        lines: tuple[str, ...],
        *,
        release: str = "",
        strategy: str = "",
        explain: str = "no",
        json: str = "no",
    ) -> str:
        arguments = [f"--release={release}"] * bool(release)
        arguments += [f"--strategy={strategy}"] * bool(strategy)
        arguments += ["--explain"] * (explain == "yes") + ["--json"] * (json == "yes")
        result = decided("".join(f"{line}\n" for line in lines), *arguments)
        end = f"exit {result.exit_code}\n" if result.exit_code else ""
        return (result.stdout + result.stderr + end).strip()


def decided(given: str | bytes, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["decide", *arguments], input=given, catch_exceptions=False)


def line(name: str, **fields: Any) -> str:
    empty = {"id": name, "strategy": "ThresholdShedder", "version": "4.0.8", "rounds": []}
    return json.dumps({**empty, **fields})


def ids(result: Result) -> list[str]:
    return [json.loads(text)["id"] for text in result.stdout.splitlines()]


def test_decide(tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    file_regression.check(
        run(FIXTURE, Decide()),
        encoding="utf-8",
        fullpath=FIXTURE,
        obtained_filename=tmp_path / FIXTURE.name,
    )


# ------------------------------------------------------------------ where lines come from


def test_file_plain_or_packed_and_standard_input_are_read_alike(tmp_path: Path) -> None:
    text = f"{line('one')}\n\n{line('two')}"  # a blank line, and none after the last
    (tmp_path / "plain").write_text(text)
    (tmp_path / "packed").write_bytes(gzip.compress(text.encode()))
    results = [
        decided("", str(tmp_path / "plain")),
        decided("", str(tmp_path / "packed")),
        decided(text),
        decided(text, "-"),
        decided(gzip.compress(text.encode()), "-"),
    ]

    assert {result.exit_code for result in results} == {0}
    assert {tuple(ids(result)) for result in results} == {("one", "two")}
    assert decided("").stdout == ""


def test_errors_name_the_file_and_the_line(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    path.write_bytes(b"{\n\n" + line("good").encode() + b'\n{"id": "\xff"}\n')

    result = decided("", str(path))

    assert ids(result) == ["good"]
    assert result.stderr.splitlines() == [
        f"{path}:1: the line: found '' at 2, expected JSON "
        "(Expecting property name enclosed in double quotes)",
        f"{path}:4: the line: found byte 0xff at 9, expected text in UTF-8",
    ]
    assert result.exit_code == 2


def test_a_line_that_json_can_hold_and_nobody_should_write_is_refused() -> None:
    deep, long = "[" * 100_000, "9" * 5_000

    result = decided(f"{deep}\n{line('good')}\n{long}\n")

    assert ids(result) == ["good"]
    assert result.stderr.splitlines() == [
        "-:1: the line: found too many brackets in brackets, expected a sequence",
        "-:3: the line: found a number of too many digits, expected a sequence",
    ]


@pytest.mark.parametrize("cut", [12, -6])
def test_a_file_that_breaks_off_is_named(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(f"{line('one')}\n".encode())[:cut])

    result = decided("", str(path))

    assert result.stderr.startswith(f"trimtab: {path}: ")
    assert result.exit_code == 2
    assert decided("", str(tmp_path / "missing")).stderr == (
        f"trimtab: {tmp_path / 'missing'}: No such file or directory\n"
    )


# ------------------------------------------------------------------ when answers come


@contextmanager
def started() -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "trimtab", "decide", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def answer(stream: IO[bytes]) -> Any:
    """Wait for one line, not for more."""
    text = b""
    while not text.endswith(b"\n"):
        ready, _, _ = select.select([stream], [], [], PATIENCE_S)
        assert ready, f"no answer within {PATIENCE_S} s, {text!r} so far"
        text += os.read(stream.fileno(), 1)
    return json.loads(text)


@pytest.mark.parametrize("is_packed", [False, True])
def test_each_answer_comes_before_the_next_question(is_packed: bool) -> None:
    packer = zlib.compressobj(wbits=31)
    with started() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for name in ("first", "second"):
            text = f"{line(name)}\n".encode()
            if is_packed:
                text = packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH)
            process.stdin.write(text)
            process.stdin.flush()
            assert answer(process.stdout)["id"] == name
        process.stdin.write(packer.flush() if is_packed else b"")
        process.stdin.close()

        assert process.wait(PATIENCE_S) == 0


def test_neither_spark_nor_pandas_is_loaded() -> None:
    code = (
        "import sys; from trimtab.cli import main; main(['decide', '-'], standalone_mode=False);"
        "print(sorted({'pyspark', 'pandas', 'pyarrow'} & {name for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input="", capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"
