"""One experiment from end to end: a scenario and strategies in, its history and outcomes out."""
