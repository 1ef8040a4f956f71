"""The one Spark session, its Java, its workers and the program that they run."""
