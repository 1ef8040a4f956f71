"""What a user can mend is said in one line."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from trimtab.cli.saying import complain
from trimtab.files.errors import TrimtabError


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn what a user can mend into one line and exit code 2."""
    try:
        yield
    except KeyboardInterrupt:
        _stop()
    except (click.ClickException, click.Abort, click.exceptions.Exit):
        raise
    except Exception as error:
        if _was_stopped(error):
            _stop()
        if not (_is_of_system(error) or isinstance(error, TrimtabError)):
            raise
        complain(f"trimtab: {_told(error)}")
        sys.exit(2)


def _stop() -> NoReturn:
    """End as what was stopped by Ctrl-C ends."""
    click.echo("trimtab: stopped; nothing half written was left behind", err=True)
    sys.exit(130)


def _was_stopped(error: BaseException) -> bool:
    """Say whether Ctrl-C led to an error: what it broke off may fail at tidying up."""
    seen = set()
    before = error.__context__
    while before is not None and id(before) not in seen:
        if isinstance(before, KeyboardInterrupt):
            return True
        seen.add(id(before))
        before = before.__context__
    return False


def _is_of_system(error: Exception) -> bool:
    """Say whether it is the system that refuses; a reader that has left is none of it."""
    if isinstance(error, OSError):
        return error.errno not in (None, errno.EPIPE)
    return isinstance(error, MemoryError)


def _told(error: Exception) -> str:
    """Say what is wrong; of what the system refuses, the file and why."""
    if isinstance(error, MemoryError):
        return f"there is too little memory for this: {error}".removesuffix(": ")
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
