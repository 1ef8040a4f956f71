"""The table of shapes: how a log line is wrapped by what has collected it."""

from __future__ import annotations

import re
from functools import cached_property
from importlib.resources import files
from typing import Literal

from msgspec import Struct, toml


class Shape(Struct, frozen=True, eq=False, dict=True, forbid_unknown_fields=True):
    """How one producer wraps a log line; the keys' meanings stand at the top of shapes.toml."""

    name: str
    #: What makes a file of this shape.
    command: str
    form: Literal["text", "json", "csv", "logfmt"]
    #: A file of it.
    example: str
    prefix: str = ""
    is_sure: bool = True
    keys: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    line: str = ""
    time: str = ""
    labels: tuple[str, ...] = ()
    is_cut: bool = False
    beside: tuple[str, ...] = ()

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the prefix as an expression; an unsure one has a dated line behind it."""
        behind = "" if self.is_sure else f"(?={DATED})"
        return re.compile(self.prefix + behind, re.ASCII)

    @cached_property
    def times(self) -> tuple[str, ...]:
        """Return the paths of the time."""
        return tuple(self.time.split())


class _Table(Struct, forbid_unknown_fields=True):
    labels: tuple[str, ...]
    files: tuple[str, ...]
    shape: tuple[Shape, ...]


#: How a broker's own line begins, or what another collector has packed.
DATED = (
    r"(?:\x1b\[[\d;]*m)?(?:\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[.,]\d"
    r"|\{\"|\[pod/|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ )"
)

_TABLE = toml.decode(
    files("trimtab.ingest.wrapped").joinpath("shapes.toml").read_bytes(), type=_Table
)
SHAPES = _TABLE.shape
#: Names of labels that say whose line it is, the best first.
LABELS = _TABLE.labels
#: Paths of files that Kubernetes names after a pod.
FILES = _TABLE.files


def of_form(form: str) -> tuple[Shape, ...]:
    """Return the shapes of a form, in the order in which they are tried."""
    return tuple(shape for shape in SHAPES if shape.form == form)
