"""A selector and a time → the documents that Elasticsearch or OpenSearch has, the oldest first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from trimtab.live.gather.access import GatherError
from trimtab.live.gather.stores.store import LogQuery, RefusalError, Store, iso_text, wrong_selector

#: Documents of an answer; an index gives 10,000 unless it is configured otherwise.
PAGE = 5_000
#: `Batch size is too large, size must be less than or equal to: [1000] but was [5000].`
_FEWER = re.compile(r"size must be less than or equal to: \[(\d+)\]")
#: How long the store keeps its place between two answers.
_KEPT = "2m"
_TIME = "@timestamp"
#: A collector's place in the file that it read, where it says it: lines of one millisecond.
_OFFSET = "log.offset"


def elasticsearch(store: Store, query: LogQuery) -> Iterator[list[bytes]]:
    """Yield the documents page by page, each a line as elasticdump writes it.

    The store is read by a scroll, which Elasticsearch and OpenSearch have alike: what it gives
    is what was there at the first call, each document once.

    Raises:
        GatherError: the store does not answer or refuses, or gives fewer than it says it has.
    """
    answer, n_given = _first(store, query), 0
    total = _total(store, answer)
    scroll = answer.get("_scroll_id")
    try:
        while hits := _hits(store, answer):
            n_given += len(hits)
            yield [_record(store, hit) for hit in hits]
            if n_given >= total or scroll is None:
                break
            answer = store.json(
                store.asked("POST", "/_search/scroll", {"scroll": _KEPT, "scroll_id": scroll})
            )
            scroll = answer.get("_scroll_id", scroll)
    finally:
        if scroll is not None:
            # It would end by itself in a while.
            with suppress(GatherError):
                store.asked("DELETE", "/_search/scroll", {"scroll_id": scroll})
    if n_given < total:
        raise store.fault(f"found {n_given} documents of {total} that it says it has")


def _first(store: Store, query: LogQuery) -> dict[str, Any]:
    """Return the first answer, of as many documents as the store gives at a time."""
    path = f"/{quote(query.index, safe='*,-_.:<>{}')}/_search"
    options = f"scroll={_KEPT}&allow_partial_search_results=false"
    size = PAGE
    while True:
        try:
            content = store.asked("POST", f"{path}?{options}", _question(query, size))
        except RefusalError as refusal:
            match = _FEWER.search(refusal.text)
            if match is None or not 0 < int(match[1]) < size:
                raise _refused(refusal, query) from None
            size = int(match[1])
        else:
            answer: dict[str, Any] = store.json(content)
            break
    shards = answer.get("_shards")
    if isinstance(shards, dict) and shards.get("total") == 0:
        raise GatherError(f"--index: found {query.index!r}, which no index of {store.name} matches")
    return answer


def _question(query: LogQuery, size: int) -> dict[str, object]:
    within = {
        "gte": iso_text(query.begin_ns),
        "lt": iso_text(query.end_ns),
        "format": "strict_date_optional_time",
    }
    return {
        "size": size,
        "track_total_hits": True,
        "query": {
            "bool": {
                "filter": [
                    {"range": {_TIME: within}},
                    {"query_string": {"query": query.selector, "default_operator": "AND"}},
                ]
            }
        },
        "sort": [
            {_TIME: {"order": "asc", "unmapped_type": "date"}},
            {_OFFSET: {"order": "asc", "unmapped_type": "long"}},
        ],
    }


def _refused(refusal: RefusalError, query: LogQuery) -> GatherError:
    if refusal.status == 404 and "index" in refusal.text:
        return GatherError(f"--index: found {query.index!r}, and the store says: {refusal.text}")
    return wrong_selector(refusal, query.selector)


def _total(store: Store, answer: Mapping[str, Any]) -> int:
    """Return how many documents there are; releases before 7 say the number alone."""
    hits = answer.get("hits")
    total = hits.get("total") if isinstance(hits, dict) else None
    if isinstance(total, dict):
        total = total.get("value")
    if not isinstance(total, int):
        raise store.fault("found an answer without hits.total, expected one of _search")
    return total


def _hits(store: Store, answer: Mapping[str, Any]) -> list[Any]:
    """Return the documents of an answer.

    Raises:
        GatherError: it is not the whole of it.
    """
    shards = answer.get("_shards")
    failed = shards.get("failed") if isinstance(shards, dict) else 0
    if failed or answer.get("timed_out"):
        why = f"{failed} of its shards failed" if failed else "it ran out of time"
        raise store.fault(f"found a part of an answer: {why}; expected the whole")
    hits = answer.get("hits")
    documents = hits.get("hits") if isinstance(hits, dict) else None
    if not isinstance(documents, list):
        raise store.fault("found an answer without hits.hits, expected one of _search")
    return documents


def _record(store: Store, hit: Any) -> bytes:  # noqa: ANN401  # whatever a store answers
    if not isinstance(hit, dict) or not isinstance(hit.get("_source"), dict):
        raise store.fault("found a document without _source, expected it to be kept")
    kept = {name: hit[name] for name in ("_index", "_id", "_source") if name in hit}
    return json.dumps(kept, separators=(",", ":")).encode()
