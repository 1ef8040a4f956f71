"""What stands beside what it explains: usage, pages of findings, letters of events, costs."""

from __future__ import annotations

import re

from report_nights import decision, render
from test_report import Outline, page, read, squeezed
from trimtab.diagnose.verdicts import VERDICT_WORDS
from trimtab.report.render import render as report_of


def test_each_change_stands_beside_usage_before_and_after_a_round_that_it_is_against() -> None:
    document = read("threshold")
    for change in document["findings"]["changes"]:
        change["against"] = ["sole-candidate"]
    shown = re.findall(
        r'<p class="usage">(.*?)</p>', render(document["findings"], document["picture"])
    )
    rounds = document["findings"]["round_list"]
    highest = [max(it["usage"] for it in rounds[at]["brokers"]) for at in (1, 2)]
    said = "Busiest broker before and after round 2, as it was: {:.1%} → {:.1%}".format(*highest)
    assert {squeezed(Outline(each).text()) for each in shown} == {squeezed(said.replace("%", " %"))}
    # Where the best of as many moves was worked out, that is beside it.
    document["findings"]["regret"] = {"decisions": [decision(2, "missed", 10.0)]}
    text = render(document["findings"], document["picture"])
    assert "84.0 % → 71.0 %; 61.0 % was possible" in text
    # No usage is made up.
    document["findings"]["changes"][0]["against"] = ["nobody-knows"]
    assert "not decidable" in re.findall(
        r'<p class="usage">(.*?)</p>', render(document["findings"], document["picture"])
    )[0]  # fmt: skip


def test_the_page_of_a_finding_is_brought_along_and_its_links_lead_within_the_report() -> None:
    document = read("threshold")
    pages = {
        "random-placement": (
            "So.\n\n## Limits\n\n- [over](over-unloading.md) <b>\n- [rule](../lint.md#x)\n"
        ),
        "over-unloading": "It.",
        "ping-pong": "Not of this night.",
    }
    text = report_of(document["findings"], document["picture"], VERDICT_WORDS, pages)
    assert '<a href="#cause-over-unloading">over</a> &lt;b&gt;' in text
    assert "<li>rule</li>" in text
    assert "<h4>Limits</h4>" in text
    assert "Not of this night." not in text
    # One without a page names the command that has it.
    assert "<code>trimtab help sole-candidate</code>" in text


def test_causes_after_the_first_are_folded_with_their_cost_in_sight() -> None:
    why = page().partition('<section id="why"')[2]
    assert re.findall(r'<(section|details) class="cause"', why) == ["section", "details", "details"]
    assert all("did no good" in each for each in re.findall(r"<summary><h3.*?</summary>", why))


def test_events_are_explained_below_their_letters() -> None:
    document = read("threshold")
    text = page()
    titles = re.findall(r'<text class="event"[^>]*><title>(.*?)</title>([A-Z])</text>', text)
    told = re.findall(r"<li><b>([A-Z])</b><time>(.*?)</time><span>(.*?)</span>", text)
    assert len(told) == len(document["picture"]["actions"]) == 14
    # Twice: the wide drawing and the narrow one.
    assert titles == 2 * [(f"{time} {what}", letter) for letter, time, what in told]
    assert text.index('<ol class="actions"') < text.index("<figcaption>")
