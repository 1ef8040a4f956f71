"""The schema of every table: column, type, unit, meaning.

Ingest, diagnosis and report meet only here.  No logic beyond looking a schema up.
"""

from __future__ import annotations

import pyarrow as pa

TIME = pa.timestamp("us", tz="UTC")
_KEY = b"key"
NUMBERS = pa.map_(pa.string(), pa.float64())


def column(name: str, kind: pa.DataType, meaning: str, *, unit: str = "") -> pa.Field:
    """Return a column with its meaning and unit in the field's metadata."""
    return pa.field(name, kind, metadata={"meaning": meaning, "unit": unit})


def field(name: str, key: str, kind: pa.DataType, meaning: str, unit: str = "") -> pa.Field:
    """Return a column that ingest reads at a key, see `KEYS`, of the source's JSON."""
    of_column = column(name, kind, meaning, unit=unit)
    return of_column.with_metadata(of_column.metadata | {_KEY: key})


def schema(meaning: str, *columns: pa.Field) -> pa.Schema:
    """Return a table's schema with its meaning in the metadata."""
    return pa.schema(list(columns), metadata={"meaning": meaning})


def _resource(name: str, key: str, meanings: tuple[str, str], unit: str) -> tuple[pa.Field, ...]:
    """Return the columns of a resource: what is used of it, and what is to be had."""
    return tuple(
        field(f"{name}_{part}", f"{key}.{part}", pa.float64(), meaning, unit)
        for part, meaning in zip(("usage", "limit"), meanings, strict=True)
    )


def _traffic(head: str, key: str, inward: str, outward: str) -> tuple[pa.Field, ...]:
    """Return the columns of traffic, by the heads of their names and of their keys."""
    return (
        field(f"{head}rate_in", f"{key}sgRateIn", pa.float64(), inward, "messages/s"),
        field(f"{head}rate_out", f"{key}sgRateOut", pa.float64(), outward, "messages/s"),
        field(f"{head}throughput_in", f"{key}sgThroughputIn", pa.float64(), inward, "bytes/s"),
        field(f"{head}throughput_out", f"{key}sgThroughputOut", pa.float64(), outward, "bytes/s"),
    )


_FILE = column("file", pa.string(), "file in the recording that the row was read from")
_LINE = column("line", pa.int64(), "line of that file, from 1")
_PLACE = column("line", pa.int64(), "line of that file, transaction of a log or node, from 1")
_TIME = column("time", TIME, "when the row was recorded")
_WRITTEN = column("written", TIME, "when the metadata store took the write (mtime)")
_VERSION = column("version", pa.int32(), "version of the store node; a gap is a missed write")

