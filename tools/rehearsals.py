"""Write what is printed in the docs of rehearsals: commands on recordings that come along.

And on the nights of a simulated cluster, which are written first.
A block that begins with `$ trimtab …` holds what that command prints.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.shop_nights import write

ROOT = Path(__file__).resolve().parent.parent
PAGES = tuple(ROOT / "docs" / name for name in ("rehearse.md", "size.md", "upgrade.md"))
_BLOCK = re.compile(r"(?<=```text\n)\$ trimtab ((?:rehearse|size|lint) .*)\n(?:.*\n)*?(?=```)")
#: Wrong use; whatever else a rehearsal ends with is an answer.
_WRONG = 2


def commands(text: str) -> tuple[str, ...]:
    """List the commands that a page shows, without the name of the program."""
    return tuple(match.group(1) for match in _BLOCK.finditer(text))


def printed(command: str, nights: Path) -> str:
    """Return what a command prints, run where the recordings and some nights lie beside it.

    Raises:
        RuntimeError: it is used wrongly.
    """
    program = [sys.executable, "-m", "trimtab", *shlex.split(command)]
    with TemporaryDirectory(prefix="trimtab-") as folder:
        for beside in (ROOT / "recordings", *nights.iterdir()):
            (Path(folder) / beside.name).symlink_to(beside)
        environment = {**os.environ, "COLUMNS": "200"}
        done = subprocess.run(
            program, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    if done.returncode == _WRONG:
        raise RuntimeError(f"{command}: {done.stderr}")
    return done.stdout


def rewritten(text: str, output: Callable[[str], str]) -> str:
    """Put into a page what its commands say now."""
    return _BLOCK.sub(lambda it: f"$ trimtab {it.group(1)}\n{output(it.group(1))}", text)


def main(arguments: list[str]) -> int:
    """Write the pages, or those that are named."""
    pages = [page for page in PAGES if not arguments or page.stem in arguments]
    if not pages:
        print("usage: python -m tools.rehearsals [rehearse] [size] [upgrade]")
        return 2
    with TemporaryDirectory(prefix="trimtab-") as folder:
        write(Path(folder))
        for page in pages:
            text = page.read_text(encoding="utf-8")
            output = partial(printed, nights=Path(folder))
            page.write_text(rewritten(text, output), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
