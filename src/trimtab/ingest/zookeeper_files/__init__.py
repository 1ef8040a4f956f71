"""ZooKeeper's own files → every write that a cluster's metadata store took.

ZooKeeper appends each write to a transaction log before it answers, and keeps logs and
snapshots for hours or days.  So whoever has its data folder has what the leader saw, with
no recorder having run.
"""
