"""What is tried: a section a command or two, and what each of them looks at."""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import TypeAlias

from tools.unchanged.commands import Artefact, Commands
from tools.unchanged.damage import damaged, damaged_lines

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
    "explain": (("no-such-file",),),
    "ingest": (("no-such-file", "-o", "nowhere"),),
    "lint": (("no-such-file",),),
    "decide": (("no-such-file",),),
    "simulate": (("--list",), ("S05", "--strategy", "NoSuchShedder")),
    "reproduce": (("--list",),),
    "watch": (("--print-rules",), ("--print-dashboard",)),
}


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


def damage(commands: Commands, recording: str) -> Iterator[Artefact]:
    """Return what explains a recording whose files have odd lines."""
    night, folder = commands.scratch / "damaged", commands.fresh()
    shutil.rmtree(night, ignore_errors=True)
    damaged(commands.checkout / recording, night)
    yield "console", commands.console("explain", str(night), "-o", str(folder), *ONE_CORE)
    yield from commands.written(folder)
    yield "lint", commands.console("lint", str(night))


def form(commands: Commands, name: str) -> Iterator[Artefact]:
    """Return what explains a recording that comes in another form, or is asked for another."""
    folder = commands.fresh()
    arguments = FORMS[name](commands)
    yield "console", commands.console("explain", *arguments, "-o", str(folder), *ONE_CORE)
    yield from commands.written(folder)


def packed(commands: Commands, name: str, form: str) -> str:
    """Return the path of an archive of a recording."""
    archive = str(commands.scratch / name)
    return shutil.make_archive(archive, form, commands.checkout / "recordings", name)


#: Name → the arguments of `trimtab explain`.
FORMS: dict[str, Callable[[Commands], tuple[str, ...]]] = {
    "tar": lambda commands: (packed(commands, "threshold", "gztar"),),
    "zip": lambda commands: (packed(commands, "avg", "zip"),),
    "log": lambda _: ("recordings/threshold/logs/broker1/pulsar-broker.log.gz",),
    "json": lambda _: ("recordings/seed-001", "--json"),
    "what-if": lambda _: ("recordings/avg", "--what-if"),
}


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
    for options in forms:
        yield " ".join(options), commands.console("lint", path, *options)


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
    odd = commands.scratch / "odd.jsonl"
    odd.write_bytes(b"".join(damaged_lines(every.read_bytes().splitlines(True), Random("odd"))))
    yield "odd", commands.console("decide", str(odd), "--release", "4.0.8")
    for options in (("--explain",), ("--explain", "--json")):
        command = ("decide", str(some), "--release", "4.0.8", *options)
        yield " ".join(options), commands.console(*command)


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
    for arguments in (("--help",), ("--no-such-option",), *OFFLINE.get(name, ())):
        yield " ".join(arguments), commands.console(name, *arguments)


# ------------------------------------------------------------------ subjects of looks at


def recorded(commands: Commands) -> dict[str, str]:
    """Return the recordings, by name."""
    return dict(commands.recordings)


def own(commands: Commands) -> dict[str, str]:
    """Return the recordings of the checkout."""
    return {name: it for name, it in commands.recordings.items() if not it.startswith("/")}


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
    "decide": (vectors, decide),
    "explain": (recorded, explain),
    "simulate": (scenarios, simulate),
    "releases": (among(BY_RELEASE), releases),
    "lint": (settings, lint),
    "rerun": (recorded, rerun),
    "what-if": (recorded, what_if),
    "damage": (own, damage),
    "record": (among(RECORDED), record),
    "ingest": (later, ingest),
    "forms": (among(FORMS), form),
    "experiments": (among(EXPERIMENTS), experiments),
}
