"""Records a live cluster into a folder: what it answers, writes and logs, as recordings have it."""

from trimtab.gather.access import Access, GatherError, read_access
from trimtab.gather.pipeline import Gathered, Wanted, gather

__all__ = ["Access", "GatherError", "Gathered", "Wanted", "gather", "read_access"]
