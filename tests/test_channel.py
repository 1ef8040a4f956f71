"""What the channel takes is what Pulsar's own class takes, for every pair of records."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from oracle.channel import FOLDER, RELEASES, printed, questions

from trimtab.pulsar.channel import Kept, Record, refusal

OWNED = Record("Owned", "a", None, False, 3)


@pytest.mark.parametrize("release", RELEASES)
def test_every_pair_is_answered_as_the_class_answers_it(release: str) -> None:
    lines = lzma.decompress((FOLDER / f"{release}.txt.xz").read_bytes()).decode().splitlines()
    pairs = 0
    for (kept, first, seconds), line in zip(questions(release), lines, strict=True):
        mine = "".join(str(int(refusal(first, second, kept) is not None)) for second in seconds)
        assert f"{kept.value} {printed(first)} {mine}" == line
        pairs += len(seconds)
    assert pairs > 20_000


def test_a_file_of_answers_lies_there_for_each_release() -> None:
    assert {path.name for path in Path(FOLDER).iterdir()} == {f"{it}.txt.xz" for it in RELEASES}


def test_the_reason_is_what_does_not_fit() -> None:
    topic, store = Kept.TOPIC, Kept.STORE
    assert refusal(OWNED, Record("Releasing", "b", "a", False, 4), store) is None
    assert refusal(OWNED, Record("Releasing", "b", "a", False, 3), store) == "version"
    assert refusal(OWNED, Record("Releasing", "b", "a", False, 6), store) == "version"
    assert refusal(OWNED, Record("Free", None, "a", False, 6), topic) is None
    assert refusal(OWNED, Record("Free", None, "a", False, 4), topic) == "state"
    assert refusal(OWNED, Record("Free", None, "a", True, 4), topic) is None
    assert refusal(OWNED, Record("Releasing", "b", "c", False, 4), topic) == "brokers"
    assert refusal(OWNED, None, store) is None
