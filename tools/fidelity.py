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

from pyspark import SparkContext

from tools.catalogue import code, table
from trimtab.cli.rerun import rerun
from trimtab.ingest import open_recording
from trimtab.spark.session import opened_spark
from trimtab.trials.rerun.command import Question, Rerun, reconstructed, simulated_again
from trimtab.trials.rerun.lines import lines
from trimtab.trials.rerun.plot import plot

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "fidelity.md"

_BLOCK = re.compile(r"(?<=```text\n)\$ trimtab rerun (.*)\n(?:.*\n)*?(?=```)")
_TABLE = re.compile(r"(?<=<!-- measured -->\n)(?:.*\n)*?(?=<!-- end -->)")


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

    whole = [each for command, each in found.items() if "--from" not in command]
    return _TABLE.sub(lambda _: _summary(whole), _BLOCK.sub(block, text))


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
    new = rewritten(text, found)
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
