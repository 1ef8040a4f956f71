"""Logs of brokers as collectors hand them out: what a producer of each shape would have written.

Each function takes the lines of each broker and gives the bytes of one file.  They know nothing
of the table of shapes that reads them.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

Logs: TypeAlias = Mapping[str, Sequence[str]]


class Line(NamedTuple):
    """A line, and when its collector had it: a little later than it was printed."""

    broker: str
    text: str
    time_ns: int

    @property
    def nano(self) -> str:
        return self.rfc(9)

    def rfc(self, digits: int, zone: str = "Z") -> str:
        second, fraction = divmod(self.time_ns, 10**9)
        head = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{head}.{fraction:09d}"[: 20 + digits] + zone if digits else head + zone

    def moment(self, form: str) -> str:
        return datetime.fromtimestamp(self.time_ns // 10**9, UTC).strftime(form)

    @property
    def milli(self) -> int:
        return self.time_ns // 10**6


_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d),(\d{3})([+-]\d{4})")


def collected(logs: Logs) -> list[Line]:
    """Give the lines of all brokers, interleaved as a collector gets them."""
    lines = []
    for broker, texts in logs.items():
        now = 0
        for text in texts:
            if match := _TIME.match(text):
                moment = datetime.strptime(match[1] + match[3], "%Y-%m-%dT%H:%M:%S%z")
                now = max(now, int(moment.timestamp()) * 10**9 + int(match[2]) * 10**6)
            now += 1_000
            lines.append(Line(broker, text, now))
    return sorted(lines, key=lambda line: line.time_ns)


def _text(row: Callable[[Line], str]) -> Callable[[Logs], bytes]:
    return lambda logs: "".join(f"{row(line)}\n" for line in collected(logs)).encode()


def _json(row: Callable[[Line], Any]) -> Callable[[Logs], bytes]:
    return _text(lambda line: json.dumps(row(line), separators=(",", ":")))


def _document(
    row: Callable[[Line], Any], whole: Callable[[list[Any]], Any], indent: int | None = None
) -> Callable[[Logs], bytes]:
    return lambda logs: json.dumps(
        whole([row(line) for line in collected(logs)]), indent=indent
    ).encode()


def _csv(header: Sequence[str], row: Callable[[Line], Sequence[Any]]) -> Callable[[Logs], bytes]:
    def write(logs: Logs) -> bytes:
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(row(line) for line in collected(logs))
        return file.getvalue().encode()

    return write


def _cri(logs: Logs) -> bytes:
    """Cut long lines, as containerd does at 16 KiB; here sooner, so that some are long."""
    rows = []
    for line in collected(logs):
        parts = [line.text[i : i + 150] for i in range(0, len(line.text), 150)] or [""]
        marks = ["P"] * (len(parts) - 1) + ["F"]
        rows += [f"{line.nano} stdout {m} {p}\n" for m, p in zip(marks, parts, strict=True)]
    return "".join(rows).encode()


def _docker(logs: Logs) -> bytes:
    rows = []
    for line in collected(logs):
        text = line.text + "\n"
        for i in range(0, len(text), 150):
            row = {"log": text[i : i + 150], "stream": "stdout", "time": line.nano}
            rows.append(json.dumps(row) + "\n")
    return "".join(rows).encode()


def _loki_api(logs: Logs) -> bytes:
    """Give the newest first, a stream each, as the API does unless asked otherwise."""
    result = []
    for broker in logs:
        values = [[str(it.time_ns), it.text] for it in collected(logs) if it.broker == broker]
        stream = {"app": "pulsar", "pod": broker, "container": "pulsar-broker"}
        result.append({"stream": stream, "values": values[::-1]})
    return json.dumps(
        {"status": "success", "data": {"resultType": "streams", "result": result}}
    ).encode()


def _otlp(line: Line) -> dict[str, Any]:
    return {
        "timeUnixNano": str(line.time_ns),
        "body": {"stringValue": line.text},
        "attributes": [{"key": "log.iostream", "value": {"stringValue": "stdout"}}],
    }


def _otlp_file(logs: Logs) -> bytes:
    """Give a batch a line, as the collector's file exporter does."""
    lines, rows = collected(logs), []
    for broker in logs:
        mine = [_otlp(line) for line in lines if line.broker == broker]
        pod = [{"key": "k8s.pod.name", "value": {"stringValue": broker}}]
        for i in range(0, len(mine), 100):
            scope = {"scope": {}, "logRecords": mine[i : i + 100]}
            rows.append({"resourceLogs": [{"resource": {"attributes": pod}, "scopeLogs": [scope]}]})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _elastic(line: Line) -> dict[str, Any]:
    source = {
        "@timestamp": line.rfc(3),
        "message": line.text,
        "kubernetes": {"pod": {"name": line.broker}, "node": {"name": "node-1"}},
        "host": {"name": "node-1"},
        "agent": {"hostname": "node-1", "type": "filebeat"},
    }
    return {"_index": "pulsar-2026.11.21", "_id": "x", "_score": 1, "_source": source}