_INGESTED: dict[str, pa.Schema] = {
    "recording": schema(
        "What recording.toml says, a row a key; tables within it are joined by dots.",
        column("key", pa.string(), "key, such as `pulsar` or `brokers.broker1.id`"),
        column("value", pa.string(), "value as text"),
    ),
    "log_events": schema(
        "One row a message of the load balancer or of ownership in a broker's log.",
        column("time", TIME, "time of the log line"),
        column("log_broker", pa.string(), "whose log: the folder's name under logs/"),
        _FILE,
        _LINE,
        column("thread", pa.string(), "thread that logged, if the layout has it"),
        column("level", pa.string(), "INFO, WARN, …"),
        column("logger", pa.string(), "simple class name of the logger"),
        column("kind", pa.string(), "which message, see the page of log messages"),
        column("strategy", pa.string(), "strategy class named in the message"),
        column("broker", pa.string(), "broker that the message is about; the source of an unload"),
        column("bundle", pa.string(), "bundle that the message is about"),
        column("target", pa.string(), "destination broker"),
        column("count", pa.int64(), "the number of brokers, topics or bundles the message counts"),
        column("numbers", NUMBERS, "the message's other numbers by name, as printed"),
        column("scores", NUMBERS, "the message's map of broker to number"),
        column("brokers", pa.list_(pa.string()), "the message's list of brokers, in its order"),
        column("text", pa.string(), "the message behind the prefix"),
    ),
    "load_reports": schema(
        "What a broker said of itself: to the metadata store, or when asked over REST.",
        _TIME,
        column("broker", pa.string(), "broker id"),
        column("origin", pa.string(), "store or rest"),
        _VERSION,
        _WRITTEN,
        column("is_gone", pa.bool_(), "the node was gone: the broker had left"),
        field("updated", "lastUpdate?", TIME, "lastUpdate of the report"),
        field("started", "startTimestamp?", TIME, "startTimestamp of the report"),
        field("release", "brokerVersionString? brokerVersion?", pa.string(), "brokerVersionString"),
        field(
            "load_manager",
            "loadManagerClassName?",
            pa.string(),
            "simple class name of the load manager",
        ),
        *_resource("cpu", "cpu", ("CPU used", "CPU to be had"), "% of a core"),
        *_resource("memory", "memory", ("heap used", "heap to be had"), "MiB"),
        *_resource(
            "direct_memory",
            "directMemory",
            ("direct memory used", "direct memory to be had"),
            "MiB",
        ),
        *_resource("bandwidth_in", "bandwidthIn", ("received", "NIC speed"), "kbit/s"),
        *_resource("bandwidth_out", "bandwidthOut", ("sent", "NIC speed"), "kbit/s"),
        *_traffic("", "m", "published", "dispatched"),
        field("topics", "numTopics", pa.int64(), "topics loaded"),
        field(
            "bundles", "bundles", pa.list_(pa.string()), "bundles reported, in the report's order"
        ),
        _FILE,
        _PLACE,
    ),
    "bundle_reports": schema(
        "One bundle's line in a load report (lastStats).",
        _TIME,
        column("broker", pa.string(), "broker id"),
        column("origin", pa.string(), "store or rest"),
        _VERSION,
        _WRITTEN,
        column("bundle", pa.string(), "bundle name"),
        *_traffic("", "m", "published", "dispatched"),
        field("topics", "topics", pa.int64(), "topics loaded"),
        field("producers", "producerCount", pa.int64(), "producers connected"),
        field("consumers", "consumerCount", pa.int64(), "consumers connected"),
        field("cache_size", "cacheSize", pa.int64(), "broker cache", "bytes"),
        _FILE,
        _PLACE,
    ),
    "bundle_averages": schema(
        "A bundle's averages as the leader stored them, one row a write seen.",
        _TIME,
        _WRITTEN,
        column("bundle", pa.string(), "bundle name"),
        field(
            "short_samples",
            "shortTermData.numSamples",
            pa.int32(),
            "samples in the short-term average, at most 10",
        ),
        *_traffic("short_", "shortTermData.m", "short term", "short term"),
        field(
            "long_samples",
            "longTermData.numSamples",
            pa.int32(),
            "samples in the long-term average, at most 1000",
        ),
        *_traffic("long_", "longTermData.m", "long term", "long term"),
        field("topics", "topics", pa.int64(), "topics"),
        _FILE,
        _PLACE,
    ),
    "broker_averages": schema(
        "A broker's time averages as the leader stored them, one row a write seen.",
        _TIME,
        _WRITTEN,
        column("broker", pa.string(), "broker id"),
        *_traffic("short_", "shortTermM", "short term", "short term"),
        *_traffic("long_", "longTermM", "long term", "long term"),
        _FILE,
        _PLACE,
    ),
    "leaders": schema(
        "Who led when, as the metadata store says.",
        _TIME,
        _VERSION,
        _WRITTEN,
        column("broker", pa.string(), "broker id of the leader; null when nobody led"),
        _FILE,
        _PLACE,
    ),
    "ownership": schema(
        "Who owns what, as the metadata store says: one row a change.",
        _TIME,
        column("is_full", pa.bool_(), "part of a full listing: what is not in it has no owner"),
        column("bundle", pa.string(), "bundle name"),
        column("broker", pa.string(), "owner; null when the bundle has none"),
        _FILE,
        _PLACE,
    ),
    "store_writes": schema(
        "Every write below /loadbalance and /namespace, out of ZooKeeper's own files, once.",
        column("time", TIME, "when ZooKeeper took the write, by its leader's clock"),
        column("zxid", pa.int64(), "transaction that wrote; one may write several nodes"),
        column("session", pa.string(), "session that wrote, as ZooKeeper prints it"),
        column("path", pa.string(), "path of the node, without store_root"),
        column("operation", pa.string(), "create, set or delete"),
        column("version", pa.int32(), "version of the node's value; null when it is gone"),
        column("is_ephemeral", pa.bool_(), "it ends with its session; null: not said by the write"),
        column("is_snapshot", pa.bool_(), "from a snapshot: the last write of a node before it"),
        column("bytes", pa.int64(), "size of the value; null if there is none", unit="bytes"),
        _FILE,
        _PLACE,
    ),
    "store_files": schema(
        "What ZooKeeper's own files cover, a row a file.",
        _FILE,
        column("kind", pa.string(), "log or snapshot"),
        column("records", pa.int64(), "transactions of a log, nodes of a snapshot"),
        column("first", pa.int64(), "zxid of a log's first transaction"),
        column("last", pa.int64(), "zxid of a log's last transaction"),
        column("start", TIME, "time of a log's first transaction"),
        column("end", TIME, "time of a log's last transaction"),
        column("fault", pa.string(), "why it was not read to its end; null if it was"),
    ),
    "settings": schema(
        "Every setting of every broker.",
        column("log_broker", pa.string(), "name of the file in conf/ or runtime-config/, or log"),
        column("key", pa.string(), "broker.conf key"),
        column("value", pa.string(), "value as written"),
        column("origin", pa.string(), "conf or runtime; runtime wins"),
        _FILE,
        _LINE,
    ),
    "metrics": schema(
        "Samples of the load balancer's, the bundles' and the brokers' Prometheus metrics.",
        _TIME,
        column("log_broker", pa.string(), "the folder's name under metrics/"),
        column("name", pa.string(), "metric name"),
        column("labels", pa.map_(pa.string(), pa.string()), "labels"),
        column("value", pa.float64(), "value"),
        _FILE,
        _LINE,
    ),
    "actions": schema(
        "What people did to the cluster.",
        _TIME,
        column("event", pa.string(), "what was done"),
        column("broker", pa.string(), "broker it was done to"),
        column("detail", pa.string(), "the whole entry, as JSON"),
        _FILE,
        _LINE,
    ),
    "files": schema(
        "The accounting: every line of every file is a row, other, a continuation or rejected.",
        _FILE,
        column("source", pa.string(), "what kind of file it was read as"),
        column("lines", pa.int64(), "lines in the file"),
        column("rows", pa.int64(), "lines that gave rows"),
        column("other", pa.int64(), "lines understood and not needed"),
        column("continuation", pa.int64(), "lines that belong to the one before (stack traces)"),
        column("rejected", pa.int64(), "lines that could not be read, see `rejects`"),
    ),
    "rejects": schema(
        "Every line, or whole file, that could not be read.",
        _FILE,
        _PLACE,
        column("reason", pa.string(), "what was found and what was expected"),
        column("text", pa.string(), "the line, cut to 500 characters"),
    ),
}

