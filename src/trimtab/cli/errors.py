"""What a user can mend is said in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from trimtab.cli.output import complain
from trimtab.files.errors import TrimtabError, system_fault
from trimtab.files.parameters import ParameterError


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
        fault = str(_of_command(error)) if isinstance(error, TrimtabError) else system_fault(error)
        if fault is None:
            raise
        complain(f"trimtab: {fault}")
        sys.exit(2)


def _stop() -> NoReturn:
    """End as what was stopped by Ctrl-C ends."""
    complain("trimtab: stopped; nothing half written was left behind")
    sys.exit(130)


def _was_stopped(error: BaseException) -> bool:
    """Return whether Ctrl-C led to an error: what it broke off may fail at tidying up."""
    ids = set()
    before = error.__context__
    while before is not None and id(before) not in ids:
        if isinstance(before, KeyboardInterrupt):
            return True
        ids.add(id(before))
        before = before.__context__
    return False


def _of_command(error: TrimtabError) -> BaseException:
    """Return an error that names options; a public function names parameters instead."""
    return error.__cause__ or error if isinstance(error, ParameterError) else error
