"""A real Pulsar cluster on the loopback interface, for what only a real one can show."""
