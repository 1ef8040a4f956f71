"""The command line of a checkout: every command in a process of its own, forked from one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import pyarrow.parquet as pq

#: What a run or the program itself decides: seconds, and a digest of the code.
LEFT_OUT = ("timings.parquet", "sweep.json", ".lock")

#: Imports after each command what it needed, so that the next one starts at once.
FORKING = """
import atexit, importlib, importlib.metadata, json, os, sys
(point,) = importlib.metadata.entry_points(group="console_scripts", name="trimtab")
known = set(sys.modules)
for line in sys.stdin:
    arguments, out, err, modules = json.loads(line)
    child = os.fork()
    if child == 0:
        for stream, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        atexit.register(lambda: open(modules, "w").write(json.dumps(list(sys.modules))))
        sys.argv = ["trimtab", *arguments]
        sys.exit(point.load()())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    needed = [name for name in json.load(open(modules)) if name not in known]
    known.update(needed)
    for name in needed:
        try:
            importlib.import_module(name)
        except Exception:
            pass
    print(code, flush=True)
"""

#: A name within its section and subject, and what is there.
Artefact: TypeAlias = tuple[str, bytes]


class Commands:
    """The command line of a checkout, and the recordings that it is tried on."""

    def __init__(self, checkout: Path, scratch: Path, recordings: Mapping[str, str]) -> None:
        """Start the process that commands are forked from."""
        self.checkout, self.scratch, self.recordings = checkout, scratch, recordings
        self._process = subprocess.Popen(
            [checkout / ".venv" / "bin" / "python", "-c", FORKING],
            cwd=checkout,
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        version = self.output("--version").split()[-1]
        self._neutral = [
            (re.escape(str(scratch)), "SCRATCH"),
            *(
                (re.escape(path), f"RECORDING-{name}")
                for name, path in recordings.items()
                if Path(path).is_absolute()
            ),
            (re.escape(str(checkout)), "CHECKOUT"),
            (rf"(?<![\d.]){re.escape(version)}(?![\d.])", "VERSION"),
            (r'(?<="read_as": ")\w+', "PROGRAM"),
        ]

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def output(self, *arguments: str) -> str:
        """Return what a command prints, as it is."""
        self._run(arguments)
        return (self.scratch / "stdout").read_text(encoding="utf-8")

    def console(self, *arguments: str) -> bytes:
        """Return the exit code of a command and what it prints on both streams."""
        code = self._run(arguments)
        out, err = ((self.scratch / name).read_bytes() for name in ("stdout", "stderr"))
        return self.neutral(b"exit %d\n%s\n-- stderr\n%s" % (code, out, err))

    def written(self, folder: Path) -> Iterator[Artefact]:
        """Return the files below a folder, and beside each table its schema and rows."""
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name not in LEFT_OUT:
                name = path.relative_to(folder).as_posix()
                yield name, self.neutral(path.read_bytes())
                if path.suffix == ".parquet":
                    yield f"{name}.rows", rows(path)

    def neutral(self, content: bytes) -> bytes:
        """Return content without what may differ from one machine or release to another."""
        for pattern, word in self._neutral:
            content = re.sub(pattern.encode(), word.encode(), content)
        return content

    def fresh(self) -> Path:
        """Return a folder to write into, of a name that is always the same, and not there yet."""
        folder = self.scratch / "output"
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def _run(self, arguments: Sequence[str]) -> int:
        """Return the exit code of a command whose streams go into files."""
        paths = [str(self.scratch / name) for name in ("stdout", "stderr", "modules")]
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        assert pipe_in is not None and pipe_out is not None
        pipe_in.write(json.dumps([arguments, *paths]) + "\n")
        pipe_in.flush()
        return int(pipe_out.readline())


def rows(path: Path) -> bytes:
    """Return the schema and the rows of a table, a line each, every number with all its digits."""
    table = pq.ParquetFile(path).read()
    lines = (json.dumps(row, default=str) for row in table.to_pylist())
    return "\n".join([str(table.schema.remove_metadata()), *lines]).encode()
