"""The extensible load manager in a simulated cluster: what brokers publish, and who decides."""
