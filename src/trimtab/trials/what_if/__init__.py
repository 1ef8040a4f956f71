"""A recording → what other strategies and settings would have made of the same load.

First the replay has to reproduce what really happened, and says how well it did; where it
does not, nothing is ranked.
"""
