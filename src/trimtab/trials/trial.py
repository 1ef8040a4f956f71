"""The runner of every trial: a plan → a sweep → what its rows say → JSON, one page and lines."""

from __future__ import annotations

import datetime
import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from trimtab.files.fields import FieldError
from trimtab.files.version import __version__
from trimtab.files.whole_files import write_whole
from trimtab.report.marks import NoMarksError, replaced
from trimtab.trials.sweep.pipeline import Plan, Start, sweep
from trimtab.trials.sweep.task import Row

#: What a trial says, made of what JSON has.
Document: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Form:
    """How the document of one kind of trial is shown."""

    #: Name of its files, without their endings.
    name: str
    #: Document → the text of an HTML file.
    render: Callable[[Document], str]
    #: Document → what a terminal shows.
    lines: Callable[[Document], Iterable[str]]
    #: Whether the command may end with exit code 0.
    is_good: Callable[[Document], bool]
    #: Document and today's date → the measured part of its page of the docs.
    measured: Callable[[Document, str], str] | None = None
    #: Document → name and text of each SVG file beside that page.
    pictures: Callable[[Document], Mapping[str, str]] = lambda _: {}


@dataclass(frozen=True, slots=True)
class Trial:
    """Runs that are planned: everything in them is there."""

    plan: Plan
    #: Says how to ask the same again.
    command: str
    form: Form
    #: Rows of outcomes → the document, but for its head.
    document: Callable[[Sequence[Row]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Result:
    """The document of a trial, and where it and its page were written."""

    form: Form
    page: Path
    json: Path
    document: Document

    @property
    def is_good(self) -> bool:
        """Return whether the command may end with exit code 0."""
        return self.form.is_good(self.document)

    def lines(self) -> Iterable[str]:
        """Return the most of the document for a terminal."""
        return self.form.lines(self.document)


def run(start: Start, trial: Trial, output: Path, *, anew: bool = False) -> Result:
    """Return what a trial says, after whatever of it was not run yet.

    Writes a page, a JSON file and the tables of a sweep into the output folder; runs that an
    earlier start has done are not done again.

    Raises:
        SweepError: the folder cannot be used.
        JavaError: there is no Java for Spark.
        SparkError: Spark failed.
    """
    rows = sweep(start, trial.plan, output, anew=anew).outcomes.to_pylist()
    head = {"trimtab": __version__, "command": trial.command}
    return written({**head, **trial.document(rows)}, trial.form, output)


def written(document: Document, form: Form, output: Path) -> Result:
    """Return a document and where its page and its JSON are, which are written into a folder."""
    output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    return Result(
        form=form,
        page=write_whole(output / f"{form.name}.html", form.render(document)),
        json=write_whole(output / f"{form.name}.json", text + "\n"),
        document=document,
    )


def spelt(
    name: str, options: Mapping[str, object], output: Path, *, arguments: tuple[str, ...] = ()
) -> str:
    """Return the command line that asks the same again, on however many cores.

    An option has a value, or a tuple of values; what is None or blank is left out.
    """
    words = ["trimtab", name, *arguments]
    for option, value in options.items():
        values = value if isinstance(value, tuple) else (value,)
        words += [word for each in values if each not in (None, "") for word in (option, str(each))]
    return shlex.join([*words, "-o", str(output)])


def write_docs(document: Document, form: Form, docs: Path) -> None:
    """Write what was measured into the page of the docs, and its pictures beside it.

    Raises:
        FieldError: the folder has no such page, or the page has no place for it.
    """
    assert form.measured is not None
    page = docs / f"{form.name}.md"
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        text = replaced(page.read_text(encoding="utf-8"), form.measured(document, date))
    except OSError as error:
        raise FieldError("--docs", str(page), "a page of the docs") from error
    except NoMarksError as error:
        raise FieldError("--docs", str(page), str(error).removeprefix("expected ")) from error
    for name, picture in form.pictures(document).items():
        path = docs / form.name / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(picture, encoding="utf-8")
    page.write_text(text, encoding="utf-8")
