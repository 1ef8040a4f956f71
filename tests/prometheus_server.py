"""A real Prometheus, which scrapes one address and evaluates the rules that trimtab ships."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from trimtab.live.watch.metrics import dashboard, rules

WAIT_S = 60.0


def tool(name: str) -> str:
    """Find a program of Debian's package `prometheus`, or skip where it may be missing."""
    found = shutil.which(name)
    if found is None and not os.environ.get("CI"):
        pytest.skip(f"no {name} on PATH: it is in Debian's package prometheus")
    assert found is not None, f"no {name} on PATH"
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def prometheus(scraped: str, folder: Path) -> Iterator[str]:
    """Run one that scrapes an address each second; give its own."""
    folder.mkdir()
    (folder / "rules.yaml").write_text(rules())
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [{"job_name": "trimtab", "static_configs": [{"targets": [scraped]}]}],
    }
    # JSON is YAML, too.
    (folder / "prometheus.yml").write_text(json.dumps(config))
    address = f"127.0.0.1:{free_port()}"
    command = [
        *(tool("prometheus"), f"--config.file={folder / 'prometheus.yml'}"),
        *(f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={address}"),
        "--log.level=error",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT) as process:
        try:
            yield f"http://{address}"
        finally:
            process.kill()


def asked(server: str, path: str, **query: str) -> Any:
    url = f"{server}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        found = json.load(answer)
    assert found["status"] == "success", found
    return found["data"]


def unanswered(server: str, queries: list[str]) -> list[str]:
    """Ask until every query answers with data, or the time is up; return those that do not."""
    last = time.monotonic() + WAIT_S
    while queries and time.monotonic() < last:
        # It may not be up yet.
        with suppress(OSError):
            queries = [query for query in queries if not _answers(server, query)]
        time.sleep(0.3)
    return queries


def _answers(server: str, query: str) -> bool:
    return bool(asked(server, "query", query=query)["result"])


def shipped_queries(chosen: dict[str, str]) -> list[str]:
    """Give every query of the dashboard with its variables filled in, and that of every rule.

    A rule that compares with a bar gives what it compares, whether it passes or not.
    """
    panels = json.loads(dashboard())["panels"]
    found = [filled(target["expr"], chosen) for panel in panels for target in panel["targets"]]
    for group in yaml.safe_load(rules())["groups"]:
        found += [
            re.sub(r" > (?=on |[\d.]+$)", " > bool ", rule["expr"]) for rule in group["rules"]
        ]
    return found


def variables(server: str) -> dict[str, str]:
    """Ask for the values of the dashboard's variables, as Grafana does; all of each are chosen."""
    chosen: dict[str, str] = {}
    for each in json.loads(dashboard())["templating"]["list"]:
        if each["type"] == "query":
            asks = re.fullmatch(r"label_values\((.+), (\w+)\)", each["query"]["query"])
            assert asks
            last = time.monotonic() + WAIT_S
            known: list[str] = []
            while not known and time.monotonic() < last:
                # It may not be up yet, or not have scraped.
                with suppress(OSError):
                    match = {"match[]": filled(asks[1], chosen)}
                    known = asked(server, f"label/{asks[2]}/values", **match)
                time.sleep(0.3)
            chosen[each["name"]] = "|".join(known)
    return chosen


def filled(query: str, chosen: dict[str, str]) -> str:
    """Give a query as Grafana asks it."""
    return re.sub(r"\$(\w+)", lambda name: chosen[name[1]], query)


def ill_rules(server: str) -> list[str]:
    """Name the rules that Prometheus could not evaluate."""
    groups = asked(server, "rules")["groups"]
    every = [rule for group in groups for rule in group["rules"]]
    assert every
    return [rule["name"] for rule in every if rule["health"] != "ok"]
