"""In which order to restart the brokers of a cluster, one after the other: simulated first."""

from trimtab.lab.restarts.orders import Restart, RestartForecast, foretold, orders
from trimtab.lab.restarts.snapshot import BundleLoad, ClusterNow, standing_world

__all__ = [
    "BundleLoad",
    "ClusterNow",
    "Restart",
    "RestartForecast",
    "foretold",
    "orders",
    "standing_world",
]
