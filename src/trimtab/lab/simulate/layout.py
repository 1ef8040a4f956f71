"""What the leader knows, laid out as strategies are given it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab.pulsar.model import BundleData, ClusterLoad, Floats, Ints


@dataclass(slots=True)
class Layout:
    """A load that holds until there are other reports or averages; only bundles may come."""

    #: Without what is on its way, and with nothing that may be shed.
    load: ClusterLoad
    #: (n_bundles,) the bundles in it, by position in the cluster.
    bundles: Ints
    #: Bundles that the leader knows, without Pulsar's own.
    known: int
    #: Rows of the averages, as soon as bundles have been added.
    _rows: dict[str, int] | None = None

    def add(self, name: str, row: int, number: int, values: Floats) -> None:
        """Add the averages of a bundle that has been met; the load must have averages.

        Its row is where those of a bundle stand that nobody knows.
        """
        averages = self.load.bundle_data
        assert averages is not None
        if self._rows is None:
            # Whoever has been given the rows before may still hold them; arrays may be
            # shared, since nobody looks at a row that has no name.
            self._rows = dict(averages.rows)
            averages = BundleData(self._rows, averages.numbers, averages.values)
            self.load = replace(self.load, bundle_data=averages)
        self._rows[name] = row
        averages.numbers[row], averages.values[row] = number, values
