"""Threads of Pulsar's public tracker: what is provable in each, beside what trimtab says."""
