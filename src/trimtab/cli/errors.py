"""What a user can mend is said in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn what a user can mend into one line and exit code 2."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("trimtab: stopped; nothing half written was left behind", err=True)
        sys.exit(130)
    except Exception as error:
        if not isinstance(error, _mendable()):
            raise
        click.echo(f"trimtab: {error}", err=True)
        sys.exit(2)


def _mendable() -> tuple[type[Exception], ...]:
    """List what a user can mend; only now, so that no command loads the rooms of all others."""
    from trimtab.apply import JournalError, LockError, PlanError
    from trimtab.explain import NothingReadableError
    from trimtab.fields import FieldError
    from trimtab.gather.access import GatherError
    from trimtab.ingest import IngestError, RecordingError
    from trimtab.java import JavaError
    from trimtab.rate.definition import RatingError
    from trimtab.reconstruct.cluster import NothingToSimulateError
    from trimtab.reproduce.definition import DefinitionError
    from trimtab.rerun.question import QuestionError
    from trimtab.simulate.scenario import ScenarioError
    from trimtab.spark import SparkError
    from trimtab.sweep.grid import GridError
    from trimtab.sweep.kept import SweepError

    return (
        DefinitionError,
        FieldError,
        GatherError,
        GridError,
        IngestError,
        JavaError,
        JournalError,
        LockError,
        NothingReadableError,
        NothingToSimulateError,
        PlanError,
        QuestionError,
        RatingError,
        RecordingError,
        ScenarioError,
        SparkError,
        SweepError,
    )
