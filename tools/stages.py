"""Run stages of the build one after another, all of them, and say how long each took.

A stage that fails does not stop the ones behind it: one run shows everything that is wrong.
"""

from __future__ import annotations

import subprocess
import sys
import time


def run(stage: str) -> tuple[bool, float]:
    """Run `make <stage>`.

    Returns:
        Whether it passed, and the seconds it took.
    """
    began = time.monotonic()
    print(f"== {stage}", flush=True)
    done = subprocess.run(["make", stage], check=False)
    return done.returncode == 0, time.monotonic() - began


def main(stages: list[str]) -> int:
    """Run every stage, print the table, and return 1 if any failed."""
    if not stages:
        print("usage: python -m tools.stages STAGE...")
        return 2
    results = {stage: run(stage) for stage in stages}
    print()
    for stage, (passed, seconds) in results.items():
        print(f"{stage:<12} {'ok' if passed else 'FAILED':<6} {seconds:6.1f} s")
    return 0 if all(passed for passed, _ in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
