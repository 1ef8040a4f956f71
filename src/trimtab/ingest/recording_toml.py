"""What a recording says of itself: recording.toml."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from trimtab.files.errors import TrimtabError

#: What a time zone may be called.
ZONES = "such as '+08:00', 'UTC' or 'Asia/Shanghai'"


class RecordingError(TrimtabError):
    """What was given is not a recording; the message names file, key, found and expected."""


def read_meta(path: Path) -> dict[str, Any]:
    """Return recording.toml, where every key may be absent but none may be of a wrong kind."""
    if not path.exists():
        return {}
    try:
        meta = tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise RecordingError(getattr(error, "strerror", None) or str(error)) from None
    for key in ("cluster", "pulsar", "time_zone", "name", "note", "store_root"):
        if not isinstance(meta.get(key, ""), str):
            raise wrong_key(key, meta[key], "text")
    if not re.fullmatch(r"(?:/[^/]+)*", meta.get("store_root", "")):
        raise wrong_key("store_root", meta["store_root"], "a path such as '/cluster1'")
    brokers = meta.get("brokers", {})
    if not isinstance(brokers, dict):
        raise wrong_key("brokers", brokers, "a table for each broker")
    for name, broker in brokers.items():
        if not isinstance(broker, dict):
            raise wrong_key(f"brokers.{name}", broker, "a table such as {id = 'host:port'}")
        if not isinstance(broker.get("id", ""), str):
            raise wrong_key(f"brokers.{name}.id", broker["id"], "text such as 'host:port'")
    return meta


def zone_of(name: str) -> tzinfo | None:
    """Return the zone of a name such as `+08:00`, `UTC` or `Asia/Shanghai`; None if none has it."""
    if name in {"Z", "UTC"}:
        return UTC
    if offset := re.fullmatch(r"([+-])(\d\d):?([0-5]\d)", name):
        minutes = int(offset[2]) * 60 + int(offset[3])
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes))
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return None


def moment_of(key: str, value: Any, zone: tzinfo) -> datetime:
    """Return the time at a key; one without a zone is in the recording's."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000, zone)
        moment = datetime.fromisoformat(value if isinstance(value, str) else value.isoformat())
    except (AttributeError, ValueError, OverflowError, OSError):
        raise wrong_key(key, value, "a time in ISO 8601, or epoch milliseconds") from None
    return moment.astimezone(zone) if moment.tzinfo else moment.replace(tzinfo=zone)


def wrong_key(key: str, value: Any, expected: str) -> RecordingError:
    """Return the error that names a key, what was found there and what was expected."""
    return RecordingError(f"key {key}: found {value!r}, expected {expected}")


def flat_keys(table: dict[str, Any], head: str = "") -> dict[str, str]:
    """Return every value of a table within tables as text, its keys joined by dots."""
    flat: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= flat_keys(value, f"{head}{key}.")
        else:
            flat[head + key] = value if isinstance(value, str) else json.dumps(value, default=str)
    return flat
