"""Show that a change of the code changes no behaviour: digests of all that trimtab writes.

python -m tools.unchanged write FILE [--checkout DIR] [--keep DIR] [RECORDING...]
python -m tools.unchanged write FILE --only explain --only-recording threshold
python -m tools.unchanged compare BEFORE AFTER

`write` runs the commands of a checkout, one at a time, and writes a line for each thing that they
print or write: its digest and its name, `section/subject/artefact`.  RECORDING is a folder beside
those of the checkout.  `--keep` keeps the artefacts themselves, for a diff.  `compare` prints the
lines that differ, and exits with 1 if any does; what was left out of either file is left out.

The package is driven by its command line alone, so its modules may have any names and places.
To save the start of Python, commands of one section are forked from one process, which imports
after each command what that one needed; so the first of each section starts cold.

Replaced before a digest is taken: paths of the checkout, of the recording and of the output;
trimtab's version; and `read_as` in accounting.json, which is a digest of the program.
Left out: timings.parquet (seconds of each run) and sweep.json (a digest of the program).
Not run: gather, plan, apply, drain, restart-plan, and watch but for what it prints offline, as
they need a live cluster; --follow; --master.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent

#: Pairs that `trimtab compare` takes where none is named.
STRATEGIES = (
    "none",
    "AvgShedder",
    "ThresholdShedder",
    "ThresholdShedder+LeastResourceUsageWithWeight",
    "UniformLoadShedder",
    "OverloadShedder",
)
#: The one whose history and picture are looked at, too: a picture takes longer than most runs.
DRAWN = "ThresholdShedder+LeastResourceUsageWithWeight"
#: One of each line that decides in another way.
RELEASES = ("2.10.4", "3.0.0", "3.0.7", "3.3.5", "4.0.0", "5.0.1")
#: Small scenarios: one that is joined, one that is drawn, one killed, one that forgets, one split.
BY_RELEASE = ("S05", "S02c", "book-kill2", "leader-failover-cold-ema", "hot-bundle-split")
#: Scenario, and how it is recorded.
RECORDED = {
    "S05": ("--strategy", "AvgShedder", "--minutes", "75"),
    "S02c": ("--strategy", DRAWN, "--seed", "3", "--gzip", "--export", "--metrics-s", "300"),
    "book-kill2": ("--strategy", "UniformLoadShedder", "--noise", "60", "--rest-s", "0"),
}
#: Vectors of each strategy that are decided as other releases, and told.
VECTORS_MAX = 60
#: Bundles of a recording whose stories are told.
STORIES_MAX = 6

#: Sections whose subjects are recordings, all or some of them.
OF_RECORDINGS = ("lint", "explain", "ingest", "rerun", "what-if")
#: What a run or the program itself decides: seconds, and a digest of the code.
LEFT_OUT = ("timings.parquet", "sweep.json", ".lock")
ONE_CORE = ("--cores", "1")
AVG = "recordings/avg"

GRID = """
scenarios = ["S05", "S08"]
seeds = [7, 8]
releases = ["3.3.5", "4.0.8"]
strategies = [
    "none",
    "UniformLoadShedder",
    { shedder = "ThresholdShedder", placement = "LeastResourceUsageWithWeight", \
settings = { loadBalancerBrokerThresholdShedderPercentage = [5, 20] } },
]
"""
#: Name → command, but for where it writes.
EXPERIMENTS = {
    "sweep": ("sweep", "{grid}", "--json"),
    "compare": ("compare", "S05", "S02c", "book-kill2", "--seeds", "3"),
    "compare --set": (
        *("compare", "S16", "--strategies", "AvgShedder,ThresholdShedder", "--seeds", "2"),
        *("--json", "--set", "loadBalancerBrokerThresholdShedderPercentage=5"),
        *("--set", "loadBalancerBrokerThresholdShedderPercentage=20"),
    ),
    "reproduce": ("reproduce", "--seeds", "1", "--json"),
    "rate": ("rate", "--seeds", "1", "--json"),
}
#: Command → what it prints without a cluster.
OFFLINE = {
    "simulate": (("--list",), ("S05", "--strategy", "NoSuchShedder")),
    "reproduce": (("--list",),),
    "watch": (("--print-rules",), ("--print-dashboard",)),
}

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


@dataclass(frozen=True, slots=True)
class Choice:
    """What is looked at; all of it where nothing is said."""

    #: Sections, or `section/subject`.
    only: tuple[str, ...] = ()
    recordings: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Return whether a line belongs to what is looked at; `section/subject` is enough."""
        section, subject = name.split("/")[:2]
        if self.only and not {section, f"{section}/{subject}"} & set(self.only):
            return False
        return not self.recordings or (section in OF_RECORDINGS and subject in self.recordings)

    def has_any_of(self, section: str) -> bool:
        """Return whether anything of a section may be looked at."""
        sections = {it.partition("/")[0] for it in self.only} or {section}
        return section in sections and (not self.recordings or section in OF_RECORDINGS)


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


