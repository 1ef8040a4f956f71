"""What Foresee would have done beside recorded nights, and what came of its predictions.

python -m tools.shadow_nights                          the shipped recordings
python -m tools.shadow_nights FOLDER …                 others
python -m tools.shadow_nights … --page                 put the table into docs/foresee.md, too

Each recording is gone through as `trimtab watch` would have heard it, by every sight that it has.
Its brokers did what Pulsar said, so none of Foresee's moves was made; its predictions are of the
moves that were.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from tools.heard_nights import RecordedNight, heard_night
from trimtab.lab.steering import Sight, named
from trimtab.live.control.trust import error
from trimtab.live.watch.document import time_text
from trimtab.live.watch.memory import Memory, learned
from trimtab.live.watch.nouns import Action, Arrivals, Decided, Foretold, Relearn, Row, Steered
from trimtab.live.watch.steering.turns import Turns, turns
from trimtab.live.watch.step import step
from trimtab.live.watch.tally import Tally

ROOT = Path(__file__).resolve().parent.parent
_PAGE = ROOT / "docs" / "foresee.md"
_STEP = timedelta(seconds=5)


@dataclass(frozen=True)
class Shadowed:
    """What a strategy would have done beside a night."""

    said: Sequence[Action]
    tally: Tally
    turns: Turns


def shadowed(night: RecordedNight, strategy: str) -> Shadowed:
    """Run a watch over a night with a strategy of trimtab's own beside Pulsar's."""
    own = named(strategy)
    is_store = own.sight is Sight.STORE
    settings = replace(night.settings, shedder=strategy, is_own=True, reads_store=is_store)
    beside = turns(strategy, own, settings, night.began, None)
    memory, tally = Memory(began=night.began), Tally()
    said: list[Action] = []
    given: list[Row] = []
    now = night.began
    rows, answers = _Cursor(night.rows), _Cursor(night.answers)
    while now < night.ended:
        now += _STEP
        new, answered = rows.until(now), answers.until(now)
        given += [row for row in new if row[0] != "log_events"]
        beside.take(new if is_store else [*_of_store(new), *answered])
        turned = beside.turn(now)
        memory.steered += [each for each in turned if isinstance(each, Steered)]
        actions, memory = step(Arrivals(now, new), memory, settings)
        for action in actions:
            if isinstance(action, Relearn):
                memory = learned(memory, settings, action, given)
        tally.add([*turned, *actions])
        said += [*turned, *actions]
    return Shadowed(said, tally, beside)


class _Cursor:
    """What was heard, as far as it was taken."""

    def __init__(self, heard: Sequence[tuple[datetime, Sequence[Row]]]) -> None:
        self._heard, self._next = heard, 0

    def until(self, now: datetime) -> list[Row]:
        """Take what was heard until then."""
        new: list[Row] = []
        while self._next < len(self._heard) and self._heard[self._next][0] <= now:
            new += self._heard[self._next][1]
            self._next += 1
        return new


def _of_store(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield who owns what and who is gone, which the store tells best."""
    for table, row in rows:
        if table == "ownership" or (table == "load_reports" and row["is_gone"]):
            yield table, row


_HEADS = (
    "recording", "sight", "minutes", "Pulsar moved", "it would have: turns, moves",
    "silent most often because", "excess spread a round: Pulsar's, its own",
    "predicted brokers", "of four in five", "error, deviations",
)  # fmt: skip


def table(folders: Sequence[Path]) -> str:
    """Return a line of each recording and sight."""
    lines = [f"| {' | '.join(_HEADS)} |", f"| {' | '.join('---' for _ in _HEADS)} |"]
    for folder in folders:
        for strategy in ("Foresee@store", "Foresee@reports"):
            lines += _lines(folder, strategy)
    return "\n".join(lines)


def _lines(folder: Path, strategy: str) -> Iterator[str]:
    sight = strategy.partition("@")[2]
    if why := _obstacle(folder, sight):
        cells = [folder.name, sight, "", "", "", why, *[""] * (len(_HEADS) - 6)]
        yield f"| {' | '.join(cells)} |"
        return
    night = heard_night(folder)
    done = shadowed(night, strategy)
    tally = done.tally
    steered = [each for each in done.said if isinstance(each, Steered)]
    moving = [each for each in steered if each.moves]
    silences = Counter(each.reason for each in steered if not each.moves).most_common(1)
    held = [each for each in done.said if isinstance(each, Foretold)]
    excess = (tally.mean(who, "excess_spread_points") for who in ("pulsar", "shadow"))
    inside = sum(each.checked.outcome.is_inside for each in held)
    cells = [
        folder.name,
        sight,
        f"{(night.ended - night.began).total_seconds() / 60:.0f}",
        str(tally.unloads["pulsar"]),
        f"{len(moving)}, {sum(len(each.moves) for each in moving)}",
        silences[0][0] if silences else "",
        ", ".join(f"{each:.1f}" for each in excess),
        str(len(held)),
        f"{100 * inside / len(held):.0f} %" if held else "",
        f"{error(done.turns.record):.1f}" if held else "",
    ]
    yield f"| {' | '.join(cells)} |"


def _obstacle(folder: Path, sight: str) -> str:
    """Return why a recording cannot be gone through; empty if it can."""
    if not (folder / "store" / "bundles.jsonl.gz").exists():
        return "has no load reports of the store"
    if sight == "reports" and not (folder / "load-reports.jsonl.gz").exists():
        return "no broker was asked for its load"
    return ""


def told(folder: Path, strategy: str) -> Iterator[str]:
    """Yield what it would have moved and what came of predictions, a line each."""
    for each in shadowed(heard_night(folder), strategy).said:
        if isinstance(each, Steered) and each.moves:
            moves = ", ".join(
                f"{m.bundle} {m.source} → {m.target} ({m.reason})" for m in each.moves
            )
            yield f"{time_text(each.time)} {each.reason}: {moves}"
        elif isinstance(each, Foretold):
            it = each.checked
            off = f"{it.after:.1f} ± {it.deviation:.1f}, measured {it.measured:.1f}"
            yield f"{time_text(each.time)} {it.broker} after {it.moves} moves: {off}"
        elif isinstance(each, Decided) and each.pulsar is not None and each.pulsar["unloads"]:
            yield f"{time_text(each.time)} Pulsar unloads {len(each.pulsar['unloads'])}"


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.shadow_nights",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", type=Path, nargs="*", help="recordings  [default: the shipped]")
    parser.add_argument("--page", action="store_true", help="write docs/foresee.md")
    parser.add_argument("--told", metavar="STRATEGY", help="print what it would have done")
    options = parser.parse_args(arguments)
    shipped = sorted(path.parent for path in (ROOT / "recordings").glob("*/recording.toml"))
    folders = options.folders or shipped
    if options.told:
        for folder in folders:
            print(*told(folder, options.told), sep="\n")
        return 0
    text = table(folders)
    print(text)
    if options.page:
        page = _PAGE.read_text(encoding="utf-8")
        place = re.compile(r"(?<=<!-- shadowed -->\n)(?:.*\n)*?(?=<!-- end -->)")
        _PAGE.write_text(place.sub(lambda _: f"\n{text}\n\n", page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
