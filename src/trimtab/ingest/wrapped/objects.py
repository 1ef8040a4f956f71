"""Values at paths of JSON objects, and the labels that say whose line a record is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trimtab.ingest.wrapped.shapes import FILES, LABELS

#: `{pod="b0", app="pulsar"}`
_SELECTOR = re.compile(r'([A-Za-z_][\w.]*)="((?:[^"\\]|\\.)*)"', re.ASCII)
#: /var/log/pods/NAMESPACE_POD_UID/…, /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log
_POD_OF_FILE = re.compile(r".*/(?:pods/[^/_]+_([^/_]+)_|containers/([^/_]+)_)", re.ASCII)
#: Ranks of labels up to here are of pods, which nothing else is as good as.
_POD_RANK = LABELS.index("podName")


def at(value: Any, path: str) -> Any:
    """Return what stands at a path of objects and lists; None for nothing.

    A key may have dots of its own.
    """
    if isinstance(value, dict):
        if path in value:
            return value[path]
        head, dot, rest = path.partition(".")
        while dot:
            if head in value:
                below = at(value[head], rest)
                if below is not None:
                    return below
            more, dot, rest = rest.partition(".")
            head = f"{head}.{more}"
        return None
    if isinstance(value, list):
        head, _, rest = path.partition(".")
        if head.isdigit() and int(head) < len(value):
            return at(value[int(head)], rest) if rest else value[int(head)]
    return None


def labels_of(value: Any) -> Mapping[str, Any]:
    """Return labels as an object, whichever way they are written.

    >>> labels_of('{pod="b0"}'), labels_of(["pod_name:b0"])
    ({'pod': 'b0'}, {'pod_name': 'b0'})
    """
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        return _labels_of_text(value)
    if isinstance(value, list):
        return dict(pair for item in value if (pair := _pair(item)) is not None)
    return {}


def plain(value: Any) -> Any:
    """Return a value of OpenTelemetry as JSON would have it."""
    if isinstance(value, dict) and len(value) == 1:
        ((kind, inner),) = value.items()
        if kind == "kvlistValue":
            return dict(labels_of(at(inner, "values")))
        if kind.endswith("Value"):
            return inner
    return value


def broker_of(places: Iterable[Any]) -> tuple[int, str]:
    """Return the label that says whose line it is with its rank, the best of several places.

    Returns:
        Rank and label; the lower the better, and an empty label for none.
    """
    best = len(LABELS), ""
    objects = [labels for place in places if (labels := labels_of(place))]
    for labels in objects:
        for rank, name in enumerate(LABELS[: best[0]]):
            label = at(labels, name)
            if isinstance(label, str) and label:
                best = rank, label
                break
    if best[0] > _POD_RANK:
        for labels in objects:
            for name in FILES:
                path = at(labels, name)
                match = _POD_OF_FILE.match(path) if isinstance(path, str) else None
                if match is not None:
                    return _POD_RANK, match[1] or match[2]
    return best


def _pair(item: Any) -> tuple[str, Any] | None:
    """Return a label in a list: OpenTelemetry's object, or Datadog's `name:value`."""
    if isinstance(item, dict) and isinstance(item.get("key"), str):
        return item["key"], plain(item.get("value"))
    if isinstance(item, str) and ":" in item:
        name, _, label = item.partition(":")
        return name, label
    return None


def _labels_of_text(text: str) -> Mapping[str, Any]:
    if not text.startswith("{"):
        return {}
    if text.startswith('{"'):
        try:
            labels = json.loads(text)
        except (ValueError, RecursionError):
            return {}
        return labels if isinstance(labels, dict) else {}
    return dict(_SELECTOR.findall(text))


def first_at(value: Any, paths: Sequence[str]) -> Any:
    """Return what stands at the first of some paths at which something stands."""
    return next((it for path in paths if (it := at(value, path)) is not None), None)
