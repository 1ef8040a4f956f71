"""Where Spark itself finds `spark.read.format("trimtab")`: it looks into modules of such a name."""

from trimtab.ingest.data_source import TrimtabSource as DefaultSource

__all__ = ["DefaultSource"]