def _fluent(line: Line) -> dict[str, Any]:
    pod = {"pod_name": line.broker, "namespace_name": "pulsar", "host": "node-1"}
    return {"date": line.time_ns / 1e9, "stream": "stdout", "log": line.text, "kubernetes": pod}


def _cloudwatch(line: Line) -> dict[str, Any]:
    return {
        "logStreamName": line.broker,
        "timestamp": line.milli,
        "message": line.text,
        "ingestionTime": line.milli + 900,
        "eventId": str(line.time_ns),
    }


def _datadog(line: Line) -> dict[str, Any]:
    attributes = {
        "timestamp": line.rfc(3),
        "host": "node-1",
        "service": "pulsar",
        "status": "info",
        "tags": ["env:prod", f"pod_name:{line.broker}"],
        "message": line.text,
    }
    return {"id": "x", "type": "log", "attributes": attributes}


def _google(line: Line) -> dict[str, Any]:
    labels = {"pod_name": line.broker, "container_name": "pulsar-broker", "cluster_name": "c"}
    return {
        "insertId": str(line.time_ns),
        "textPayload": line.text + "\n",
        "timestamp": line.nano,
        "resource": {"type": "k8s_container", "labels": labels},
        "labels": {"compute.googleapis.com/resource_name": "node-1"},
        "severity": "INFO",
    }


def _splunk(line: Line) -> dict[str, Any]:
    return {"_raw": line.text, "_time": line.rfc(3, "+00:00"), "host": line.broker, "_serial": "1"}


