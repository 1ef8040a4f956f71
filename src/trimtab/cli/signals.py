"""Ctrl-C and SIGTERM: the first ends in good order, the second at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from trimtab.cli.output import complain


@contextmanager
def ended_by_signals(message: str = "ending") -> Iterator[threading.Event]:
    """Let the first Ctrl-C or SIGTERM set an event, and the second leave at once.

    Args:
        message: what is being done about the first.
    """
    is_over = threading.Event()

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        if is_over.is_set():
            raise KeyboardInterrupt
        is_over.set()
        complain(f"trimtab: {message}; Ctrl-C once more ends it at once")

    before = {each: signal.signal(each, on_interrupt) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield is_over
    finally:
        for each, old in before.items():
            signal.signal(each, old)
