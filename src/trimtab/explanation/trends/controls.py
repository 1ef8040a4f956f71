"""Clusters in which nothing changed, and what the time did to them.  Pure."""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from trimtab.explanation.trends.nights import MEASURES, Night


class Course(NamedTuple):
    """One measure of one cluster: when the nights began that tell it, in order, and its values."""

    begins: list[datetime]
    values: list[float]


class Span(NamedTuple):
    """What is compared: the nights from `first` to `last`, with the border between them."""

    first: datetime
    border: datetime
    last: datetime


#: Of one cluster a course for each of `MEASURES`.
Courses: TypeAlias = Sequence[Course]


def courses(clusters: Mapping[str, Sequence[Night]]) -> list[Courses]:
    """Return the courses of clusters whose nights are in order of time."""
    return [[_course(nights, each.name) for each in MEASURES] for nights in clusters.values()]


def _course(nights: Iterable[Night], measure: str) -> Course:
    known = [night for night in nights if measure in night.values]
    return Course([night.begin for night in known], [night.values[measure] for night in known])


def shifts(span: Span, controls: Iterable[Courses]) -> list[list[float | None]]:
    """Return after less before of each control and measure; None where either is not known."""
    return [[_shift(span, course) for course in each] for each in controls]


def _shift(span: Span, course: Course) -> float | None:
    start = bisect_left(course.begins, span.first)
    middle = bisect_left(course.begins, span.border)
    end = bisect_right(course.begins, span.last)
    if not start < middle < end:
        return None
    before, after = course.values[start:middle], course.values[middle:end]
    return statistics.fmean(after) - statistics.fmean(before)
