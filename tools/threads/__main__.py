"""Write docs/threads.md: python -m tools.threads."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.threads.cases import Thread, threads
from tools.threads.judging import verdict
from tools.threads.page import PAGE, Assessment, rewritten
from tools.threads.replies import reply, with_answers


def assessments(cases: list[Thread], folder: Path) -> list[Assessment]:
    """Return threads with what trimtab says of them.

    Args:
        cases: some of the threads.
        folder: where pages and tables may go.
    """
    return [_assessment(each, folder / str(each.number)) for each in cases]


def _assessment(thread: Thread, folder: Path) -> Assessment:
    first = reply(thread.folder, folder / "first")
    if not thread.answers:
        return Assessment(thread, first, first)
    return Assessment(thread, first, reply(with_answers(thread, folder), folder / "last"))


def main(arguments: list[str]) -> int:
    """Rewrite the page, and print a verdict a thread."""
    if arguments:
        print(__doc__)
        return 2
    with TemporaryDirectory(prefix="threads-") as folder:
        results = assessments(threads(), Path(folder))
    for each in results:
        print(each.thread.number, verdict(each.thread, each.first), verdict(each.thread, each.last))
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
