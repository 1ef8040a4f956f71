"""What a broker's classes log; the statements, word by word, stand in `log_lines.toml`."""

from __future__ import annotations

import math
import tomllib
from importlib.resources import files

#: Thread of shedding, and of what the broker writes of itself.
SHEDDING = "pulsar-load-manager-1-1"
#: Event → its lines, from the first to the last, with names in braces to be filled in.
LINES = {
    event: text.splitlines()
    for event, text in tomllib.loads(
        files("trimtab.trials.record").joinpath("log_lines.toml").read_text("utf-8")
    ).items()
}

# From here on to 1e7 Java prints a double as Python does.
_PLAIN_MIN, _PLAIN_MAX = 1e-3, 1e7


def log_lines(event: str, **values: object) -> list[str]:
    """Return what is logged of an event, a float as Java prints it, without the time in front."""
    java = {key: double(of) if isinstance(of, float) else of for key, of in values.items()}
    return [line.format(**java) for line in LINES[event]]


def log_line(thread: str, logger: str, text: str, level: str = "INFO") -> str:
    """Return a line as Pulsar's layout prints it, without the time in front."""
    return f"[{thread}] {level:5} {logger} - {text}"


def double(value: float) -> str:
    """Return a number as Java's Double.toString prints it."""
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0.0 or _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
        return repr(value)
    digits, _, exponent = repr(value).partition("e")
    sign = "-" if digits.startswith("-") else ""
    whole, _, fraction = digits.lstrip("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    power = int(exponent or 0) + len(whole) - 1
    figures = (whole + fraction).lstrip("0")
    power -= len(whole + fraction) - len(figures)
    figures = figures.rstrip("0")
    return f"{sign}{figures[0]}.{figures[1:] or '0'}E{power}"
