"""Records a live cluster into a folder: what it answers, writes and logs, as recordings have it."""

from trimtab.live.gather.access import Access, GatherError, read_access
from trimtab.live.gather.pipeline import Gathered, GatherRequest, gather

__all__ = ["Access", "GatherError", "GatherRequest", "Gathered", "gather", "read_access"]
