"""The parts of Foresee: what it remembers, the picture that it makes, when it acts, and on what."""
