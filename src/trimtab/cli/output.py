"""The one place through which all that commands print goes, and how much of it is wanted.

What is printed may hold text of others: names of bundles, brokers, files, log lines.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import click

from trimtab.files.visible import visible

#: Characters of one message; a name of 10 kB must not push the rest off the screen.
_MESSAGE_MAX = 4_000
#: Its level says how much is told beside results: errors alone, warnings, or each step.
_LOG = logging.getLogger("trimtab")


def say(text: str) -> None:
    """Print lines; escape sequences in them are spelled out, so that a terminal shows them."""
    click.echo(visible(text, keep="\n\t"))


def say_as_is(text: str) -> None:
    """Print text that has no character of others unescaped: JSON, and what paints itself."""
    click.echo(text.removesuffix("\n"))


def complain(text: str) -> None:
    """Print one message on the standard error, on one line but for the newlines of our own."""
    click.echo(visible(text, _MESSAGE_MAX, keep="\n"), err=True)


def note(text: str) -> None:
    """Print a warning, or how far the work is, on the standard error; nothing under --quiet."""
    if _LOG.isEnabledFor(logging.WARNING):
        complain(text)


class _LogHandler(logging.Handler):
    """Prints what the program logs of its own steps."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(f"trimtab: {record.getMessage()}")


@contextmanager
def as_loud_as_before() -> Iterator[None]:
    """Run a block, and end what `be_quiet` or `be_verbose` began in it."""
    level, handlers = _LOG.level, list(_LOG.handlers)
    try:
        yield
    finally:
        _LOG.setLevel(level)
        _LOG.handlers[:] = handlers


def be_quiet() -> None:
    """Print results and errors alone from now on."""
    _LOG.setLevel(logging.ERROR)


def be_verbose() -> None:
    """Print from now on each step, too."""
    _LOG.setLevel(logging.INFO)
    _LOG.addHandler(_LogHandler())
