"""Brokers' metrics: scrapes, or what Prometheus exports of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trimtab.pulsar.model import Floats, Ints
from trimtab.trials.record.files import Files, iso

# Scrapes that are held before they are exported, a file for each metric.
_EXPORTED = 12


@dataclass(frozen=True, slots=True)
class Scraped:
    """What brokers answered to one scrape."""

    time_ms: int
    brokers: Ints
    #: Metric → (n_brokers,) values.
    values: dict[str, Floats]


@dataclass(slots=True)
class Scrapes:
    """Writes a file a scrape."""

    files: Files
    names: tuple[str, ...]
    folders: tuple[str, ...]
    cluster: str

    def take(self, scraped: Scraped) -> None:
        """Write down what was scraped."""
        when = iso(scraped.time_ms).replace(":", "-")
        columns = {name: values.tolist() for name, values in scraped.values.items()}
        for i, broker in enumerate(scraped.brokers.tolist()):
            host = self.names[broker].rpartition(":")[0]
            usage = f', broker="{host}", metric="loadBalancing"'
            text = "".join(
                f'# TYPE {name} gauge\n{name}{{cluster="{self.cluster}"'
                f"{usage if name.startswith('pulsar_lb_') else ''}}} {values[i]!r}\n"
                for name, values in columns.items()
            )
            self.files.append(f"metrics/{self.folders[broker]}/{when}.prom", text)

    def close(self) -> None:
        """Write what is left: nothing."""


@dataclass(slots=True)
class Exports:
    """Writes a file for each metric and some scrapes together, as query_range answers."""

    files: Files
    names: tuple[str, ...]
    cluster: str
    _scrapes: list[Scraped] = field(default_factory=list)

    def take(self, scraped: Scraped) -> None:
        """Write down what was scraped."""
        self._scrapes.append(scraped)
        if len(self._scrapes) == _EXPORTED:
            self.close()

    def close(self) -> None:
        """Write what is held."""
        scrapes, self._scrapes = self._scrapes, []
        if not scrapes:
            return
        when = iso(scrapes[0].time_ms).replace(":", "-")
        for name in scrapes[0].values:
            series: dict[int, list[str]] = {}
            for scraped in scrapes:
                stamp = f"{scraped.time_ms / 1000:.3f}"
                values = scraped.values[name].tolist()
                for broker, value in zip(scraped.brokers.tolist(), values, strict=True):
                    series.setdefault(broker, []).append(f'[{stamp},"{value!r}"]')
            results = ",".join(self._series(name, b, values_of) for b, values_of in series.items())
            answer = f'{{"resultType":"matrix","result":[{results}]}}'
            text = f'{{"status":"success","data":{answer}}}\n'
            self.files.append(f"metrics/{name}.{when}.json", text)

    def _series(self, name: str, broker: int, samples: list[str]) -> str:
        host = self.names[broker].rpartition(":")[0]
        labels = f'"__name__":"{name}","cluster":"{self.cluster}","broker":"{host}"'
        return f'{{"metric":{{{labels}}},"values":[{",".join(samples)}]}}'


def broker_metrics(percent: Floats, totals: Floats) -> dict[str, Floats]:
    """Return what brokers measure, by the names of their metrics.

    Args:
        percent: (n_brokers, 5) columns RESOURCES.
        totals: (n_brokers, 4) messages/s in and out, bytes/s in and out.
    """
    usage = ("cpu", "memory", "directMemory", "bandwidth_in", "bandwidth_out")
    traffic = ("rate_in", "rate_out", "throughput_in", "throughput_out")
    usages = {f"pulsar_lb_{n}_usage": np.round(percent[:, i], 6) for i, n in enumerate(usage)}
    return usages | {f"pulsar_broker_{n}": np.round(totals[:, i], 3) for i, n in enumerate(traffic)}
