"""What is done with a real Pulsar; nothing in `src` knows of it."""