# ------------------------------------------------------------------ sections


def explain(commands: Commands, recording: str) -> Iterator[Artefact]:
    """Return what explains a recording, and the stories of its brokers and some bundles."""
    folder = commands.fresh()
    yield "console", commands.console("explain", recording, "-o", str(folder), *ONE_CORE)
    yield from commands.written(folder)
    if not (folder / "findings.json").exists():
        return
    findings = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    bundles = sorted({unload["bundle"] for unload in findings["unloads"]})[:STORIES_MAX]
    for option, names in (("--broker", findings["brokers"]), ("--bundle", bundles)):
        for name in names:
            story = ("blame", str(folder), option, name)
            yield f"blame {name.replace('/', '|')}", commands.console(*story, "--json")
        for name in names[:1]:
            yield f"blame {option}", commands.console("blame", str(folder), option, name)


def ingest(commands: Commands, recording: str) -> Iterator[Artefact]:
    """Return the tables of a recording that is read beside another one, twice."""
    folder = commands.fresh()
    for number, paths in enumerate([(AVG, recording), (recording,)]):
        yield f"console {number}", commands.console("ingest", *paths, "-o", str(folder), *ONE_CORE)
    yield from commands.written(folder)


def rerun(commands: Commands, recording: str) -> Iterator[Artefact]:
    """Return what comes of simulating a recorded cluster again."""
    folder = commands.fresh()
    folder.mkdir()
    plot = ("--plot", str(folder / "beside.svg"))
    seeds = ("--seeds", "3", *ONE_CORE)
    yield "console", commands.console("rerun", recording, "--json", *plot, *seeds)
    yield from commands.written(folder)


def what_if(commands: Commands, recording: str) -> Iterator[Artefact]:
    """Return what would have happened to a recorded cluster under other strategies."""
    folder = commands.fresh()
    yield (
        "console",
        commands.console(
            "compare", recording, "-o", str(folder), "--seeds", "1", "--json", *ONE_CORE
        ),
    )
    yield from commands.written(folder)


def lint(commands: Commands, path: str) -> Iterator[Artefact]:
    """Return what is said of a recording or of settings, in each form, release and upgrade."""
    forms: list[tuple[str, ...]] = [("--explain",), ("--format", "json"), ("--format", "sarif")]
    forms += [("--release", release, "--explain") for release in RELEASES]
    forms += [("--from", before, "--to", "5.0.1") for before in RELEASES[:-1]]
    for form in forms:
        yield " ".join(form), commands.console("lint", path, *form)


def decide(commands: Commands, vectors: str) -> Iterator[Artefact]:
    """Return what is decided of recorded rounds, as their own release and as others."""
    with lzma.open(vectors, "rt", encoding="utf-8") as file:
        lines = file.readlines()
    some, every = commands.scratch / "some.jsonl", commands.scratch / "all.jsonl"
    some.write_text("".join(lines[:VECTORS_MAX]), encoding="utf-8")
    every.write_text("".join(lines), encoding="utf-8")
    yield "4.0.8", commands.console("decide", str(every), "--release", "4.0.8")
    for release in RELEASES:
        yield release, commands.console("decide", str(some), "--release", release)
    for form in (("--explain",), ("--explain", "--json")):
        command = ("decide", str(some), "--release", "4.0.8", *form)
        yield " ".join(form), commands.console(*command)


