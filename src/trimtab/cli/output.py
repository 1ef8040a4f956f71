"""Printing of what may hold text of others: names of bundles, brokers, files, log lines."""

from __future__ import annotations

import click

from trimtab.files.visible import visible

#: Characters of one message; a name of 10 kB must not push the rest off the screen.
_MESSAGE_MAX = 4_000


def say(text: str) -> None:
    """Print lines; escape sequences in them are spelled out, so that a terminal shows them."""
    click.echo(visible(text, keep="\n\t"))


def complain(text: str) -> None:
    """Print one message on the standard error, on one line but for the newlines of our own."""
    click.echo(visible(text, _MESSAGE_MAX, keep="\n"), err=True)
