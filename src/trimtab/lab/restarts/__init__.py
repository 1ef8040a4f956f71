"""In which order to restart the brokers of a cluster, one after the other: simulated first."""
