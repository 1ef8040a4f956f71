"""A load-balancing control plane and laboratory for Apache Pulsar."""

from trimtab.files.errors import TrimtabError as TrimtabError
from trimtab.files.version import __version__ as __version__
