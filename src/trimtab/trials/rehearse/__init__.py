"""A recording and what is planned → whether that would be safe, simulated on the recorded load."""
