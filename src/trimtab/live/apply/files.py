"""Plans as files, and what all files have in common that orders are kept in."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import FieldError
from trimtab.files.whole_files import write_whole
from trimtab.live.control.plan import Plan, plan_text, read_plan

T = TypeVar("T")

ONLY_OURS = 0o600


class PlanError(TrimtabError):
    """A file is no plan; says where, what was found and what was expected."""


def plan_of(path: Path) -> Plan:
    """Return the plan of a file.

    Raises:
        PlanError: it cannot be read, or is none.
    """
    return read_ours(path, read_plan)


def read_ours(path: Path, read: Callable[[str], T]) -> T:
    """Return what the text of a file says, as `read` has it.

    Raises:
        PlanError: it cannot be read, or `read` raises a FieldError.
    """
    try:
        return read(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PlanError(f"{path}: found bytes that are no UTF-8, expected a plan") from None
    except FieldError as fault:
        raise PlanError(f"{path}: {fault}") from None


def write_plan(path: Path, plan: Plan) -> None:
    """Write a plan, for its owner alone to read.

    Raises:
        PlanError: it cannot be written.
    """
    write_ours(path, plan_text(plan))


def write_ours(path: Path, text: str) -> None:
    """Write a file for its owner alone to read: it names brokers and tenants.

    Raises:
        PlanError: it cannot be written.
    """
    try:
        write_whole(path, text).chmod(ONLY_OURS)
    except OSError as error:
        raise PlanError(f"{path}: cannot be written: {error.strerror}") from None


def keep_names(folder: Path) -> None:
    """See to it that files are still found by their names if the machine loses its power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
