"""Asks a Prometheus for what it has kept of the time that is recorded."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from trimtab.live.gather.calls import CallError, Calls
from trimtab.live.gather.folder import Folder

#: What a recording's metrics are read for, sums of topics and not each one.
SELECTED = (
    '{__name__=~"pulsar_lb_.+|pulsar_bundle_.+|pulsar_broker_load_manager_.+'
    '|pulsar_(broker_)?(rate|throughput)_(in|out)",topic=""}'
)
STEP = timedelta(seconds=15)
#: An answer has so many samples of a series at most; Prometheus refuses more than 11,000.
_SAMPLES_MAX = 2_000


def export(calls: Calls, prometheus: str, begin: datetime, end: datetime, folder: Folder) -> int:
    """Return how many pieces were recorded of what a Prometheus has of a time.

    Raises:
        CallError: it does not answer, or says that it failed.
    """
    n_pieces = 0
    while begin <= end:
        stop = min(end, begin + STEP * (_SAMPLES_MAX - 1))
        query = {
            "query": SELECTED,
            "start": f"{begin.timestamp():.3f}",
            "end": f"{stop.timestamp():.3f}",
            "step": f"{STEP.total_seconds():g}",
        }
        url = f"{prometheus}/api/v1/query_range"
        answer = calls.json(f"{url}?{urlencode(query)}")
        if not isinstance(answer, dict) or answer.get("status") != "success":
            reason = answer.get("error") if isinstance(answer, dict) else None
            raise CallError(url, f"{reason or 'no answer of query_range'}")
        name = begin.astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
        content = json.dumps(answer).encode()
        folder.whole(f"metrics/prometheus/{name}.json.gz", content, packed=True)
        n_pieces += 1
        begin = stop + STEP
    return n_pieces
