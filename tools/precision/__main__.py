"""Write docs/precision.md, or with `--check` say what is not as the stored results have it.

python -m tools.precision            run the held-out seeds and write the page: ten minutes
python -m tools.precision --check    compare the page with the stored results: at once
python -m tools.precision --seeds 1 20 [FAMILY...]     build: print what is wrong
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path

from tools.precision.families import CLEAN, FAMILIES, missing
from tools.precision.held_out import held_out, one
from tools.precision.judging import Result, counts, read
from tools.precision.page import rewritten

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "precision.md"
RESULTS = Path(__file__).with_name("held-out.jsonl")


def _build(arguments: Sequence[str]) -> int:
    """Run seeds that may be looked at, and print what is wrong with each recording."""
    first, last = int(arguments[0]), int(arguments[1])
    found = []
    for family in arguments[2:] or (*FAMILIES, *CLEAN):
        for seed in range(first, last + 1):
            each = one(family, seed)
            found.append(each)
            odd = {code: it for code, it in each.verdicts.items() if it.missed or it.wrong}
            if odd:
                print(family, seed, odd)
    for code, it in sorted(counts(found).items()):
        print(f"{code:28} {it}")
    return 0


def main(arguments: list[str]) -> int:
    """Do what is asked."""
    if arguments[:1] == ["--seeds"] and len(arguments) >= 3:
        return _build(arguments[1:])
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 2
    if absent := missing():
        print("\n".join(absent))
        return 1
    if not arguments:
        results: list[Result] = []
        for each in held_out():
            results.append(each)
            print(each.line(), flush=True)
        RESULTS.write_text("".join(f"{it.line()}\n" for it in results), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    new = rewritten(text, read(RESULTS))
    if arguments:
        sys.stdout.writelines(unified_diff(text.splitlines(True), new.splitlines(True), PAGE.name))
        return int(new != text)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
