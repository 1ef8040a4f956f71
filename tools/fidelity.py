"""Write the measured parts of docs/fidelity.md, or check that they are what trimtab says now.

A block that begins with `$ trimtab rerun …` holds what that command prints; the table between
two comments sums up those that let the simulated leader lead from the beginning.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark import SparkContext

from tools.catalogue import code, table
from tools.cuts import LOOKED_AT, UNSEEN, Agreement, agreements, whole
from trimtab.cli.rerun import rerun
from trimtab.ingest.recording import open_recording
from trimtab.spark.session import opened_spark
from trimtab.trials.rerun.command import Question, Rerun, reconstructed, simulated_again
from trimtab.trials.rerun.lines import lines
from trimtab.trials.rerun.plot import plot

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "fidelity.md"

_BLOCK = re.compile(r"(?<=```text\n)\$ trimtab rerun (.*)\n(?:.*\n)*?(?=```)")
_TABLE = re.compile(r"(<!-- measured (shipped|apart) -->\n)(?:.*\n)*?(?=<!-- end -->)")
_CUTS = re.compile(r"(<!-- cuts (looked-at|unseen) -->\n)(?:.*\n)*?(?=<!-- end -->)")
#: Where those lie that the page was mended by; and all that are cut.
_SHIPPED = "recordings/"
CUT = (
    *("recordings/threshold", "recordings/uniform", "recordings/avg"),
    "tests/testdata/recordings/young",
)
#: Table of cuts → their seeds.
_SEEDS = {"looked-at": LOOKED_AT, "unseen": UNSEEN}


def commands(text: str) -> tuple[str, ...]:
    """List the arguments of the commands that a page shows."""
    return tuple(found.group(1) for found in _BLOCK.finditer(text))


def measured(spark: SparkContext, text: str) -> dict[str, Rerun]:
    """Run the commands that a page shows, each recording read once; pictures are not drawn."""
    found, known = {}, {}
    for command in commands(text):
        recording, question = _asked(command)
        if recording not in known:
            with open_recording(recording) as opened:
                known[recording] = reconstructed(spark, opened)
        found[command] = simulated_again(*known[recording], question)
    return found


def rewritten(text: str, found: Mapping[str, Rerun]) -> str:
    """Put into a page what its commands say now."""

    def block(match: re.Match[str]) -> str:
        said = lines(found[match.group(1)].document)
        return "\n".join([f"$ trimtab rerun {match.group(1)}", *said, ""])

    def summary(match: re.Match[str]) -> str:
        is_shipped = match.group(2) == "shipped"
        mine = [
            each
            for command, each in found.items()
            if "--from" not in command and command.startswith(_SHIPPED) == is_shipped
        ]
        return match.group(1) + _summary(mine)

    return _TABLE.sub(summary, _BLOCK.sub(block, text))


def with_cuts(spark: SparkContext, text: str) -> str:
    """Put into a page in how many rounds leaders agree in recordings that begin in the middle."""
    with TemporaryDirectory(prefix="trimtab-") as folder:
        wholes = [whole(spark, ROOT / name, Path(folder) / name) for name in CUT]

        def agreed(match: re.Match[str]) -> str:
            seeds = _SEEDS[match.group(2)]
            parts = {of.name: agreements(of, seeds, Path(folder)) for of in wholes}
            return match.group(1) + _of_cuts(parts, len(seeds))

        return _CUTS.sub(agreed, text)


def cut_tables(text: str) -> tuple[str, ...]:
    """Return the tables of cuts that a page has."""
    return tuple(match.group(0) for match in _CUTS.finditer(text))


def _of_cuts(parts: Mapping[str, Agreement], n_cuts: int) -> str:
    heads = (
        "recording",
        "cuts",
        "rounds in which both agreed whether to shed",
        "those that hang on nothing before",
    )
    rows = [(code(name), n_cuts, part) for name, part in parts.items()]
    rows.append(("together", n_cuts * len(parts), sum(parts.values(), Agreement())))
    return "\n" + table(heads, (_cut_row(*row) for row in rows)) + "\n"


def _cut_row(name: str, n_cuts: int, part: Agreement) -> tuple[str, ...]:
    share = 100 * part.agreed / part.rounds
    return (
        name,
        str(n_cuts),
        f"{part.agreed} of {part.rounds} ({share:.1f} %)",
        f"{part.agreed_sure} of {part.sure}",
    )


def _asked(command: str) -> tuple[Path, Question]:
    asked = dict(rerun.make_context("rerun", command.split()).params)
    names = ("from_text", "to_text", "seeds")
    return ROOT / asked["recording"], Question(*(asked[name] for name in names))


def _summary(found: list[Rerun]) -> str:
    heads = (
        "recording",
        "rounds in which both agreed whether to shed",
        "unloads that named the same bundle",
        "destinations that the simulated placer draws from",
        "triggers, real and simulated",
        "unloads, real and simulated",
    )
    return "\n" + table(heads, map(_row, found)) + "\n"


def _row(found: Rerun) -> tuple[str, ...]:
    held, free = found.document["held"], found.document["free"]
    beside = (
        f"{free[what]['real']} and {free[what]['median']:g} "
        f"({free[what]['p10']:g} to {free[what]['p90']:g})"
        for what in ("triggers", "unloads")
    )
    return (
        code(found.document["recording"]),
        f"{held['same_trigger']} of {len(held['rounds'])}",
        f"{held['unloads_same']} of {held['unloads_real']}",
        f"{held['unloads_placed']} of {held['unloads_real']}",
        *beside,
    )


def main(arguments: list[str]) -> int:
    """Write the page and its pictures, or with `--check` say what is not as it should be."""
    is_check = arguments == ["--check"]
    if arguments and not is_check:
        print("usage: python -m tools.fidelity [--check]")
        return 2
    text = PAGE.read_text(encoding="utf-8")
    with opened_spark(cores=2, master=None) as spark:
        found = measured(spark, text)
        new = with_cuts(spark, rewritten(text, found))
    if is_check:
        sys.stdout.writelines(unified_diff(text.splitlines(True), new.splitlines(True), PAGE.name))
        return int(new != text)
    PAGE.write_text(new, encoding="utf-8")
    for command, each in found.items():
        if "--from" not in command:
            plot(each, PAGE.parent / "images" / f"fidelity-{each.document['recording']}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
