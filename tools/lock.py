"""Renew the lock files in requirements/ from pyproject.toml.

The locks hold names, versions and hashes, and no address: where packages come from is the
business of the machine that installs them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LOCKS = Path("requirements")
COMPILE = (
    *("uv", "pip", "compile", "--quiet", "--upgrade", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url"),
)
#: Each lock, what goes into it, and the locks whose versions it keeps.
RECIPES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("run.lock", ("pyproject.toml", "--extra", "spark"), ()),
    ("watch.lock", ("pyproject.toml", "--extra", "watch"), ("run.lock",)),
    ("build.lock", ("--group", "build"), ("run.lock",)),
    (
        "dev.lock",
        ("pyproject.toml", "--extra", "connect", "--extra", "catalog", "--group", "dev"),
        ("run.lock", "build.lock"),
    ),
    ("java.lock", ("pyproject.toml", "--extra", "spark", "--extra", "java"), ("dev.lock",)),
)


def main() -> int:
    """Write every lock, in the order in which they lean on one another."""
    for lock, what, kept in RECIPES:
        constraints = [argument for name in kept for argument in ("-c", str(LOCKS / name))]
        subprocess.run([*COMPILE, *what, *constraints, "-o", str(LOCKS / lock)], check=True)
        text = (LOCKS / lock).read_text(encoding="utf-8")
        if "://" in text:
            print(f"{LOCKS / lock}: holds an address, and must not: see docs/decisions/0001")
            return 1
        print(f"{LOCKS / lock}: {text.count('==')} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
