"""A master's address → the one Spark session, its Java, its workers and the program sent there."""
