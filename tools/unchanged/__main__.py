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
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.unchanged.commands import Commands
from tools.unchanged.sections import SECTIONS

ROOT = Path(__file__).resolve().parents[2]
#: Sections whose subjects are recordings, all or some of them.
OF_RECORDINGS = ("explain", "lint", "rerun", "what-if", "damage", "ingest")


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
    with asked.file.open("w", encoding="utf-8") as file:
        print(json.dumps(asdict(choice)), file=file)
        for section in filter(choice.has_any_of, SECTIONS):
            with TemporaryDirectory() as scratch:
                commands = Commands(checkout, Path(scratch).resolve(), known)
                for line in lines(commands, section, choice, asked.keep):
                    print(line, file=file, flush=True)
                commands.close()
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
