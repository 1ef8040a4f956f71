"""What every command runs in: files for their owner alone, and libraries that keep quiet."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

_ONLY_OURS = 0o077


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
