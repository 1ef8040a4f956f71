"""A load-balancing control plane and laboratory for Apache Pulsar."""

from trimtab.files.errors import TrimtabError as TrimtabError

__version__ = "0.1.0"
