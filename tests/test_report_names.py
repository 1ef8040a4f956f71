"""Names and log lines of others on the page: text, whatever they hold."""

from __future__ import annotations

import base64
import json
import re
import zlib
from functools import cache
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from report_nights import HOSTILE, night, renamed_night, render
from trimtab.files.visible import visible_name

NAMES = st.text(st.characters(categories=None), min_size=1, max_size=60) | st.sampled_from(HOSTILE)


@cache
def clean_page() -> str:
    """Return the page of the night with harmless names."""
    return render(*renamed_night("tenant/namespace/0x00_0xff", "broker-0:8080"))


class Elements(HTMLParser):
    """The elements that a browser would make of a page, with their attributes' names, and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.links: set[str] = set()
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))
        self.links |= {value or "" for name, value in attrs if name.endswith("href")}

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def unpacked(text: str) -> list[str]:
    """Give every markup that the page's script would unpack."""
    packs = re.findall(r'<script type="text/plain" id="packed-[^"]*">(.*?)</script>', text)
    read = [json.loads(zlib.decompress(base64.b64decode(each), -zlib.MAX_WBITS)) for each in packs]
    return [html for each in read if "html" in each for html in each["html"]]


# A page takes a second or so to draw.
@pytest.mark.slow
@settings(max_examples=5)
@given(NAMES, NAMES)
@example(HOSTILE[0], HOSTILE[1])
@example(HOSTILE[2], HOSTILE[3])
@example(HOSTILE[4], HOSTILE[5])
@example(HOSTILE[6], HOSTILE[7])
@example(HOSTILE[8], HOSTILE[9])
@example(HOSTILE[10], HOSTILE[11])
@example(HOSTILE[11], HOSTILE[8])
def test_a_name_changes_no_element_of_the_page(bundle: str, broker: str) -> None:
    text = render(*renamed_night(bundle, broker))
    text.encode("utf-8")
    assert all(each.isprintable() or each in "\n\t" for each in text)
    page, clean = Elements(text), Elements(clean_page())
    assert {tag for tag, _ in page.found} <= {tag for tag, _ in clean.found}
    assert not any(each.startswith("on") for _, names in page.found for each in names)
    scripts, expected = ([tag for tag, _ in each.found].count("script") for each in (page, clean))
    assert scripts == expected
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in page.links)
    squeezed = "".join("".join(page.words).split())
    assert "".join(visible_name(bundle, 240).split()) in squeezed
    assert "".join(visible_name(broker, 240).split()) in squeezed
    assert len(text) < len(clean_page()) + 150_000


@pytest.mark.slow
def test_what_is_packed_is_as_harmless() -> None:
    findings, picture = night(13, 70, 400)
    clean = {tag for html in unpacked(render(findings, picture)) for tag, _ in Elements(html).found}
    for i, unload in enumerate(findings["unloads"]):
        unload["bundle"] = unload["source"] = HOSTILE[i % len(HOSTILE)]
        unload["evidence"][-1]["text"] = HOSTILE[i % len(HOSTILE)]
    rows = unpacked(render(findings, picture))
    assert len(rows) > 300
    for name in HOSTILE:
        assert any(visible_name(name, 240)[:20] in "".join(Elements(html).words) for html in rows)
    for html in rows:
        page = Elements(html)
        assert {tag for tag, _ in page.found} <= clean
        assert not any(each.startswith("on") for _, names in page.found for each in names)
        assert all(each.isprintable() or each in "\n\t" for each in html)
