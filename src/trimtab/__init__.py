"""A load-balancing control plane and laboratory for Apache Pulsar."""

__version__ = "0.1.0"
