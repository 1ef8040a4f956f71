"""A rehearsal → the sentence that says whether it is safe, and lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trimtab.pulsar.sequences.wording import aligned_rows
from trimtab.report.contenders import figure
from trimtab.trials.rehearse.document import PLANNED, UNDISTURBED
from trimtab.trials.rehearse.verdict import Verdict
from trimtab.trials.what_if.lines import SIGNS, night_line, replay_lines

#: What is taken for granted of every event.
ASSUMED = (
    "clients send what they sent that night, but for traffic that is planned",
    "a broker that is added is like the median one, and its CPU is at rest as theirs are",
    "a process that begins takes what one that was recorded took at its age, of this night or "
    "of those that come along: most for two minutes, until it has compiled itself",
    "a strategy, a release and settings hold from the first event on, on all brokers at once",
)


#: What an answer says of itself where no replay was held against what happened.
UNBACKED = " by a simulation that no replay backs, as the cluster was looked at once"


def answer(document: Mapping[str, Any]) -> str:
    """Return whether what is planned is safe by the bar, and on how many seeds it is.

    Where there was nothing to replay, that is said before the figures.
    """
    is_trusted = document["fidelity"]["is_trusted"]
    if is_trusted is False:
        failed = [it["name"] for it in document["fidelity"]["checks"] if it["is_met"] is False]
        return (
            "Not decidable: the replay does not reproduce what really happened "
            f"({', '.join(failed)}), so nothing is foretold of this recording."
        )
    planned, still = document["courses"][PLANNED], document["courses"][UNDISTURBED]
    backed = "" if is_trusted else UNBACKED
    share = f"{backed}: the bar holds on {planned['kept']} of {planned['count']} seeds"
    beside = f"undisturbed on {still['kept']}"
    verdict = document["verdict"]
    if verdict == Verdict.SAFE:
        return f"Safe{share}, {beside}."
    if verdict == Verdict.NOT_DECIDABLE:
        return (
            f"Not decidable{share}, {beside}; some {document['seeds_to_decide']:,} seeds "
            "would decide it."
        )
    blame = ""
    if still["verdict"] == Verdict.NOT_SAFE:
        blame = ", so it is not the event alone"
    return f"Not safe{share}, {beside}{blame}."


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Return the answer, and what it rests on."""
    yield document["answer"]
    yield ""
    yield f"{night_line(document)}, {document['strategy']}"
    yield f"Planned: {'; '.join(document['events'])}"
    yield f"The bar: {document['bar_text']}"
    yield ""
    yield from replay_lines(document)
    if document["courses"] is None:
        return
    yield ""
    yield from _courses(document)
    yield ""
    yield from _worst(document)
    yield ""
    yield from _remedies(document["remedies"])


def _courses(document: Mapping[str, Any]) -> Iterator[str]:
    planned, still = document["courses"][PLANNED], document["courses"][UNDISTURBED]
    low, high = (round(100 * planned[end]) for end in ("low", "high"))
    sure, wanted = (round(100 * document[name]) for name in ("confidence", "wanted_share"))
    of = "courses" if document["fidelity"]["is_trusted"] is None else "nights"
    yield (
        f"Of all {of} like this one {low} to {high} % keep to the bar (each end {sure} % sure); "
        f"{wanted} % are wanted"
    )
    broken = planned["seeds_that_break_it"]
    if broken:
        yield f"Seeds that break it: {', '.join(map(str, broken))}"
    yield f"Median of {planned['count']} seeds (10 to 90 %) since the event:"
    columns: list[tuple[str, list[str]]] = [
        ("", [f"  {each['title']}" for each in document["measures"]]),
        *(
            (
                name,
                [cell(course["measures"][it["name"]], it["unit"]) for it in document["measures"]],
            )
            for name, course in ((PLANNED, planned), (UNDISTURBED, still))
        ),
    ]
    yield from aligned_rows(columns)


def cell(numbers: Mapping[str, Any], unit: str) -> str:
    """Return a median with its range, in words."""
    if numbers["median"] is None:
        return "–"
    middle, low, high = (figure(numbers[end]) for end in ("median", "p10", "p90"))
    text = middle if low == high else f"{middle} ({low} to {high})"
    return f"{text} {unit}".strip()


def _worst(document: Mapping[str, Any]) -> Iterator[str]:
    yield "Worst off:"
    brokers = document["worst_brokers"]
    yield from aligned_rows(
        [
            ("  broker", [f"  {each['broker']}" for each in brokers]),
            ("highest, planned", [cell(each["peak_percent"], "%") for each in brokers]),
            ("undisturbed", [cell(each["undisturbed"], "%") for each in brokers]),
            ("over the bar", [cell(each["over_min"], "min") for each in brokers]),
        ]
    )
    for each in document["worst_namespaces"]:
        yield (
            f"  {each['namespace']}: {figure(each['topics'])} topics disconnected on average, "
            f"undisturbed {figure(each['undisturbed'])}"
        )


def _remedies(remedies: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not remedies:
        return
    good = [each for each in remedies if each["verdict"] == Verdict.SAFE]
    yield "What would make it safe:" if good else "Nothing that was tried makes it safe:"
    for each in remedies:
        peak = cell(each["measures"]["peak_percent"], "%")
        sign = SIGNS[each["verdict"] == Verdict.SAFE]
        share = f"holds on {each['kept']} of {each['count']} seeds"
        yield f"  {sign} {each['title']}: {share}, peak {peak}"
