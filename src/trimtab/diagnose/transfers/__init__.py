"""Rounds of TransferShedder, decided again from what brokers said that they publish."""
