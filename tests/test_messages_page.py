"""The page of messages has every sentence of the commands that speak to a cluster."""

from __future__ import annotations

from pathlib import Path

from tools.messages_page import PARTS, SOURCE, sentences_of


def test_sentences_are_told_from_docstrings_help_and_keys(tmp_path: Path) -> None:
    path = tmp_path / "said.py"
    path.write_text(
        '"""A file of which this is not said."""\n'
        'KEY = "one_key"\n'
        "def refused(view):\n"
        '    """Return what nobody prints, ever."""\n'
        '    option(help="Never said, but shown.")\n'
        '    return Refusal(f"{view.broker} stands at {view.usage_percent:.1f} %, "\n'
        '        "above the bar")\n'
    )
    (sentence,) = sentences_of(path)
    assert sentence.function == "refused"
    assert sentence.text == "<broker> stands at <usage percent> %, above the bar"


def test_every_file_of_the_live_rooms_that_speaks_is_on_the_page() -> None:
    listed = {file for files in PARTS.values() for file in files}
    assert not [file for file in listed if not (SOURCE / file).exists()]
    raising = {
        path.relative_to(SOURCE).as_posix()
        for room in ("apply", "control")
        for path in (SOURCE / "live" / room).glob("*.py")
        if any(word in path.read_text() for word in ("Refusal(", "Stopped(view", "LockError("))
    }
    assert raising
    assert raising <= listed