def record(commands: Commands, scenario: str) -> Iterator[Artefact]:
    """Return the recording of a simulated cluster, and what explains it."""
    night, folder = commands.scratch / "night", commands.fresh()
    shutil.rmtree(night, ignore_errors=True)
    command = ("record", scenario, *RECORDED[scenario], "-o", str(night))
    yield "console", commands.console(*command)
    yield from commands.written(night)
    explaining = ("explain", str(night), "-o", str(folder), *ONE_CORE)
    yield "explain console", commands.console(*explaining)
    yield from ((f"explain {name}", content) for name, content in commands.written(folder))


def simulate(commands: Commands, scenario: str) -> Iterator[Artefact]:
    """Return the runs of a scenario, one a strategy; one with its history and picture."""
    for strategy in STRATEGIES:
        command = ("simulate", scenario, "--strategy", strategy)
        if strategy != DRAWN:
            yield strategy, commands.console(*command, "--json")
            continue
        folder = commands.fresh()
        yield strategy, commands.console(*command, "-o", str(folder))
        yield from ((f"{strategy} {name}", it) for name, it in commands.written(folder))


def releases(commands: Commands, scenario: str) -> Iterator[Artefact]:
    """Return the runs of a scenario as other releases, with other luck and one more placer."""
    for release in RELEASES:
        for strategy in (*STRATEGIES, "ThresholdShedder+RoundRobinBrokerSelector"):
            command = ("simulate", scenario, "--strategy", strategy, "--seed", "1")
            yield f"{release} {strategy}", commands.console(*command, "--release", release)


def experiments(commands: Commands, name: str) -> Iterator[Artefact]:
    """Return what one of the commands that simulate many runs prints and writes."""
    folder, grid = commands.fresh(), commands.scratch / "grid.toml"
    grid.write_text(GRID, encoding="utf-8")
    arguments = [it.format(grid=grid) for it in EXPERIMENTS[name]]
    yield "console", commands.console(*arguments, "-o", str(folder), *ONE_CORE)
    yield from commands.written(folder)


def offline(commands: Commands, name: str) -> Iterator[Artefact]:
    """Return what a command prints that looks at nothing, and its answer to wrong use."""
    wrong = ("--no-such-option",), ("no-such-file",)
    for arguments in (("--help",), *wrong, *OFFLINE.get(name, ())):
        yield " ".join(arguments), commands.console(name, *arguments)


# ------------------------------------------------------------------ what each looks at


def recorded(commands: Commands) -> dict[str, str]:
    """Return the recordings, by name."""
    return dict(commands.recordings)


def later(commands: Commands) -> dict[str, str]:
    """Return the recording that is read into the tables of another one."""
    return {"threshold": commands.recordings["threshold"]}


def settings(commands: Commands) -> dict[str, str]:
    """Return the recordings and the files of settings, by name."""
    files = [
        *commands.checkout.glob("tests/testdata/lint/*.conf"),
        *commands.checkout.glob("tests/testdata/helm/*.yaml"),
        *commands.checkout.glob("recordings/*/conf/broker1.conf"),
    ]
    named = (it.relative_to(commands.checkout).as_posix() for it in sorted(files))
    return recorded(commands) | {name.replace("/", "|"): name for name in named}


def vectors(commands: Commands) -> dict[str, str]:
    """Return the vectors of each strategy."""
    paths = sorted(commands.checkout.glob("tests/golden/*-4.0.8.jsonl.xz"))
    return {path.name.partition("-")[0]: str(path) for path in paths}


def scenarios(commands: Commands) -> dict[str, str]:
    """Return the scenarios that trimtab brings."""
    listed = commands.output("simulate", "--list").splitlines()
    names = [line.split()[0] for line in listed if line and not line.startswith(" ")]
    return {name: name for name in names}


