"""What is said of how many brokers recorded nights need → an answer, and lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trimtab.trials.size.nights import need_lines, night_lines, of_one_night
from trimtab.trials.what_if.lines import replay_lines


def answer(document: Mapping[str, Any]) -> str:
    """Return how many brokers are needed, beside how many there are."""
    if not document["fidelity"]["is_trusted"]:
        failed = [it["name"] for it in document["fidelity"]["checks"] if it["is_met"] is False]
        return (
            "Not decidable: the replay does not reproduce what really happened "
            f"({', '.join(failed)}), so nothing is foretold of this recording."
        )
    need, today = document["need"], document["today"]
    if need is None:
        return "Not decidable: not one run came to its end."
    usual, sure = need["usual"], need["sure"]
    count = len(document["nights"])
    these, like = ("this night", "it") if count == 1 else (f"these {count} nights", "them")
    if usual is None:
        return (
            f"No number of brokers carries {these} and the loss of any one by the bar: some "
            "bundles alone are too much for a broker."
        )
    if sure is None:
        return (
            f"{usual} brokers carry {these} and the loss of any one, but in some nights like "
            f"{like} no number does, as a bundle alone is too much for a broker; there are "
            f"{today} today.{of_one_night(document)}"
        )
    if today >= sure:
        verdict = "enough" if today - sure < 2 else f"{today - sure} more than that"
    else:
        verdict = "too few" if today < usual else "perhaps too few"
    return (
        f"{usual} brokers carry {these} and the loss of any one, {sure} almost surely; "
        f"the {today} of today are {verdict}.{of_one_night(document)}"
    )


def lines(document: Mapping[str, Any]) -> Iterable[str]:
    """Return the answer, and what it rests on."""
    yield document["answer"]
    yield ""
    yield from night_lines(document)
    yield f"The bar: {document['bar_text']}"
    yield ""
    yield from replay_lines(document)
    if document["need"] is None:
        return
    yield ""
    yield from need_lines(document["by_night"])
    yield "Brokers, and how many nights like these break the bar on them (nine cases in ten):"
    for point in document["curve"]:
        today = "  ← today" if point["brokers"] == document["today"] else ""
        risk, low, high = (round(100 * point[end]) for end in ("risk", "low", "high"))
        price = f"  {point['price']:,.0f}" if point.get("price") is not None else ""
        yield f"  {point['brokers']:>4}  {risk:>3} % ({low} to {high}){price}{today}"
    yield ""
    yield "If all traffic grows:"
    for each in document["growth"]:
        need = each["need"]
        low, high, sure = (_shown(need[end]) for end in ("low", "high", "sure"))
        usual = "no number of" if need["usual"] is None else need["usual"]
        brokers = f"{usual} brokers ({low} to {high}), {sure} almost surely"
        yield f"  by {each['percent']:>3} %: {brokers}"
    yield ""
    yield from _bundles(document["bundle_count"])


def _shown(number: int | None) -> str:
    return "none" if number is None else str(number)


def _bundles(count: Mapping[str, Any]) -> Iterable[str]:
    yield (
        f"Bundles: {count['verdict']}, {count['per_broker']:.1f} a broker; shared out as well as "
        f"can be the fullest has {100 * count['unevenness']:.0f} % more than the mean"
    )
    for each in count["giants"]:
        share = f"up to {each['percent']:.0f} % of what a broker may carry"
        yield f"  to split: {each['bundle']}, {share}"
