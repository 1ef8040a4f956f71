"""What every command runs in: files for their owner alone, and libraries that keep quiet."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

_ONLY_OURS = 0o077
_ALGEBRA_THREADS = "OPENBLAS_NUM_THREADS"


@contextmanager
def private_files() -> Iterator[None]:
    """Let whatever is written meanwhile be its owner's alone: it names tenants and brokers."""
    before = os.umask(_ONLY_OURS)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Keep libraries from printing what nobody set up a place for: we say ourselves what failed."""
    before, logging.lastResort = logging.lastResort, logging.NullHandler()
    try:
        yield
    finally:
        logging.lastResort = before


@contextmanager
def one_thread() -> Iterator[None]:
    """Have numpy's linear algebra run in one thread, unless somebody said otherwise.

    Ours is of a few columns.  Threads wait for each other there in a loop, and on a machine that
    does other things that takes thirty times as long as the work.  It holds if numpy is loaded
    in the block.
    """
    is_ours = _ALGEBRA_THREADS not in os.environ
    os.environ.setdefault(_ALGEBRA_THREADS, "1")
    try:
        yield
    finally:
        if is_ours:
            del os.environ[_ALGEBRA_THREADS]