def verbs(commands: Commands) -> dict[str, str]:
    """Return the names of all commands."""
    listed = commands.output("--help").partition("Commands:\n")[2].splitlines()
    names = [line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "]
    return {name: name for name in names}


def among(names: Iterable[str]) -> Callable[[Commands], dict[str, str]]:
    """Return what returns these names."""
    return lambda _: {name: name for name in names}


Section: TypeAlias = Callable[[Commands, str], Iterator[Artefact]]

#: Section → what it looks at (name → argument), and what returns its artefacts.
SECTIONS: dict[str, tuple[Callable[[Commands], dict[str, str]], Section]] = {
    "offline": (verbs, offline),
    "lint": (settings, lint),
    "decide": (vectors, decide),
    "explain": (recorded, explain),
    "ingest": (later, ingest),
    "rerun": (recorded, rerun),
    "what-if": (recorded, what_if),
    "record": (among(RECORDED), record),
    "experiments": (among(EXPERIMENTS), experiments),
    "releases": (among(BY_RELEASE), releases),
    "simulate": (scenarios, simulate),
}


# ------------------------------------------------------------------ the two modes


def recordings(checkout: Path, more: Iterable[Path]) -> dict[str, str]:
    """Return the recordings by name; none twice, and those of the checkout by relative paths."""
    own = [*checkout.glob("recordings/*/"), *checkout.glob("tests/testdata/recordings/*/")]
    known: dict[str, str] = {}
    by_content = set()
    for path in [*sorted(own), *map(Path.resolve, more)]:
        content = tree_digest(path)
        if path.is_dir() and content not in by_content:
            by_content.add(content)
            name = path.name if path.name not in known else f"{path.parent.name}-{path.name}"
            inside = path.is_relative_to(checkout)
            known[name] = str(path.relative_to(checkout) if inside else path)
    return known


def tree_digest(folder: Path) -> str:
    """Return a digest of the names and bytes of all files below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(folder)} {path.stat().st_size}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def lines(commands: Commands, section: str, choice: Choice, keep: Path | None) -> Iterator[str]:
    """Return the lines of a section, and say how long each subject took."""
    subjects, artefacts = SECTIONS[section]
    for name, argument in subjects(commands).items():
        if not choice.has(f"{section}/{name}"):
            continue
        began, count = time.monotonic(), 0
        for what, content in artefacts(commands, argument):
            count += 1
            yield f"{hashlib.sha256(content).hexdigest()[:32]}  {section}/{name}/{what}"
            if keep is not None:
                path = keep / section / name / what
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        print(f"{section}/{name}: {count} in {time.monotonic() - began:.1f} s", flush=True)


def write(asked: argparse.Namespace) -> int:
    """Write the file of digests, and return 0."""
    choice = Choice(tuple(asked.only), tuple(asked.only_recording))
    checkout: Path = asked.checkout.resolve()
    known = recordings(checkout, asked.recordings)
    found = [json.dumps(asdict(choice))]
    for section in SECTIONS:
        if choice.has_any_of(section):
            with TemporaryDirectory() as scratch:
                commands = Commands(checkout, Path(scratch).resolve(), known)
                found += lines(commands, section, choice, asked.keep)
                commands.close()
    asked.file.write_text("".join(f"{line}\n" for line in found), encoding="utf-8")
    return 0


def compare(asked: argparse.Namespace) -> int:
    """Print which lines differ, and return 1 if any does."""
    heads, sides = [], []
    for path in (asked.before, asked.after):
        head, *rest = path.read_text(encoding="utf-8").splitlines()
        heads.append(Choice(**{key: tuple(it) for key, it in json.loads(head).items()}))
        sides.append({name: digest for digest, _, name in (it.partition("  ") for it in rest)})
    before, after = (
        {name: it for name, it in side.items() if all(choice.has(name) for choice in heads)}
        for side in sides
    )
    differing = [name for name in before | after if before.get(name) != after.get(name)]
    for name in differing:
        word = "gone" if name not in after else "new" if name not in before else "differs"
        print(f"{word:8} {name}")
    print(f"{len(before | after)} compared, {len(differing)} differ")
    return 1 if differing or not before else 0


def main(arguments: Sequence[str]) -> int:
    """Do what is asked, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    modes = parser.add_subparsers(required=True)
    writing = modes.add_parser("write", help="run the commands, and write the digests")
    writing.add_argument("file", type=Path)
    writing.add_argument("recordings", type=Path, nargs="*")
    writing.add_argument("--checkout", type=Path, default=ROOT)
    writing.add_argument("--keep", type=Path, help="folder for the artefacts themselves")
    writing.add_argument("--only", action="append", default=[], metavar="SECTION[/SUBJECT]")
    writing.add_argument("--only-recording", action="append", default=[], metavar="NAME")
    writing.set_defaults(do=write)
    comparing = modes.add_parser("compare", help="print which lines differ")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.set_defaults(do=compare)
    asked = parser.parse_args(arguments)
    return int(asked.do(asked))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
