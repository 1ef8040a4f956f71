"""Recordings that grow → tables that grow with them, every line once, whatever is killed."""

from trimtab.ingest.growing.disk import unfollowed
from trimtab.live.follow.batches import Batches, Stored, Totals
from trimtab.live.follow.live import Live
from trimtab.live.follow.pipeline import Pace, follow, opened_tables

__all__ = ["Batches", "Live", "Pace", "Stored", "Totals", "follow", "opened_tables", "unfollowed"]