def _journal(line: Line) -> dict[str, Any]:
    # What is no plain text is listed byte by byte.
    text = line.text if line.text.isprintable() else list(line.text.encode())
    return {
        "__REALTIME_TIMESTAMP": str(line.time_ns // 1000),
        "__CURSOR": "s=1;i=2",
        "_HOSTNAME": line.broker,
        "SYSLOG_IDENTIFIER": "pulsar",
        "MESSAGE": text,
    }


def _kibana_time(line: Line) -> str:
    return line.moment("%b %-d, %Y @ %H:%M:%S.") + f"{line.milli % 1000:03d}"


def _labels(line: Line) -> str:
    return json.dumps({"pod": line.broker, "app": "pulsar"})


#: Shape → the file of it that holds the logs of some brokers.
SHAPES: dict[str, Callable[[Logs], bytes]] = {
    "kubectl --prefix": _text(lambda it: f"[pod/{it.broker}/pulsar-broker] {it.text}"),
    "kubectl --prefix --timestamps": _text(
        lambda it: f"[pod/{it.broker}/pulsar-broker] {it.nano} {it.text}"
    ),
    "stern": _text(lambda it: f"{it.broker} pulsar-broker {it.text}"),
    "stern, all namespaces": _text(lambda it: f"pulsar {it.broker} pulsar-broker {it.text}"),
    "stern --timestamps": _text(lambda it: f"{it.broker} pulsar-broker {it.nano} {it.text}"),
    "stern -o json": _json(
        lambda it: {
            "message": it.text,
            "nodeName": "node-1",
            "namespace": "pulsar",
            "podName": it.broker,
            "containerName": "pulsar-broker",
        }
    ),
    "docker compose": _text(lambda it: f"{it.broker}  | {it.text}"),
    "logcli": _text(lambda it: f'{it.rfc(0)} {{app="pulsar", pod="{it.broker}"}} {it.text}'),
    "logcli -o jsonl": _json(
        lambda it: {"labels": {"pod": it.broker}, "line": it.text, "timestamp": it.nano}
    ),
    "Loki's API": _loki_api,
    "Grafana, JSON": _document(
        lambda it: {
            "line": it.text,
            "timestamp": str(it.time_ns),
            "date": it.rfc(3),
            "fields": {"labels": {"pod": it.broker}},
        },
        list,
        2,
    ),
    "Grafana, CSV": _csv(
        ("labels", "Time", "Line", "tsNs", "id"),
        lambda it: (_labels(it), it.rfc(3), it.text, it.time_ns, "x"),
    ),
    "VictoriaLogs": _json(
        lambda it: {
            "_time": it.nano,
            "_stream": f'{{pod="{it.broker}"}}',
            "_msg": it.text,
            "kubernetes.pod_name": it.broker,
        }
    ),
    "elasticdump": _json(_elastic),
    "_search": _document(_elastic, lambda rows: {"took": 1, "hits": {"total": {}, "hits": rows}}),
    "_search, printed": _document(_elastic, lambda rows: {"hits": {"hits": rows}}, 2),
    "Kibana, CSV": _csv(
        ("@timestamp", "kubernetes.pod.name", "message"),
        lambda it: (_kibana_time(it), it.broker, it.text),
    ),
    "Filebeat": _json(
        lambda it: {
            "@timestamp": it.rfc(3),
            "@metadata": {"beat": "filebeat"},
            "message": it.text,
            "log": {"offset": it.time_ns % 999, "file": {"path": "/var/log/x.log"}},
            "kubernetes": {"pod": {"name": it.broker}},
        }
    ),
    "Filebeat, pod by its file": _json(
        lambda it: {
            "@timestamp": it.rfc(3),
            "message": it.text,
            "log": {"file": {"path": f"/var/log/containers/{it.broker}_pulsar_x-1f.log"}},
            "host": {"name": "node-1"},
        }
    ),
    "Fluent Bit": _json(_fluent),
    "Fluent Bit, list": _document(_fluent, list),
    "Fluent Bit, plain": _text(
        lambda it: f"kube.{it.broker}: [{it.time_ns / 1e9:.9f}, {json.dumps(_fluent(it))}]"
    ),
    "Fluentd, plain": _text(lambda it: f"{it.rfc(0, '+00:00')}\tkube.x\t{json.dumps(_fluent(it))}"),
    "Vector": _json(
        lambda it: {
            "message": it.text,
            "timestamp": it.nano,
            "host": "node-1",
            "kubernetes": {"pod_name": it.broker},
            "source_type": "kubernetes_logs",
        }
    ),
    "Vector, file": _json(
        lambda it: {"message": it.text, "timestamp": it.nano, "host": it.broker, "file": "/x.log"}
    ),
    "CloudWatch, API": _document(_cloudwatch, lambda rows: {"events": rows}, 4),
    "CloudWatch, lines": _json(_cloudwatch),
    "CloudWatch, Fluent Bit inside": _json(
        lambda it: {
            "logStreamName": "node-1",
            "timestamp": it.milli,
            "message": json.dumps(_fluent(it)),
        }
    ),
    "CloudWatch Insights, CSV": _csv(
        ("@timestamp", "@logStream", "@message"),
        lambda it: (it.moment("%Y-%m-%d %H:%M:%S.000"), it.broker, it.text),
    ),
    "aws logs tail": _text(lambda it: f"{it.rfc(6, '+00:00')} {it.broker} {it.text}"),
    "Datadog, API": _document(_datadog, lambda rows: {"data": rows, "meta": {}}),
    "Datadog, lines": _json(_datadog),
    "Datadog, CSV": _csv(
        ("Date", "Host", "Service", "Message"),
        lambda it: (it.rfc(3), it.broker, "pulsar", it.text),
    ),
    "gcloud": _document(_google, list, 2),
    "gcloud, lines": _json(_google),
    "Splunk, JSON": _json(lambda it: {"preview": False, "offset": 1, "result": _splunk(it)}),
    "Splunk, API": _document(_splunk, lambda rows: {"preview": False, "results": rows}),
    "Splunk, CSV": _csv(
        ("_time", "host", "_raw"), lambda it: (it.rfc(3, "+0000"), it.broker, it.text)
    ),
    "OTLP": _otlp_file,
    "journalctl -o json": _json(_journal),
    "journalctl -o short-iso": _text(
        lambda it: f"{it.rfc(0, '+0000')} {it.broker} pulsar[1517]: {it.text}"
    ),
    "syslog": _text(
        lambda it: f"{it.moment('%b %d %H:%M:%S')} {it.broker} pulsar[1517]: {it.text}"
    ),
    "docker JSON in Loki": _json(
        lambda it: {
            "labels": {"pod": it.broker},
            "line": json.dumps({"log": it.text + "\n", "stream": "stdout", "time": it.nano}),
            "timestamp": it.nano,
        }
    ),
}
#: The same where nothing in the file says whose a line is: for the log of one broker.
OF_ONE: dict[str, Callable[[Logs], bytes]] = {
    "raw": _text(lambda it: it.text),
    "kubectl --timestamps": _text(lambda it: f"{it.nano} {it.text}"),
    "CloudWatch to S3": _text(lambda it: f"{it.rfc(3)} {it.text}"),
    "Grafana, text": _text(lambda it: f"{it.rfc(3)}\t{it.text}"),
    "logcli, one stream": _text(lambda it: f"{it.rfc(0)} {{}} {it.text}"),
    "CRI": _cri,
    "docker JSON": _docker,
    "VictoriaLogs, bare": _json(lambda it: {"_time": it.nano, "_msg": it.text}),
}