#: Tables that ingest writes.
INGESTED: dict[str, pa.Schema] = {
    table: schema(
        columns.metadata[b"meaning"].decode(),
        *(it.with_metadata({k: v for k, v in it.metadata.items() if k != _KEY}) for it in columns),
    )
    for table, columns in _INGESTED.items()
}
#: Table → column → where its values stand in an object of the source's JSON: keys with a dot
#: between where objects lie within each other.  A `?` stands behind a key that not every
#: release writes, and then perhaps another one that is looked at in its place; an object with
#: such a key in it is always written.
KEYS: dict[str, dict[str, str]] = {
    table: {it.name: it.metadata[_KEY].decode() for it in columns if _KEY in it.metadata}
    for table, columns in _INGESTED.items()
}

_BROKER_STATE = pa.struct(
    [
        pa.field("broker", pa.string()),
        pa.field("usage", pa.float64()),
        pa.field("score", pa.float64()),
        pa.field("throughput", pa.float64()),
        pa.field("rate", pa.float64()),
        pa.field("offload", pa.float64()),
        pa.field("bundles", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
_CHOSEN = pa.struct(
    [
        pa.field("source", pa.string()),
        pa.field("bundle", pa.string()),
        pa.field("target", pa.string()),
        pa.field("throughput", pa.float64()),
        pa.field("rate", pa.float64()),
    ]
)

#: Tables that diagnosis writes.
DIAGNOSED: dict[str, pa.Schema] = {
    "replayed_rounds": schema(
        "The leader's rounds decided again from what it had been told, silent ones included.",
        column("term", pa.int32(), "which tenure of leadership, from 1"),
        column("time", TIME, "when the round ran; of a silent round, when it must have run"),
        column("round", pa.int32(), "number of the logged round; null for a silent one"),
        column("leader", pa.string(), "whose log"),
        column("doubt", pa.string(), "why the numbers may differ from the leader's; null if sure"),
        column("bundle_doubt", pa.string(), "why bundle averages may differ; null if sure"),
        column("average", pa.float64(), "mean of the scores"),
        column("is_smoothed", pa.bool_(), "the score is smoothed usage, a fraction"),
        column(
            "brokers",
            pa.list_(_BROKER_STATE),
            "each broker: usage, the shedder's score, traffic, what it was to lose, reason",
        ),
        column("unloads", pa.list_(_CHOSEN), "bundles chosen, with the traffic of each"),
        column("hits_high", NUMBERS, "AvgShedder's counters after the round"),
        column("hits_low", NUMBERS, "AvgShedder's counters after the round"),
    ),
    "replayed_placements": schema(
        "Every selection of a broker that the leader logged, decided again.",
        column("term", pa.int32(), "which tenure of leadership, from 1"),
        column("time", TIME, "time of the log line"),
        column("leader", pa.string(), "whose log"),
        _FILE,
        _LINE,
        column("bundle", pa.string(), "bundle to be placed"),
        column("placer", pa.string(), "placement strategy"),
        column("doubt", pa.string(), "why the numbers may differ from the leader's; null if sure"),
        column("candidates", pa.list_(pa.string()), "brokers left by the filters, in set order"),
        column("scores", pa.list_(pa.float64()), "the placer's score of each", unit="fraction"),
        column("average", pa.float64(), "mean of the scores", unit="fraction"),
        column("best", pa.list_(pa.string()), "brokers among which the placer draws"),
        column("is_fallback", pa.bool_(), "nobody passed the bar: drawn among all candidates"),
    ),
}

# What `trimtab.lab.outcomes` measures since a run's event, in its order; all are better when
# smaller.  NaN could not be taken, infinite did not come within the time.
_MEASURES = (
    ("time_to_balance_min", "min", "from the event until balanced, and staying so"),
    ("inner_time_to_balance_min", "min", "the same for nine brokers in ten"),
    ("above_min", "min", "spread over 15 points above the best possible"),
    ("excess_spread_points", "points", "spread above the best possible, mean"),
    ("inner_excess_spread_points", "points", "the same for nine brokers in ten"),
    ("end_spread_points", "points", "spread above the best possible, at the end"),
    ("best_spread_points", "points", "spread that no assignment avoids, mean"),
    ("unloads", "", "bundles that rounds have moved"),
    ("triggers", "", "rounds that moved something"),
    ("first_trigger_min", "min", "from the event to the first such round"),
    ("last_unload_min", "min", "from the event to the last unload"),
    ("wasted", "", "unloads to above average, or of a bundle twice"),
    ("wrong_direction", "", "unloads to above average, or above the source"),
    ("source_below_average", "", "unloads from below average"),
    ("over_placements", "", "brokers that a round filled too far"),
    ("over_unloadings", "", "brokers that a round emptied too far"),
    ("returns", "", "unloads that brought a bundle back within an hour"),
    ("flips", "", "times that the hottest broker became the coldest"),
    ("thrash_points", "points", "ups and downs for nothing, mean over brokers"),
    ("peak_percent", "%", "usage of the busiest broker, 99th percentile"),
    ("overload_min", "broker-min", "brokers above 85 percent"),
    ("unavailability_s", "s", "as long a stop of all traffic interrupts as much"),
    ("lost_percent", "%", "of the bytes wanted, did not pass"),
    ("disconnected_topics", "", "topics whose clients had to reconnect"),
)

_TASK = (
    column("scenario", pa.string(), "which scenario was simulated"),
    column("shedder", pa.string(), "shedding strategy; `none`: nothing is ever shed"),
    column("placement", pa.string(), "placement strategy"),
    column("release", pa.string(), "Pulsar release as which the strategies decide"),
    column("settings", pa.string(), "broker.conf keys that depart from its defaults, as JSON"),
    column("seed", pa.int64(), "fixes everything random; the same for all strategies"),
)

#: Tables that a sweep writes.
SWEPT: dict[str, pa.Schema] = {
    "outcomes": schema(
        "One row a run of a sweep: what was run, and what came of it.",
        *_TASK,
        column("status", pa.string(), "ok, cut (ended before its time), error or timeout"),
        column("error", pa.string(), "what failed; null if nothing did"),
        *(column(name, pa.float64(), meaning, unit=unit) for name, unit, meaning in _MEASURES),
        column(
            "numbers",
            pa.map_(pa.string(), pa.float64()),
            "what else was asked of the run, by name; null if nothing was",
        ),
    ),
    "timings": schema(
        "How long each run of a sweep took; apart from the outcomes, which do not depend on it.",
        *_TASK,
        column("wall_s", pa.float64(), "time on its worker; null if that ended", unit="s"),
    ),
}
